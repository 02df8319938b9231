import type { Command } from 'commander';
import { Option } from 'commander';
import { isSupportedCountry } from 'libphonenumber-js/max';
import { CallsyncError, terminal } from '../../errors.ts';
import type { IngestDeps } from '../../pipeline/deps.ts';
import { type ErasureReceipt, eraseRequest } from '../../pipeline/erase/erase-request.ts';
import type { ErasureRequest } from '../../pipeline/erase/match-calls.ts';
import { loadPending } from '../../pipeline/load/load-pending.ts';
import { mergeInbox } from '../../pipeline/load/merge-inbox.ts';
import { compareValues } from '../../privacy/compare-values.ts';
import { subjectOf } from '../../privacy/subjects.ts';
import { type CommonOptions, print, withCommonOptions, withServices } from '../command.ts';
import { readValues } from '../read-values.ts';
import { ingestDeps } from '../services/activity-deps.ts';
import { openPrivacy } from '../services/open-privacy.ts';
import { openProof } from '../services/open-proof.ts';
import { openStoreService } from '../services/open-store.ts';
import { openWarehouses } from '../services/open-warehouses.ts';

interface EraseOptions extends CommonOptions {
  readonly by: ErasureRequest['kind'];
  readonly key?: string;
  readonly file?: string;
  readonly yes?: boolean;
}

const readRequest = async ({ by, key, file }: EraseOptions): Promise<ErasureRequest> => {
  if ((by === 'metadata') !== (key !== undefined)) {
    throw terminal('USAGE_ERASE', '--key names the metadata key of --by metadata, and goes with it alone.');
  }
  const values = await readValues(file, by === 'phone' ? 'Telephone number' : by === 'call' ? 'Call id' : 'Value');
  return key === undefined ? { kind: by as 'call' | 'phone', values } : { kind: 'metadata', key, values };
};

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
  withServices(options, async (services) => {
    const request = await readRequest(options);
    const privacy = openPrivacy(services.config);
    const countries = services.config.privacy.countries.filter((country) => isSupportedCountry(country));
    const store = await openStoreService(services);
    const targets = await openWarehouses(services, store);
    const dryRun = options.yes !== true;
    const deps = ingestDeps(services, { store, targets });
    const receipt = await eraseRequest({ store, targets }, request, {
      dryRun,
      merge: async () => {
        for (let more = true; more; ) ({ more } = await mergeInbox(deps));
      },
      load: async () => {
        for (const { warehouse } of targets) await loadNow(deps, warehouse.name);
      },
      proof: openProof(services.config),
      comparison: compareValues(countries, (value) => (privacy === undefined ? [] : [privacy.tokenOf(value)])),
      personOf: (kind, value) => subjectOf(kind, value, countries),
    });
    print(options, receipt, describe(receipt));
  });

export const addErase = (command: Command): void => {
  withCommonOptions(command)
    .addOption(
      new Option('--by <kind>', 'what the values are').choices(['call', 'phone', 'metadata']).makeOptionMandatory(),
    )
    .option('--key <name>', 'the metadata key that holds the values')
    .option('--file <file>', 'file with one value a line (default: standard input, or a question)')
    .option('--yes', 'erase; without it the calls are only counted')
    .addHelpText(
      'after',
      `
Examples:
  callsync erase --by phone
  callsync erase --by phone --file numbers.txt --yes --json > receipt.json
  callsync erase --by metadata --key ClientID --file clients.txt --yes

Values never go into the arguments. Erased calls cannot be brought back, by no later delivery, list, import or restore.`,
    )
    .action(run);
};
