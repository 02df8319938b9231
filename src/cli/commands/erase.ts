import type { Command } from 'commander';
import { CallsyncError } from '../../errors.ts';
import type { IngestDeps } from '../../pipeline/deps.ts';
import { type ErasureReceipt, eraseRequest } from '../../pipeline/erase/erase-request.ts';
import { loadPending } from '../../pipeline/load/load-pending.ts';
import { mergeInbox } from '../../pipeline/load/merge-inbox.ts';
import { print } from '../command.ts';
import { openComparison, type PersonOptions, withPerson, withPersonOptions } from '../person-request.ts';
import { ingestDeps } from '../services/activity-deps.ts';
import { openProof } from '../services/open-proof.ts';
import { openWarehouses } from '../services/open-warehouses.ts';

interface EraseOptions extends PersonOptions {
  readonly yes?: boolean;
  readonly keepOut?: boolean;
}

const describe = ({ dryRun, calls, erased, purged, sealed, found, copies, proof }: ErasureReceipt): string => {
  if (dryRun || purged === undefined || found === undefined)
    return `${calls} calls are meant. Nothing was erased; --yes erases them for good.`;
  const left = found.calls + found.documents + found.inbox + found.rereads + found.quarantine + found.frames;
  return [
    `${calls} calls are meant; ${erased} became tombstones now.`,
    `Bodies of ${purged.inbox} deliveries, ${purged.quarantine} quarantined records, ${purged.rereads} rereads and ${purged.frames} frames are gone.`,
    `A search of the store afterwards found ${left}.`,
    ...found.warehouses.map(({ name, erased: gone, waiting }) =>
      gone === null
        ? `${name}: did not answer; its rows go with its next load.`
        : `${name}: ${gone} erased${waiting > 0 ? `, ${waiting} with its next load` : ''}.`,
    ),
    ...(sealed > 0 ? [`${sealed} sealed records in quarantine cannot be searched: replay or drop them.`] : []),
    ...copies.map(({ of, until, why }) => `${of}: ${why}${until === null ? '' : `; until ${until}`}.`),
    ...(proof === undefined ? [] : [`Receipt ${proof.receipt_id} is signed: callsync verdicts verify checks it.`]),
  ].join('\n');
};

/** A warehouse that is away or has no quota left gets its tombstones from a worker. */
const loadNow = async (deps: IngestDeps, warehouse: string): Promise<void> => {
  try {
    await loadPending(deps, { warehouse, origin: 'erase' });
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
  }
};

const run = (options: EraseOptions): Promise<void> =>
  withPerson(options, async ({ request, store, services }) => {
    const targets = await openWarehouses(services, store);
    const dryRun = options.yes !== true;
    const deps = ingestDeps(services, { store, targets });
    const receipt = await eraseRequest({ store, targets }, request, {
      dryRun,
      keepOut: options.keepOut === true,
      merge: async () => {
        for (let more = true; more; ) ({ more } = await mergeInbox(deps));
      },
      load: async () => {
        for (const { warehouse } of targets) await loadNow(deps, warehouse.name);
      },
      proof: openProof(services.config),
      ...openComparison(services.config),
    });
    print(options, receipt, describe(receipt));
  });

export const addErase = (command: Command): void => {
  withPersonOptions(command)
    .option(
      '--keep-out',
      'the person objects: later calls that name a value in contacts or metadata are not kept either',
    )
    .option('--yes', 'erase; without it the calls are only counted')
    .addHelpText(
      'after',
      `
Examples:
  callsync erase --by phone
  callsync erase --by phone --file numbers.txt --yes --json > receipt.json
  callsync erase --by phone --file objections.txt --keep-out --yes
  callsync erase --by metadata --key ClientID --file clients.txt --yes

Values never go into the arguments. Erased calls cannot be brought back, by no later delivery, list, import or restore.`,
    )
    .action(run);
};
