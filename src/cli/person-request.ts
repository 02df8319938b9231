/** Options of commands that concern a person's calls, and the request that they make. */
import type { Command } from 'commander';
import { Option } from 'commander';
import { isSupportedCountry } from 'libphonenumber-js/max';
import type { Config } from '../../schemas/config.ts';
import { terminal } from '../errors.ts';
import type { Comparison, ErasureRequest } from '../pipeline/erase/match-calls.ts';
import { compareValues } from '../privacy/compare-values.ts';
import { subjectOf } from '../privacy/subjects.ts';
import type { Store } from '../store/store.ts';
import { checkMetadataKey, checkValues } from './check-request.ts';
import { type CommonOptions, say, withCommonOptions, withServices } from './command.ts';
import { readValues } from './read-values.ts';
import { openPrivacy } from './services/open-privacy.ts';
import { openStoreService } from './services/open-store.ts';
import type { Services } from './services/services.ts';

export interface PersonOptions extends CommonOptions {
  readonly by: ErasureRequest['kind'];
  readonly key?: string;
  readonly file?: string;
}

/** Adds the options that say whose calls are meant. */
export const withPersonOptions = (command: Command): Command =>
  withCommonOptions(command)
    .addOption(
      new Option('--by <kind>', 'what the values are').choices(['call', 'phone', 'metadata']).makeOptionMandatory(),
    )
    .option('--key <name>', 'the metadata key that holds the values')
    .option('--file <file>', 'file with one value a line (default: standard input, or a question)');

/** Values never come from the arguments. @throws CallsyncError USAGE_ERASE */
const readPersonRequest = async ({ by, key, file }: PersonOptions): Promise<ErasureRequest> => {
  if ((by === 'metadata') !== (key !== undefined)) {
    throw terminal('USAGE_ERASE', '--key names the metadata key of --by metadata, and goes with it alone.');
  }
  const values = await readValues(file, by === 'phone' ? 'Telephone number' : by === 'call' ? 'Call id' : 'Value');
  const request: ErasureRequest =
    key === undefined ? { kind: by as 'call' | 'phone', values } : { kind: 'metadata', key, values };
  checkValues(request);
  return request;
};

/**
 * Runs a command with the request that its options make, and the store.
 * @param mayCome whether the command also concerns calls that come later.
 */
export const withPerson = (
  options: PersonOptions,
  { mayCome }: { readonly mayCome: boolean },
  work: (person: {
    readonly request: ErasureRequest;
    readonly store: Store;
    readonly services: Services;
    readonly comparison: PersonComparison;
  }) => Promise<void>,
): Promise<void> =>
  withServices(options, async (services) => {
    const request = await readPersonRequest(options);
    const store = await openStoreService(services);
    const comparison = openComparison(services.config);
    await checkMetadataKey(store, request, { comparison: comparison.comparison, mayCome, tell: say });
    await work({ request, store, services, comparison });
  });

interface PersonComparison {
  readonly comparison: Comparison;
  /** What names a person in the erasure log. */
  readonly personOf: (kind: 'phone' | 'metadata', value: string) => string;
}

/** How values are compared, by the configured countries and rules. */
const openComparison = (config: Pick<Config, 'privacy' | 'store'>): PersonComparison => {
  const privacy = openPrivacy(config);
  const countries = config.privacy.countries.filter((country) => isSupportedCountry(country));
  return {
    comparison: compareValues(countries, (value) => privacy?.tokensOf(value) ?? []),
    personOf: (kind, value) => subjectOf(kind, value, countries),
  };
};
