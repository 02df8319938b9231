/** The named dialects of the simulated call list, from the file of data beside this one. */
import { readFileSync } from 'node:fs';
import { type Dialect, type DialectInput, dialectSchema } from '../../../schemas/simulator-dialect.ts';
import { terminal } from '../../lib/errors.ts';
import { readYaml } from '../../lib/read-yaml.ts';

type Written = Readonly<Record<string, Partial<DialectInput> & { readonly like?: string }>>;

const file = 'dialects.yaml';
const written = readYaml(readFileSync(new URL(file, import.meta.url), 'utf8'), file) as Written;

/** Settings of a dialect over those of the one that it is like. */
const settingsOf = (name: string): Partial<DialectInput> => {
  const { like, ...own } = written[name] ?? {};
  return { ...(like === undefined ? {} : settingsOf(like)), ...own };
};

/** Descriptions by name. */
export const dialects: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(written).flatMap(([name, { description }]) =>
    description === undefined ? [] : [[name, description]],
  ),
);

/** A named dialect with some properties replaced. */
export const dialectOf = (name: string, overrides: Partial<Dialect>): Dialect => {
  if (Object.hasOwn(dialects, name)) return dialectSchema.parse({ ...settingsOf(name), ...overrides });
  throw terminal('SIMULATOR_DIALECT_UNKNOWN', `The simulator has no dialect named ${name}.`, {
    hint: `Choose one of: ${Object.keys(dialects).join(', ')}.`,
  });
};
