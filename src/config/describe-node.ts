/** Words for what a key may hold, for the example file and the reference. */
import { stringify } from 'yaml';
import { alternatives, type SchemaNode } from './schema-node.ts';

/** The property that tells the variants of a union apart (`style`, `type`), with the variants by its value. */
export const findVariants = (node: SchemaNode): { tag: string; variants: Map<string, SchemaNode> } | undefined => {
  const all = alternatives(node);
  if (all.length < 2) return undefined;
  const first = Object.entries(all[0]?.properties ?? {}).find(([, property]) => property.const !== undefined);
  if (first === undefined) return undefined;
  const [tag] = first;
  return { tag, variants: new Map(all.map((each) => [String(each.properties?.[tag]?.const), each])) };
};

/** Whether the node is a section: its keys are listed one by one. */
export const isSection = (node: SchemaNode): boolean => {
  return node.properties !== undefined;
};

export const allowedText = (node: SchemaNode): string => {
  const all = alternatives(node);
  if (all.length > 1) return all.map(allowedText).join(' or ');
  if (node.const !== undefined) return inline(node.const);
  if (node.enum !== undefined) return node.enum.map(inline).join(', ');
  if (node.type === 'array') return `list of ${plural(node.items ?? {})}`;
  if (node.type === 'object') return isSection(node) ? 'keys' : 'map of names to text';
  if (node.type === 'boolean') return 'true, false';
  if (node.type === 'integer' || node.type === 'number')
    return `${node.type === 'integer' ? 'whole number' : 'number'}${range(node)}`;
  if (node.pattern?.includes('(ms|s|m|h|d)')) return 'duration';
  return node.format === 'uri' ? 'address' : 'text';
};

export const inline = (value: unknown): string =>
  stringify(value, { collectionStyle: 'flow', lineWidth: 0, flowCollectionPadding: false }).trim();

const plural = (node: SchemaNode): string => {
  return isSection(node) ? 'entries with keys' : `${allowedText(node)}s`.replace('texts', 'text');
};

const range = (node: SchemaNode): string => {
  const safe = (bound: number | undefined) =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;
  const [least, above, most] = [safe(node.minimum), safe(node.exclusiveMinimum), safe(node.maximum)];
  if (least !== undefined && most !== undefined) return `, ${least} to ${most}`;
  if (least !== undefined) return `, at least ${least}`;
  if (above !== undefined) return `, above ${above}${most === undefined ? '' : ` up to ${most}`}`;
  return most === undefined ? '' : `, at most ${most}`;
};
