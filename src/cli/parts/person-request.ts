/** Options of commands that concern a person's calls, and the request that they make. */
import type { Command } from 'commander';
import { Option } from 'commander';
import { isSupportedCountry } from 'libphonenumber-js/max';
import type { Config } from '../../../schemas/config.ts';
import { isObject } from '../../calls/field-reader.ts';
import { suggest } from '../../config/suggest.ts';
import { terminal } from '../../lib/errors.ts';
import { type Meant, meantBy, type PersonRequest } from '../../persons/request.ts';
import { leastText } from '../../persons/subjects.ts';
import { findCalls } from '../../pipeline/persons/erase.ts';
import { readDocuments } from '../../store/ledger/ledger.ts';
import { listNewestCalls } from '../../store/ledger/newest-calls.ts';
import type { Store } from '../../store/store.ts';
import { type CommonOptions, say, withCommonOptions, withServices } from '../shell/command.ts';
import { readValues } from '../shell/files.ts';
import { openPrivacy } from './open-privacy.ts';
import { openStoreService } from './open-store.ts';
import type { Services } from './services.ts';

export interface PersonOptions extends CommonOptions {
  readonly by: PersonRequest['kind'];
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
const readPersonRequest = async ({ by, key, file }: PersonOptions): Promise<PersonRequest> => {
  if ((by === 'metadata') !== (key !== undefined)) {
    throw terminal('USAGE_ERASE', '--key names the metadata key of --by metadata, and goes with it alone.');
  }
  const values = await readValues(file, by === 'phone' ? 'Telephone number' : by === 'call' ? 'Call id' : 'Value');
  const request: PersonRequest =
    key === undefined ? { kind: by as 'call' | 'phone', values } : { kind: 'metadata', key, values };
  checkValues(request);
  return request;
};

/** What a request means, by the configured countries and rules. */
const openMeant = (config: Pick<Config, 'privacy' | 'store'>, request: PersonRequest): Meant => {
  const privacy = openPrivacy(config);
  const countries = config.privacy.countries.filter((country) => isSupportedCountry(country));
  return meantBy(request, { countries, tokensOf: (value) => privacy?.tokensOf(value) ?? [] });
};

/**
 * Runs a command with the request that its options make, and the store.
 * @param mayCome whether the command also concerns calls that come later.
 */
export const withPerson = (
  options: PersonOptions,
  { mayCome }: { readonly mayCome: boolean },
  work: (person: { readonly meant: Meant; readonly store: Store; readonly services: Services }) => Promise<void>,
): Promise<void> =>
  withServices(options, async (services) => {
    const request = await readPersonRequest(options);
    const store = await openStoreService(services);
    await store.checkKeys();
    const meant = openMeant(services.config, request);
    await checkMetadataKey(store, meant, { mayCome, tell: say });
    await work({ meant, store, services });
  });

/** Calls whose metadata keys are taken for those that are in use. */
const newestCalls = 200;

/** @throws CallsyncError USAGE_ERASE for a number that no search can find; its text is not told. */
const checkValues = ({ kind, values }: PersonRequest): void => {
  const short = kind === 'phone' ? values.findIndex((value) => value.length < leastText) : -1;
  if (short < 0) return;
  throw terminal(
    'USAGE_ERASE',
    `Value ${short + 1} of ${values.length} is no telephone number: it has fewer than ${leastText} characters.`,
    { hint: 'Write whole numbers, one a line.' },
  );
};

/**
 * Of a metadata key that no newest call has and that finds no call: it is told, or refused where one is much like it.
 * @param mayCome the request also concerns later calls, which may have the key.
 * @throws CallsyncError USAGE_ERASE
 */
const checkMetadataKey = async (
  store: Store,
  meant: Meant,
  { mayCome, tell }: { readonly mayCome: boolean; readonly tell: (message: string) => void },
): Promise<void> => {
  const { request } = meant;
  if (request.kind !== 'metadata') return;
  const { key } = request;
  const known = await listMetadataKeys(store);
  if (known.size === 0 || known.has(key) || (await findCalls(store, meant)).length > 0) return;
  const near = suggest(key, [...known]);
  const hint = near === undefined ? undefined : `Did you mean ${near}?`;
  const message = `No call is found by the metadata key ${key}, which none of the newest calls has.`;
  if (hint !== undefined && !mayCome) throw terminal('USAGE_ERASE', message, { hint });
  tell(hint === undefined ? message : `${message} ${hint}`);
};

const listMetadataKeys = async (store: Store): Promise<ReadonlySet<string>> => {
  const calls = await readDocuments(store, 'call_id = ANY($1)', [await listNewestCalls(store, newestCalls)]);
  return new Set(calls.flatMap(({ document: { metadata } }) => (isObject(metadata) ? Object.keys(metadata) : [])));
};
