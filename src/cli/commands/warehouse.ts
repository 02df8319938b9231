import type { Command } from 'commander';
import { countOf } from '../../lib/count-of.ts';
import { countPending } from '../../store/loads/pending.ts';
import { requestWalk, walkToEnd } from '../../store/loads/walk.ts';
import { withdrawProof } from '../../store/windows/verdicts.ts';
import { startLoadWarehouse } from '../../temporal/workflow-client.ts';
import { followWorkflow } from '../parts/follow-workflow.ts';
import { openStoreService } from '../parts/open-store.ts';
import { openTemporal } from '../parts/open-temporal.ts';
import { configuredWarehouse } from '../parts/open-warehouse.ts';
import { openWarehouses } from '../parts/open-warehouses.ts';
import { type CommonOptions, print, untilStopped, withCommonOptions, withServices } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { withExamples } from '../shell/output.ts';
import { addSearchIndex } from './search-index.ts';

const run = (name: string, options: CommonOptions, force: boolean): Promise<void> =>
  withServices(options, async (services) => {
    configuredWarehouse(services.config, name);
    const store = await openStoreService(services);
    await openWarehouses(services, store);
    const request = { warehouse: name, rewrite: force };
    if (force)
      await withdrawProof(store, async (tx, withdraw) => {
        await requestWalk(tx, request);
        await withdraw({ since: 0 }, name);
      });
    else await requestWalk(store, request);
    const requested = await walkToEnd(store, name);
    const temporal = await openTemporal(services);
    services.say(`${name}: loading what is pending${force ? ` (${countOf(requested, 'call')} again)` : ''} …`);
    const origin = force ? 'rebuild' : 'fill';
    const { signal } = untilStopped();
    let changed = 0;
    let left = Number.POSITIVE_INFINITY;
    // A load that was already under way may end without what was asked for just now; then the next one brings it.
    for (let before = left; left > 0; before = left) {
      const handle = await startLoadWarehouse(temporal.client, services.config.temporal.task_queue, {
        warehouse: name,
        origin,
      });
      const followed = await followWorkflow<{ changed: number }>(handle, {
        what: 'load',
        roles: ['workflows', 'load'],
        signal,
        say: services.say,
      });
      if (!followed.ended) {
        services.say(
          `The load goes on in its workers: callsync status, or callsync warehouse fill ${name} to join it.`,
        );
        process.exitCode = exitCodes.incomplete;
        return;
      }
      changed += followed.result.changed;
      left = await countPending(store, name);
      if (left >= before) {
        services.say(`${countOf(left, 'call')} still pending: callsync status says what the last load met.`);
        process.exitCode = exitCodes.incomplete;
        break;
      }
    }
    print(options, { warehouse: name, origin, changed }, `${name}: ${countOf(changed, 'call')} written`);
  });

export const addWarehouse = (command: Command): void => {
  const warehouse = withExamples(command, [
    'callsync warehouse fill bigquery',
    'callsync warehouse rebuild postgres',
    'callsync warehouse search-index create postgres',
  ]);
  withExamples(withCommonOptions(warehouse.command('fill <name>')), ['callsync warehouse fill bigquery'])
    .description('load every call that the warehouse does not have in its present revision')
    .action((name: string, options: CommonOptions) => run(name, options, false));
  withExamples(withCommonOptions(warehouse.command('rebuild <name>')), ['callsync warehouse rebuild postgres'])
    .description('write the rows of every call again')
    .action((name: string, options: CommonOptions) => run(name, options, true));
  addSearchIndex(warehouse);
};
