/**
 * Every key can be set by environment: CALLSYNC_ and its path in upper case, joined by two underscores, such as
 * CALLSYNC_SOURCE__LIST__PRESET or CALLSYNC_WEBHOOK__SECRETS__0__SECRET_FILE. Text is taken as it is, everything
 * else (numbers, lists, whole sections) as YAML, of which JSON is a part.
 */
import { parse } from 'yaml';
import { terminal } from '../lib/errors.ts';
import { isObject } from '../lib/parse-json.ts';
import { mergeRaw, type Raw } from '../lib/raw.ts';
import { alternatives, childrenAt, configJsonSchema, knownKeys, type SchemaNode } from './schema-node.ts';
import { suggest } from './suggest.ts';

const prefix = 'CALLSYNC_';

/** Lays the environment over `raw`. Variables that name no section and hold no `__` are not ours to judge. */
export const applyEnvironment = (raw: Raw, env: NodeJS.ProcessEnv): Raw => {
  const root = configJsonSchema();
  const sections = knownKeys([root]) ?? [];
  let result = raw;
  // Shorter names first, so that CALLSYNC_STORE does not undo CALLSYNC_STORE__URL.
  for (const name of Object.keys(env).toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))) {
    const value = env[name];
    if (!name.startsWith(prefix) || value === undefined) continue;
    const segments = name.slice(prefix.length).split('__');
    const isSection = sections.some((section) => section.toUpperCase() === segments[0]);
    if (!isSection && segments.length === 1) continue;
    result = place(result, segments, value, { name, nodes: [root] });
  }
  return result;
};

interface Place {
  readonly name: string;
  readonly nodes: readonly SchemaNode[];
}

const place = (raw: Raw, segments: readonly string[], text: string, { name, nodes }: Place): Raw => {
  const [segment = '', ...rest] = segments;
  const key = matchKey(segment, raw, nodes);
  const children = nodes.flatMap((node) => childrenAt(node, key));
  if (children.length === 0) throw unknownVariable(name, segment, nodes);
  if (rest.length === 0) {
    const value = readValue(text, children, name);
    // Compose sets this for a missing variable.
    if (value === null) return raw;
    return isObject(value) && isObject(raw[key])
      ? { ...raw, [key]: mergeRaw(raw[key], value) }
      : { ...raw, [key]: value };
  }
  const below = raw[key];
  if (/^\d+$/.test(rest[0] as string) && children.flatMap(alternatives).some((node) => node.type === 'array')) {
    const list = Array.isArray(below) ? [...below] : [];
    const placed = place({ ...list } as Raw, rest, text, { name, nodes: children });
    return { ...raw, [key]: Object.values(placed) };
  }
  return { ...raw, [key]: place(isObject(below) ? below : {}, rest, text, { name, nodes: children }) };
};

/** Environment names have no lower case and no dash: an existing key that reads the same is meant, else lower case. */
const matchKey = (segment: string, raw: Raw, nodes: readonly SchemaNode[]): string => {
  const plain = (key: string) => key.toUpperCase().replaceAll('-', '_');
  const keys = knownKeys(nodes) ?? Object.keys(raw);
  return keys.find((key) => plain(key) === segment) ?? segment.toLowerCase();
};

const readValue = (text: string, nodes: readonly SchemaNode[], name: string): unknown => {
  const all = nodes.flatMap(alternatives);
  if (all.every((node) => node.type === 'string' || node.enum !== undefined || node.const !== undefined)) return text;
  try {
    return parse(text);
  } catch (cause) {
    throw terminal('CONFIG_INVALID', `The environment variable ${name} does not hold valid YAML or JSON.`, { cause });
  }
};

const unknownVariable = (name: string, segment: string, nodes: readonly SchemaNode[]) => {
  const known = (knownKeys(nodes) ?? []).map((key) => key.toUpperCase());
  const meant = suggest(segment, known);
  const path = name.slice(prefix.length).split('__');
  return terminal('CONFIG_INVALID', `The environment variable ${name} names no configuration key.`, {
    hint:
      meant === undefined
        ? `Known at ${segment}: ${known.join(', ') || 'nothing'}.`
        : `Did you mean ${prefix}${path.map((each) => (each === segment ? meant : each)).join('__')}?`,
  });
};
