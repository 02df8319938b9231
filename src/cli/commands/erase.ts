import { type ErasureProgress, erasureProgressQuery } from '../../../workflows/messages.ts';
import { openIngest } from '../../app/activity-deps.ts';
import { findTemporal } from '../../app/temporal.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { say } from '../../lib/say.ts';
import { beginErasure, finishErasure, previewErasure } from '../../pipeline/persons/erase.ts';
import { startErase } from '../../temporal/workflow-client.ts';
import { type Answer, flag, leaf } from '../shell/define.ts';
import { followWorkflow } from '../shell/follow.ts';
import { untilStopped } from '../shell/output.ts';
import { describeErasure, personOptions, withPerson } from '../shell/persons.ts';

/** Waits only for workers of the roles that erase; others may be away. */
const roles = ['workflows', 'load'] as const;

const showWaiting = () => {
  let shown = '';
  return ({ waiting }: ErasureProgress): void => {
    const now = waiting.join(', ');
    if (now !== shown && now !== '') say(`Waits until ${now} has the tombstones (callsync status) …`);
    shown = now;
  };
};

export default leaf({
  options: {
    ...personOptions,
    suppress: flag('--suppress', 'also refuse later calls with a value in contacts or metadata'),
    exceptHeld: flag('--except-held', 'erase the other calls if some are under legal hold'),
    yes: flag('--yes', 'erase the calls; without --yes, only count them'),
    wait: flag('--no-wait', 'do not wait for warehouses; callsync privacy receipt prints the receipt later'),
  },
  examples: [
    'callsync erase --by phone',
    'callsync erase --by phone --file numbers.txt --yes --json > receipt.json',
    'callsync erase --by phone --file objections.txt --suppress --yes',
    'callsync erase --by metadata --key ClientID --file clients.txt --yes',
  ],
  remarks: `Never pass values as arguments. No later delivery, list, import or restore brings erased calls back. The command removes calls
from the store. A workflow then waits for every warehouse, searches again, and signs the receipt. Ctrl-C stops the display; the workflow
continues. Without a Temporal server, the command tries once. If data is left, the exit code is 5.`,
  run: (options) =>
    withPerson(options, { mayCome: options.suppress === true }, async ({ meant, store, services }) => {
      const deps = await openIngest(services, store);
      const exceptHeld = options.exceptHeld === true;
      if (options.yes !== true) {
        const receipt = await previewErasure(deps, meant);
        return [receipt, describeErasure(receipt, { exceptHeld })];
      }
      const requestId = await beginErasure(deps, meant, { suppress: options.suppress === true, exceptHeld });
      const leave = (exit?: 'incomplete'): Answer => {
        say(`callsync privacy receipt ${requestId} has the receipt later.`);
        return [{ requestId, receipt: null }, `Erasure ${requestId} is under way.`, exit];
      };
      const finishHere = async (): Promise<Answer> => {
        const { waiting, receipt } = await finishErasure(deps, requestId, { load: true });
        if (receipt !== undefined) return [receipt, describeErasure(receipt)];
        say(`Not signed yet: ${waiting.join(', ')} still has data.`);
        return leave('incomplete');
      };
      const temporal = await findTemporal(services);
      if (temporal === undefined) {
        say('No Temporal server answers, so this process loads the tombstones once.');
        return await finishHere();
      }
      const handle = await startErase(temporal.client, temporal.prefix, requestId);
      if (!options.wait) return leave();
      const followed = await followWorkflow<unknown, ErasureProgress>(handle, {
        what: 'erasure',
        look: { query: erasureProgressQuery, show: showWaiting() },
        roles,
        signal: untilStopped().signal,
      }).catch(async (error: unknown) => {
        if (!(error instanceof CallsyncError) || error.code !== 'NO_WORKER') throw error;
        say('No worker answers, so this process loads the tombstones.');
        return { ended: true };
      });
      return followed.ended ? await finishHere() : leave('incomplete');
    }),
});
