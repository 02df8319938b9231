/** A first configuration file: keys that differ from the defaults, each under its description. */
import { stringify } from 'yaml';
import { childrenAt, configJsonSchema, type SchemaNode } from './schema-node.ts';

export type StarterValue =
  | string
  | number
  | boolean
  | readonly StarterValue[]
  | { readonly [key: string]: StarterValue };

/** Keys and values as they are to be in the file. */
export const renderStarter = (values: Readonly<Record<string, StarterValue>>): string => {
  const head = ['# Written by callsync init. All keys: callsync config example; check it with callsync config check.'];
  return `${[...head, ...renderKeys(values, [configJsonSchema()], '')].join('\n')}\n`;
};

const isMap = (value: StarterValue): value is Readonly<Record<string, StarterValue>> =>
  typeof value === 'object' && !Array.isArray(value);

const renderKeys = (
  values: Readonly<Record<string, StarterValue>>,
  nodes: readonly SchemaNode[],
  indent: string,
): readonly string[] =>
  Object.entries(values).flatMap(([key, value]) => {
    const children = nodes.flatMap((node) => childrenAt(node, key));
    const description = children.find((node) => node.description !== undefined)?.description;
    const comment = description === undefined ? [] : [`${indent}# ${description}`];
    const gap = indent === '' ? [''] : [];
    if (isMap(value)) return [...gap, ...comment, `${indent}${key}:`, ...renderKeys(value, children, `${indent}  `)];
    const text = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim();
    return [...gap, ...comment, `${indent}${key}: ${text}`];
  });
