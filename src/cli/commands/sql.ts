import { type Command, Option } from 'commander';
import { kinds } from '../../warehouse/kinds.ts';
import { print } from '../shell/command.ts';

export const addSql = (command: Command): void => {
  command
    .addOption(
      new Option('--dialect <dialect>', 'whose SQL').choices(kinds.map(({ type }) => type)).default('postgres'),
    )
    .option('--json', 'print an array of {name, sql}')
    .addHelpText('after', '\nExamples:\n  callsync sql --dialect bigquery > callsync.sql')
    .action((options: { dialect: string; json?: boolean }) => {
      const statements = kinds.find(({ type }) => type === options.dialect)?.statements() ?? [];
      print(
        options,
        statements,
        statements.map(({ name, sql }) => `-- ${name}\n${sql.trim().replace(/;$/, '')};`).join('\n\n'),
      );
    });
};
