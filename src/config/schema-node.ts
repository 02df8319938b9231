/** The configuration's JSON Schema, read as a tree: environment, example, reference and error texts all walk it. */
import { z } from 'zod';
import { configSchema } from '../../schemas/config.ts';

type Leaf = 'description' | 'pattern' | 'format' | 'minimum' | 'maximum' | 'required';

/** The parts of a schema that are read here. No inner schema is `true` or `false`. */
export interface SchemaNode extends Pick<z.core.JSONSchema.BaseSchema, Leaf> {
  readonly type?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly exclusiveMinimum?: number;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
}

/** The JSON Schema of callsync.yaml, for editors. */
export const configJsonSchema = (): SchemaNode & { $schema?: string; title?: string } => {
  const schema = z.toJSONSchema(configSchema, { io: 'input' }) as SchemaNode;
  return { title: 'callsync.yaml', ...schema };
};

/** The alternatives of a union, or the node itself. */
export const alternatives = (node: SchemaNode): readonly SchemaNode[] => node.oneOf ?? node.anyOf ?? [node];

/** Every node that a key may mean, over all alternatives; none = the key is unknown. */
export const childrenAt = (node: SchemaNode, key: string): SchemaNode[] =>
  alternatives(node).flatMap((each) => {
    const named = each.properties?.[key];
    if (named !== undefined) return [named];
    if (each.type === 'array' && /^\d+$/.test(key) && each.items !== undefined) return [each.items];
    return typeof each.additionalProperties === 'object' ? [each.additionalProperties] : [];
  });

/** Names of the keys that are known at a node; undefined where any name is allowed. */
export const knownKeys = (nodes: readonly SchemaNode[]): string[] | undefined => {
  const all = nodes.flatMap(alternatives);
  if (all.some((each) => typeof each.additionalProperties === 'object')) return undefined;
  return [...new Set(all.flatMap((each) => Object.keys(each.properties ?? {})))];
};

/** Every node that a path of keys may mean; none = a key is unknown. */
export const nodesAt = (path: readonly PropertyKey[]): SchemaNode[] => {
  let nodes: SchemaNode[] = [configJsonSchema()];
  for (const key of path) nodes = nodes.flatMap((node) => childrenAt(node, String(key)));
  return nodes;
};
