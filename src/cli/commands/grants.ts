import { openMartColumns } from '../../marts/marts.ts';
import { openMarts, openWarehouse, settingsOf } from '../parts/open-warehouses.ts';
import { withStore } from '../parts/with-services.ts';
import { argument, flag, leaf, option } from '../shell/define.ts';
import { print } from '../shell/output.ts';

export default leaf({
  args: [argument('[warehouse]', 'name of the warehouse (default: the first Postgres one)')],
  options: {
    analyst: option('--analyst <role>', 'reads everything of the warehouse; on BigQuery a principal', {
      standard: 'callsync_analyst',
    }),
    restricted: option('--restricted <role>', 'reads no transcript, telephone number or free field', {
      standard: 'callsync_restricted',
    }),
    apply: flag('--apply', 'do it, instead of printing the SQL'),
  },
  examples: [
    'callsync grants',
    'callsync grants --apply',
    'callsync grants bigquery --analyst group:analysts@example.com --restricted group:partners@example.com',
  ],
  remarks: `The restricted role reads views in a schema of their own (calls_restricted) and, of the marts that show no transcript, number
or free field, the same kind of columns (on Postgres in calls_marts, on BigQuery in calls_restricted): columns are listed one
by one, so that a new one stays hidden. On Postgres both are group roles, made where they are missing: GRANT callsync_analyst TO
somebody. Run it again after an upgrade.`,
  within: withStore,
  run: async (name, options, store, services) => {
    const { analyst, restricted } = options;
    const warehouse = openWarehouse(services, store, name);
    const { settings, place } = settingsOf(services.config, warehouse.name);
    const readers = { analyst, restricted, marts: place.marts, openMarts: settings.marts ? openMartColumns : {} };
    const statements = warehouse.grants.statements(readers);
    const applied = options.apply === true;
    if (!applied) {
      const text = statements.map((sql) => (sql.startsWith('--') ? sql : `${sql};`)).join('\n');
      return print(options, { warehouse: warehouse.name, applied, statements }, text);
    }
    await warehouse.migrate();
    await openMarts(services, warehouse);
    await warehouse.grants.apply(readers);
    print(
      options,
      { warehouse: warehouse.name, applied, analyst, restricted },
      `${warehouse.name}: ${analyst} reads everything, ${restricted} only the restricted views and columns of marts.`,
    );
  },
});
