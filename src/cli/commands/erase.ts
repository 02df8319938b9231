import type { Command } from 'commander';
import { Option } from 'commander';
import { isSupportedCountry } from 'libphonenumber-js/max';
import { terminal } from '../../errors.ts';
import { type ErasureReceipt, eraseRequest } from '../../pipeline/erase/erase-request.ts';
import type { ErasureRequest } from '../../pipeline/erase/match-calls.ts';
import { mergeInbox } from '../../pipeline/load/merge-inbox.ts';
import { normalizeNumber, writtenForms } from '../../privacy/phone-number.ts';
import { type CommonOptions, print, withCommonOptions, withServices } from '../command.ts';
import { readValues } from '../read-values.ts';
import { ingestDeps } from '../services/activity-deps.ts';
import { openPrivacy } from '../services/open-privacy.ts';
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

const describe = ({ dryRun, calls, erased, purged, sealed, warehouses, copies }: ErasureReceipt): string => {
  if (dryRun || purged === undefined)
    return `${calls} calls are meant. Nothing was erased; --yes erases them for good.`;
  return [
    `${calls} calls are meant; ${erased} became tombstones now, which ${warehouses.join(', ') || 'no warehouse'} gets next.`,
    `Bodies of ${purged.inbox} deliveries, ${purged.quarantine} quarantined records, ${purged.rereads} rereads and ${purged.frames} frames are gone.`,
    ...(sealed > 0 ? [`${sealed} sealed records in quarantine cannot be searched: replay or drop them.`] : []),
    ...copies.map((copy) => `${copy}.`),
  ].join('\n');
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
      comparison: {
        normalize: (text) => normalizeNumber(text, countries),
        writtenForms,
        tokensOf: (value) => (privacy === undefined ? [] : [privacy.tokenOf(value)]),
      },
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
