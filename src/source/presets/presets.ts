/** Presets: plain configuration files, which the user's own settings override. */
import { readdir, readFile } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { terminal } from '../../lib/errors.ts';
import { isObject, mergeRaw } from '../../lib/parse-json.ts';
import { readYaml } from '../../lib/read-yaml.ts';

const folder = fileURLToPath(new URL('./', import.meta.url));

/** The presets that come with callsync, by name. */
export const listPresets = async () => {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml'));
  const names = files.map((file) => file.slice(0, -'.yaml'.length)).sort();
  return Promise.all(names.map((name) => readPreset(name)));
};

/** @param preset a name, or the path of a YAML file (relative to `baseDir`). */
export const readPreset = async (preset: string, baseDir = process.cwd()) => {
  const byName = /^[a-z0-9][a-z0-9-]*$/.test(preset);
  const file = byName ? resolve(folder, `${preset}.yaml`) : isAbsolute(preset) ? preset : resolve(baseDir, preset);
  let content: unknown;
  try {
    content = readYaml(await readFile(file, 'utf8'), file);
  } catch (error) {
    throw terminal('PRESET_UNREADABLE', `The preset “${preset}” cannot be read.`, { cause: error });
  }
  if (!isObject(content))
    throw terminal('PRESET_INVALID', `The preset “${preset}” is not a set of configuration sections.`);
  const { description, ...config } = content;
  return { name: preset, description: typeof description === 'string' ? description : '', file, config };
};

/**
 * Lays the user's raw configuration over the preset in `source.list.preset`. The user's values win; lists are
 * replaced whole.
 */
export const applyPreset = async (raw: Readonly<Record<string, unknown>>, baseDir?: string) => {
  const source = raw.source;
  const list = isObject(source) ? source.list : undefined;
  const name = isObject(list) ? list.preset : undefined;
  if (typeof name !== 'string') return { ...raw };
  return mergeRaw((await readPreset(name, baseDir)).config, raw);
};
