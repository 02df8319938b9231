/** Reads the configuration in this order: defaults, preset, file, environment. Later values override earlier ones. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { type Config, configSchema, receiverConfigSchema } from '../../schemas/config.ts';
import { terminal } from '../lib/errors.ts';
import { dropNulls, isObject, mergeRaw, type Raw } from '../lib/parse-json.ts';
import { readYaml } from '../lib/read-yaml.ts';
import { applyPreset } from '../source/presets/presets.ts';
import { alternatives, childrenAt, configJsonSchema, knownKeys, nodesAt, type SchemaNode } from './schema-node.ts';
import { suggest } from './suggest.ts';

interface LoadConfigOptions {
  /** Value of `--config`; before CALLSYNC_CONFIG, before ./callsync.yaml. */
  readonly path?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** Throws `CallsyncError` CONFIG_MISSING or CONFIG_INVALID; its message names every key that is wrong. */
export const loadConfig = (options: LoadConfigOptions = {}) => load(options, configSchema);

/** The same for a receiver alone, which needs no section `source`. */
export const loadReceiverConfig = (options: LoadConfigOptions = {}) => load(options, receiverConfigSchema);

const load = async <C>(options: LoadConfigOptions, schema: z.ZodType<C>) => {
  const { env = process.env, cwd = process.cwd() } = options;
  const wanted = options.path ?? (env.CALLSYNC_CONFIG || undefined);
  const path = resolve(cwd, wanted ?? 'callsync.yaml');
  const text = await readConfigFile(path, wanted !== undefined);
  const written = applyEnvironment(text === undefined ? {} : parseConfigText(text, path), env);
  const raw = await applyPreset(written, dirname(path));
  if (text === undefined && Object.keys(raw).length === 0)
    throw terminal('CONFIG_MISSING', `There is no configuration: ${path} does not exist.`, {
      hint: 'Run callsync init to write one, or name a file with --config or CALLSYNC_CONFIG.',
    });
  /** The file that was read; undefined when everything came from the environment. */
  const from = text === undefined ? undefined : path;
  return { config: check(raw, from ?? 'the environment', schema), path: from };
};

/** Checks settings and fills in defaults. @param origin names where they came from, for the error. */
export const checkConfig = (raw: unknown, origin: string): Config => check(raw, origin, configSchema);

const check = <C>(raw: unknown, origin: string, schema: z.ZodType<C>): C => {
  const result = schema.safeParse(dropNulls(raw), { reportInput: true });
  if (result.success) return result.data;
  const problems = new Set(result.error.issues.flatMap((issue) => describeIssue(issue, [])));
  throw terminal('CONFIG_INVALID', `The configuration (${origin}) is not valid: ${[...problems].join('; ')}.`, {
    hint: 'callsync config example shows every key and its meaning. To check the file of a receiver, add --receiver.',
  });
};

const readConfigFile = async (path: string, required: boolean): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !required) return undefined;
    const why = code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw terminal('CONFIG_MISSING', `The configuration file ${path} ${why}.`, {
      hint: 'Name a file that can be read with --config or CALLSYNC_CONFIG; callsync init writes one.',
      cause,
    });
  }
};

const parseConfigText = (text: string, path: string): Raw => {
  const raw = readYaml(text, path);
  if (raw === null) return {};
  if (!isObject(raw)) throw terminal('CONFIG_INVALID', `${path} must hold sections such as "source:" and "store:".`);
  return raw;
};

// Turns zod issues into sentences with the key and the allowed values, without the given value.

const describeIssue = (issue: z.core.$ZodIssue, above: readonly PropertyKey[]): string[] => {
  const path = [...above, ...issue.path];
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((unknown) => describeUnknown(unknown, path, issue.input));
  return [describeFault(issue, path, showPath(path))];
};

const describeFault = (issue: z.core.$ZodIssue, path: readonly PropertyKey[], key: string): string => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return `${key} is required${hint(path)}`;
      return `${key} ${issue.message.startsWith('Invalid') ? `must be ${article(issue.expected)}` : issue.message}${hint(path)}`;
    case 'invalid_value':
      return `${key} must be ${oneOf(issue.values)}`;
    case 'too_small':
      return `${key} must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unit(issue.origin)}`;
    case 'too_big':
      return `${key} must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unit(issue.origin)}`;
    case 'invalid_union':
      return describeUnion(issue, path, key);
    case 'invalid_key':
      return `${key}: this name is not allowed; ${issue.issues.map(({ message }) => message).join(', ')}`;
    case 'invalid_format':
      if (!issue.message.startsWith('Invalid')) return `${key} ${issue.message}`;
      if (issue.format === 'url') return `${key} must be an address such as https://api.example.com`;
      return `${key} does not have the form that is allowed${hint(path)}`;
    default:
      return `${key} ${issue.message}`;
  }
};

const describeUnion = (issue: z.core.$ZodIssueInvalidUnion, path: readonly PropertyKey[], key: string): string => {
  if (issue.discriminator !== undefined) {
    const variants = nodesAt(path.slice(0, -1)).flatMap(alternatives);
    const allowed = variants.map((node) => node.properties?.[issue.discriminator as string]?.const).filter(Boolean);
    return `${key} must be ${oneOf(allowed)}`;
  }
  const parts = issue.errors.map((errors) => errors.flatMap((error) => describeIssue(error, path)));
  return parts.map((texts) => texts.join(' and ')).join(', or ') || `${key} is not valid`;
};

/** Without quotes, a secret with a comma between braces ends in a key of its own. */
const describeUnknown = (unknown: string, path: readonly PropertyKey[], beside: unknown): string => {
  const known = knownKeys(nodesAt(path)) ?? [];
  const meant = suggest(unknown, known);
  const mayBeSecret = Object.keys(beside ?? {}).some((name) => /^(client_secret|secret|token|api_key|url)$/.test(name));
  const key = mayBeSecret ? `a name in ${showPath(path)} (or a secret without quotes)` : showPath([...path, unknown]);
  if (meant !== undefined) return `${key} is not a key (did you mean ${meant}?)`;
  return `${key} is not a key; allowed there: ${known.join(', ')}`;
};

/** Description of the key, as in the reference. */
const hint = (path: readonly PropertyKey[]): string => {
  const text = nodesAt(path).find((node) => node.description !== undefined)?.description;
  return text === undefined ? '' : ` (${text.replace(/\.$/, '')})`;
};

const showPath = (path: readonly PropertyKey[]): string => {
  if (path.length === 0) return 'the configuration';
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`))
    .join('');
};

const article = (name: string) =>
  ({ object: 'a section with keys', array: 'a list', int: 'a whole number' })[name] ?? `a ${name}`;
const oneOf = (values: readonly unknown[]) => `${values.length > 1 ? 'one of ' : ''}${values.map(String).join(', ')}`;
const unit = (origin: string) => ({ string: ' characters', array: ' entries' })[origin] ?? '';

// Every key can be set by environment: CALLSYNC_ and its path in upper case, joined by two underscores, such as
// CALLSYNC_SOURCE__LIST__PRESET or CALLSYNC_WEBHOOK__SECRETS__0__SECRET_FILE. Text stays as it is; numbers, lists and whole sections are YAML or JSON.

const prefix = 'CALLSYNC_';

/** Lays the environment over `raw`. Ignores variables without the name of a section and without `__`: other programs may use them. */
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

type Place = { readonly name: string; readonly nodes: readonly SchemaNode[] };

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
  return (knownKeys(nodes) ?? Object.keys(raw)).find((key) => plain(key) === segment) ?? segment.toLowerCase();
};

const readValue = (written: string, nodes: readonly SchemaNode[], name: string): unknown => {
  // A secret of Kubernetes often has the line end that echo added.
  const text = written.replace(/[\r\n]+$/, '');
  const all = nodes.flatMap(alternatives);
  if (all.every((node) => node.type === 'string' || node.enum !== undefined || node.const !== undefined)) return text;
  return readYaml(text, `The environment variable ${name}`);
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
