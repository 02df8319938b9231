import { openWarehouse, openWarehouses, settingsOf } from '../../app/activity-deps.ts';
import { openStoreService, withServices, withStore } from '../../app/services.ts';
import { openTemporal } from '../../app/temporal.ts';
import { countOf } from '../../lib/count-of.ts';
import { sendAgain } from '../../store/loads/compared.ts';
import { countPending } from '../../store/loads/loads.ts';
import { walkToEnd } from '../../store/loads/walk.ts';
import { requestWalk } from '../../store/loads/warehouses.ts';
import { withdrawProof } from '../../store/windows/verdicts.ts';
import { startLoadWarehouse } from '../../temporal/workflow-client.ts';
import { requireFrom } from '../../warehouse/warehouse.ts';
import { argument, group, leaf } from '../shell/define.ts';
import { followWorkflow } from '../shell/follow.ts';
import { endWith, untilStopped } from '../shell/output.ts';

const load = (origin: 'fill' | 'rebuild', does: string) =>
  leaf({
    does,
    args: [argument('<name>', 'name of the warehouse')],
    examples: [`callsync warehouse ${origin} postgres`],
    within: withServices,
    run: async (name, _options, services) => {
      settingsOf(services.config, name);
      const store = await openStoreService(services);
      await openWarehouses(services, store);
      const rewrite = origin === 'rebuild';
      if (rewrite)
        await withdrawProof(store, async (tx, withdraw) => {
          await withdraw({ since: 0 }, name);
          await sendAgain(tx, name, { since: 0, loadIds: [] });
        });
      else await requestWalk(store, { warehouse: name });
      const requested = await walkToEnd(store, name);
      const { client, prefix } = await openTemporal(services);
      services.say(`${name}: loading pending calls${rewrite ? ` (${countOf(requested, 'call')} again)` : ''} …`);
      const { signal } = untilStopped();
      let changed = 0;
      let left = Number.POSITIVE_INFINITY;
      // A load that was already running may miss calls that were requested just now; the next load brings them.
      for (let before = left; left > 0; before = left) {
        const handle = await startLoadWarehouse(client, prefix, { warehouse: name, origin });
        const followed = await followWorkflow<{ changed: number }>(handle, {
          what: 'load',
          roles: ['workflows', 'load'],
          signal,
        });
        if (!followed.ended) {
          services.say(`The load continues in the workers. Run callsync warehouse fill ${name} to watch it.`);
          endWith('incomplete');
          return;
        }
        changed += followed.result.changed;
        left = await countPending(store, name);
        if (left >= before) {
          services.say(`${countOf(left, 'call')} still pending; callsync status shows the error of the last load.`);
          endWith('incomplete');
          break;
        }
      }
      return [
        { warehouse: name, origin, changed },
        `${name}: complete, ${countOf(changed, 'call')} written by this command`,
      ];
    },
  });

const index = (action: 'create' | 'drop' | 'status', does: string) =>
  leaf({
    does,
    args: [argument('[name]', 'name of the warehouse (default: the first PostgreSQL one)')],
    examples: [`callsync warehouse search-index ${action} postgres`],
    within: withStore,
    run: async (name, _options, store, services) => {
      const warehouse = openWarehouse(services, store, name);
      const search = requireFrom(warehouse, 'search');
      if (action === 'create') {
        await warehouse.migrate();
        await search.create({
          onProgress: (indexed) => {
            if (indexed % 10_000 === 0) services.say(`${indexed} calls indexed …`);
          },
          onWait: () =>
            services.say(
              `Another command creates the search index of ${warehouse.name}; this command waits for its end.`,
            ),
        });
      }
      if (action === 'drop') await search.drop();
      return [{ warehouse: warehouse.name, ...(await search.status()) }];
    },
  });

export default group({
  commands: {
    fill: load('fill', 'load every call that is missing or outdated in the warehouse'),
    rebuild: load('rebuild', 'write the rows of every call again'),
    'search-index': group({
      does: 'create, drop or check the index of callsync search',
      commands: {
        create: index('create', 'create the index while loads run; callsync then keeps it current'),
        drop: index('drop', 'remove the index; nothing else changes'),
        status: index('status', 'show whether the index exists and is complete, and its size'),
      },
    }),
  },
});
