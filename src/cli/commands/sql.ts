import { kinds } from '../../warehouse/kinds.ts';
import { type Given, leaf, option } from '../shell/define.ts';
import { print } from '../shell/output.ts';

type SqlOptions = Given<typeof options>;

const run = (options: SqlOptions): void => {
  const statements = kinds.find(({ type }) => type === options.dialect)?.statements() ?? [];
  const text = statements.map(({ name, sql }) => `-- ${name}\n${sql.trim().replace(/;$/, '')};`);
  print(options, statements, text.join('\n\n'));
};

const options = {
  dialect: option('--dialect <dialect>', 'whose SQL', { choices: kinds.map(({ type }) => type), standard: 'postgres' }),
};

export const command = leaf({
  shared: 'json',
  options,
  examples: ['callsync sql --dialect bigquery > callsync.sql'],
  run,
});
