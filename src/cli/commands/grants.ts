import { openMarts, openWarehouse, readersOf, settingsOf } from '../../app/activity-deps.ts';
import { withStore } from '../../app/services.ts';
import { requireFrom } from '../../warehouse/warehouse.ts';
import { argument, flag, leaf, option } from '../shell/define.ts';

export default leaf({
  args: [argument('[warehouse]', 'name of the warehouse (default: the first PostgreSQL one)')],
  options: {
    analyst: option(
      '--analyst <role>',
      'role that reads the whole warehouse; on BigQuery a principal',
      'callsync_analyst',
    ),
    restricted: option(
      '--restricted <role>',
      'role that cannot read transcripts, telephone numbers or free fields',
      'callsync_restricted',
    ),
    apply: flag('--apply', 'run the SQL instead of printing it'),
  },
  examples: [
    'callsync grants',
    'callsync grants --apply',
    'callsync grants bigquery --analyst group:analysts@example.com --restricted group:partners@example.com',
  ],
  remarks: `The restricted role reads views in the schema calls_restricted, and marts without transcripts, numbers and free fields (on
BigQuery as views in calls_restricted). The command lists allowed columns one by one, so new columns stay hidden. Run
callsync grants again after an upgrade. On PostgreSQL, both are group roles: GRANT callsync_analyst TO a user.`,
  within: withStore,
  run: async (name, options, store, services) => {
    const { analyst, restricted } = options;
    const warehouse = openWarehouse(services, store, name);
    const readers = { ...readersOf(settingsOf(services.config, warehouse.name)), analyst, restricted };
    const grants = requireFrom(warehouse, 'grants');
    const statements = grants.statements(readers);
    const applied = options.apply === true;
    if (!applied) {
      const text = statements.map((sql) => (sql.startsWith('--') ? sql : `${sql};`)).join('\n');
      return [{ warehouse: warehouse.name, applied, statements }, text];
    }
    await warehouse.migrate();
    await openMarts(services, warehouse);
    await grants.apply(readers);
    return [
      { warehouse: warehouse.name, applied, analyst, restricted },
      `${warehouse.name}: ${analyst} reads everything, ${restricted} only the restricted views and columns of marts.`,
    ];
  },
});
