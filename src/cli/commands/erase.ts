import type { Command } from 'commander';
import { type ErasureProgress, erasureProgressQuery } from '../../../workflows/messages.ts';
import { CallsyncError } from '../../errors.ts';
import { beginErasure, previewErasure } from '../../pipeline/erase/erase-request.ts';
import { finishErasure, loadTombstones, signErasure } from '../../pipeline/erase/finish-erasure.ts';
import type { ErasureReceipt } from '../../pipeline/erase/receipt.ts';
import { mergeInbox } from '../../pipeline/load/merge-inbox.ts';
import { startErase } from '../../temporal/workflow-client.ts';
import { print, say, untilStopped } from '../command.ts';
import { describeErasure } from '../describe-erasure.ts';
import { exitCodes } from '../exit-codes.ts';
import { followWorkflow } from '../follow-workflow.ts';
import { type PersonOptions, withPerson, withPersonOptions } from '../person-request.ts';
import { ingestDeps } from '../services/activity-deps.ts';
import { openProof } from '../services/open-proof.ts';
import { findTemporal } from '../services/open-temporal.ts';
import { openWarehouses } from '../services/open-warehouses.ts';

interface EraseOptions extends PersonOptions {
  readonly yes?: boolean;
  readonly keepOut?: boolean;
  readonly exceptHeld?: boolean;
  /** False with --no-wait. */
  readonly wait: boolean;
}

const everyMs = 1_000;

/** Only roles that do the work: others may be away. */
const roles = ['workflows', 'load'] as const;

const showWaiting = () => {
  let shown = '';
  return ({ waiting }: ErasureProgress): void => {
    const now = waiting.join(', ');
    if (now !== shown && now !== '') say(`Waits until ${now} has the tombstones …`);
    shown = now;
  };
};

const run = (options: EraseOptions): Promise<void> =>
  withPerson(options, { mayCome: options.keepOut === true }, async ({ request, store, services, comparison }) => {
    const targets = await openWarehouses(services, store);
    const parts = { store, targets };
    const exceptHeld = options.exceptHeld === true;
    if (options.yes !== true) {
      const receipt = await previewErasure(parts, request, comparison);
      print(options, receipt, describeErasure(receipt, { exceptHeld }));
      return;
    }
    const deps = { ...ingestDeps(services, parts), proof: openProof(services.config) };
    const requestId = await beginErasure(parts, request, {
      ...comparison,
      keepOut: options.keepOut === true,
      exceptHeld,
      merge: async () => {
        for (let more = true; more; ) ({ more } = await mergeInbox(deps));
      },
    });
    const report = (receipt: ErasureReceipt): void => print(options, receipt, describeErasure(receipt));
    const temporal = await findTemporal(services);
    if (temporal === undefined) {
      say(
        'No Temporal server answers: this process loads the tombstones, and signs the receipt as it finds the warehouses.',
      );
      await loadTombstones(deps);
      report(await signErasure(deps, requestId));
      return;
    }
    const handle = await startErase(temporal.client, services.config.temporal.task_queue, requestId);
    const leave = (): void => {
      say(`It goes on in its workers: callsync privacy receipt ${requestId}`);
      print(options, { requestId, receipt: null }, `Erasure ${requestId} is under way.`);
    };
    if (!options.wait) return leave();
    const followed = await followWorkflow<unknown, ErasureProgress>(handle, {
      what: 'erasure',
      look: { everyMs, ask: () => handle.query(erasureProgressQuery), show: showWaiting() },
      roles,
      signal: untilStopped().signal,
      say,
    }).catch(async (error: unknown) => {
      if (!(error instanceof CallsyncError) || error.code !== 'NO_WORKER') throw error;
      say('No worker answers: this process loads the tombstones.');
      await loadTombstones(deps);
      return { ended: true };
    });
    const { receipt } = followed.ended ? await finishErasure(deps, requestId) : { receipt: undefined };
    if (receipt !== undefined) return report(receipt);
    leave();
    process.exitCode = exitCodes.incomplete;
  });

export const addErase = (command: Command): void => {
  withPersonOptions(command)
    .option(
      '--keep-out',
      'the person objects: later calls that name a value in contacts or metadata are not kept either',
    )
    .option('--except-held', 'where a legal hold keeps some of the calls, erase the others')
    .option('--yes', 'erase; without it the calls are only counted')
    .option('--no-wait', 'leave the loads and the receipt to the workers: callsync privacy receipt has it later')
    .addHelpText(
      'after',
      `
Examples:
  callsync erase --by phone
  callsync erase --by phone --file numbers.txt --yes --json > receipt.json
  callsync erase --by phone --file objections.txt --keep-out --yes
  callsync erase --by metadata --key ClientID --file clients.txt --yes

Values never go into the arguments. Erased calls cannot be brought back, by no later delivery, list, import or restore. The store is
rid of them first; then a workflow waits until every warehouse is, and signs the receipt. Ctrl-C leaves it running. Without a
Temporal server this process loads once and signs what it finds.`,
    )
    .action(run);
};
