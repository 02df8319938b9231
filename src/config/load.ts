/** Reads the configuration in this order: defaults, preset, file, environment. Later values override earlier ones. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { type Config, configSchema, type ReceiverConfig, receiverConfigSchema } from '../../schemas/config.ts';
import { terminal } from '../lib/errors.ts';
import { isObject } from '../lib/parse-json.ts';
import { dropNulls, mergeRaw, type Raw } from '../lib/raw.ts';
import { applyPreset } from '../source/presets/presets.ts';
import { applyEnvironment } from './environment.ts';
import { describeIssues } from './problems.ts';

interface LoadConfigOptions {
  /** Value of `--config`; before CALLSYNC_CONFIG, before ./callsync.yaml. */
  readonly path?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Override everything else: what a command sets by itself, such as the demo. */
  readonly overrides?: Raw;
}

interface LoadedConfig<C = Config> {
  readonly config: C;
  /** The file that was read; undefined when everything came from the environment. */
  readonly path: string | undefined;
}

/** Throws `CallsyncError` CONFIG_MISSING or CONFIG_INVALID; its message names every key that is wrong. */
export const loadConfig = (options: LoadConfigOptions = {}): Promise<LoadedConfig> => load(options, configSchema);

/** The same for a receiver alone, which needs no section `source`. */
export const loadReceiverConfig = (options: LoadConfigOptions = {}): Promise<LoadedConfig<ReceiverConfig>> =>
  load(options, receiverConfigSchema);

const load = async <C>(options: LoadConfigOptions, schema: z.ZodType<C>): Promise<LoadedConfig<C>> => {
  const { env = process.env, cwd = process.cwd(), overrides = {} } = options;
  const wanted = options.path ?? (env.CALLSYNC_CONFIG || undefined);
  const path = resolve(cwd, wanted ?? 'callsync.yaml');
  const text = await readConfigFile(path, wanted !== undefined);
  const written = mergeRaw(applyEnvironment(text === undefined ? {} : parseConfigText(text, path), env), overrides);
  const raw = await applyPreset(written, dirname(path));
  if (text === undefined && Object.keys(raw).length === 0) {
    throw terminal('CONFIG_MISSING', `There is no configuration: ${path} does not exist.`, {
      hint: 'Copy callsync.example.yaml to callsync.yaml, or name a file with --config or CALLSYNC_CONFIG.',
    });
  }
  return {
    config: check(raw, text === undefined ? 'the environment' : path, schema),
    path: text === undefined ? undefined : path,
  };
};

/** Checks settings and fills in defaults. @param origin names where they came from, for the error. */
export const checkConfig = (raw: unknown, origin: string): Config => check(raw, origin, configSchema);

const check = <C>(raw: unknown, origin: string, schema: z.ZodType<C>): C => {
  const result = schema.safeParse(dropNulls(raw), { reportInput: true });
  if (result.success) return result.data;
  const problems = describeIssues(result.error.issues);
  throw terminal('CONFIG_INVALID', `The configuration (${origin}) is not valid: ${problems.join('; ')}.`, {
    hint: 'Every key and its meaning is in callsync.example.yaml.',
  });
};

const readConfigFile = async (path: string, required: boolean): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !required) return undefined;
    const why = code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw terminal('CONFIG_MISSING', `The configuration file ${path} ${why}.`, { cause });
  }
};

/** Advice for frequent mistakes. The library's own words repeat the line, which may hold a secret. */
const yamlHints: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'Indent with spaces: YAML does not allow tabs.',
  BAD_INDENT: 'Indent the keys of one section by the same number of spaces.',
  MISSING_CHAR: 'Close the quote or bracket that is open.',
  DUPLICATE_KEY: 'Write each key once.',
};

const parseConfigText = (text: string, path: string): Raw => {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) {
    const line = error.linePos?.[0].line ?? 1;
    throw terminal('CONFIG_INVALID', `${path}, line ${line}: this is not valid YAML (${error.code}).`, {
      hint: yamlHints[error.code] ?? 'Compare the line with callsync.example.yaml.',
    });
  }
  const raw: unknown = document.toJS();
  if (raw === null) return {};
  if (!isObject(raw)) throw terminal('CONFIG_INVALID', `${path} must hold sections such as "source:" and "store:".`);
  return raw;
};
