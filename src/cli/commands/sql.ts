import { type Command, Option } from 'commander';
import { bigqueryWarehouseSchema } from '../../../schemas/config/warehouses.ts';
import { createBigqueryWarehouse } from '../../warehouse/bigquery/warehouse.ts';
import { createPostgresWarehouse } from '../../warehouse/postgres/warehouse.ts';
import { print } from '../command.ts';

export const addSql = (command: Command): void => {
  command
    .addOption(new Option('--dialect <dialect>', 'whose SQL').choices(['postgres', 'bigquery']).default('postgres'))
    .option('--json', 'print an array of {name, sql}')
    .addHelpText('after', '\nExamples:\n  callsync sql --dialect bigquery > callsync.sql')
    .action(async (options: { dialect: string; json?: boolean }) => {
      const warehouse =
        options.dialect === 'bigquery'
          ? createBigqueryWarehouse({
              name: 'bigquery',
              config: bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'project' }),
            })
          : createPostgresWarehouse({
              name: 'postgres',
              url: 'postgres://localhost/none',
              config: { schema: 'calls', documents: true },
            });
      const statements = warehouse.statements();
      print(
        options,
        statements,
        statements.map(({ name, sql }) => `-- ${name}\n${sql.trim().replace(/;$/, '')};`).join('\n\n'),
      );
      await warehouse.close();
    });
};
