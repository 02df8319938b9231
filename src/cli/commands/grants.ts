import type { Command } from 'commander';
import { openMartColumns } from '../../marts/marts.ts';
import { kindOf } from '../../warehouse/kinds.ts';
import { openMarts } from '../parts/open-marts.ts';
import { configuredWarehouse, openWarehouse } from '../parts/open-warehouse.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../shell/command.ts';

interface GrantsOptions extends CommonOptions {
  readonly analyst: string;
  readonly restricted: string;
  readonly apply?: boolean;
}

export const addGrants = (command: Command): void => {
  withCommonOptions(command)
    .argument('[warehouse]', 'name of the warehouse (default: the first Postgres one)')
    .option('--analyst <role>', 'reads everything of the warehouse; on BigQuery a principal', 'callsync_analyst')
    .option('--restricted <role>', 'reads no transcript, telephone number or free field', 'callsync_restricted')
    .option('--apply', 'do it, instead of printing the SQL')
    .addHelpText(
      'after',
      `
Examples:
  callsync grants
  callsync grants --apply
  callsync grants bigquery --analyst group:analysts@example.com --restricted group:partners@example.com

The restricted role reads views in a schema of their own (calls_restricted) and, of the marts that show no transcript, number
or free field, the same kind of columns (on Postgres in calls_marts, on BigQuery in calls_restricted): columns are listed one
by one, so that a new one stays hidden. On Postgres both are group roles, made where they are missing: GRANT callsync_analyst TO
somebody. Run it again after an upgrade.`,
    )
    .action((name: string | undefined, options: GrantsOptions) =>
      withStore(options, async (store, services) => {
        const warehouse = openWarehouse(services, store, name);
        const { analyst, restricted } = options;
        const configured = configuredWarehouse(services.config, warehouse.name);
        const { marts } = kindOf(configured).place(configured);
        const readers = { analyst, restricted, marts, openMarts: configured.marts ? openMartColumns : {} };
        const statements = warehouse.grants.statements(readers);
        if (options.apply !== true) {
          const text = statements.map((sql) => (sql.startsWith('--') ? sql : `${sql};`)).join('\n');
          return print(options, { warehouse: warehouse.name, applied: false, statements }, text);
        }
        await warehouse.migrate();
        await openMarts(services, warehouse);
        await warehouse.grants.apply(readers);
        print(
          options,
          { warehouse: warehouse.name, applied: true, analyst, restricted },
          `${warehouse.name}: ${analyst} reads everything, ${restricted} only the restricted views and columns of marts.`,
        );
      }),
    );
};
