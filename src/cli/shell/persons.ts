/** Options of commands that concern a person's calls, the request that they make, and the receipt of an erasure in sentences. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { openPrivacy } from '../../app/open-rules.ts';
import { openStoreService, type Services, withServices } from '../../app/services.ts';
import { suggest } from '../../config/suggest.ts';
import { countOf } from '../../lib/count-of.ts';
import { describeError, terminal } from '../../lib/errors.ts';
import { isObject } from '../../lib/parse-json.ts';
import { say } from '../../lib/say.ts';
import { meantBy, type PersonRequest, type PurgeScope, requestKinds } from '../../persons/request.ts';
import { type ErasureReceipt, findCalls } from '../../pipeline/persons/erase.ts';
import { countriesOf } from '../../privacy/privacy.ts';
import { documentLost } from '../../store/ledger/ledger.ts';
import { readNewestCalls } from '../../store/ledger/read-ledger.ts';
import { listSubjects } from '../../store/persons/calls.ts';
import type { Store } from '../../store/store.ts';
import { choice, type Given, option, required } from './define.ts';
import { lines } from './output.ts';

type PersonOptions = Given<typeof personOptions>;

/** Options that select the calls of a person. */
export const personOptions = {
  by: required(choice('--by <kind>', 'kind of the values', Object.keys(requestKinds) as (keyof typeof requestKinds)[])),
  key: option('--key <name>', 'the metadata key that holds the values'),
  file: option('--file <file>', 'file with one value a line (default: standard input)'),
};

/**
 * Values that must not be in the arguments, where every process of the machine could read them. One value a line: of a file, or of
 * standard input. @throws CallsyncError USAGE_VALUES
 */
const readValues = async (file: string | undefined, question: string): Promise<string[]> => {
  const lines = (await readLines(file, question)).split('\n').map((line) => line.trim());
  const values = [...new Set(lines.filter((line) => line !== ''))];
  if (values.length === 0) throw terminal('USAGE_VALUES', 'The input has no value.');
  return values;
};

const readLines = async (file: string | undefined, question: string): Promise<string> => {
  if (file !== undefined)
    return await readFile(file, 'utf8').catch((cause: unknown) => {
      throw terminal('USAGE_VALUES', `The file of values cannot be read: ${file}.`, { cause });
    });
  if (process.stdin.isTTY) say(`${question}, one a line; end them by Ctrl-D:`);
  return await text(process.stdin);
};

/** Values never come from the arguments. @throws CallsyncError USAGE_ERASE */
const readPersonRequest = async ({ by, key, file }: PersonOptions): Promise<PersonRequest> => {
  if ((by === 'metadata') !== (key !== undefined))
    throw terminal('USAGE_ERASE', '--by metadata needs --key, and no other kind takes --key.');
  const { name, read = String, form = /^/ } = requestKinds[by];
  const values = await readValues(file, `${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  // A value that no search can find. The error does not repeat it.
  const wrong = values.findIndex((value) => !form.test(read(value)));
  if (wrong >= 0)
    throw terminal('USAGE_ERASE', `Value ${wrong + 1} of ${values.length} is no ${name} that can be looked for.`, {
      hint: 'Write whole values, one a line.',
    });
  return key === undefined ? { kind: by as Exclude<typeof by, 'metadata'>, values } : { kind: 'metadata', key, values };
};

/**
 * Runs a command with the request that its options make, and the store.
 * @param mayCome whether the command also concerns calls that come later.
 */
export const withPerson = <T>(
  options: PersonOptions,
  { mayCome }: { readonly mayCome: boolean },
  work: (person: { readonly meant: PurgeScope; readonly store: Store; readonly services: Services }) => Promise<T>,
): Promise<T> =>
  withServices(options, async (services) => {
    const request = await readPersonRequest(options);
    const store = await openStoreService(services);
    await store.checkKeys();
    const privacy = openPrivacy(services.config);
    const countries = countriesOf(services.config.privacy);
    const meant = meantBy(request, {
      countries,
      tokensOf: (...value) => privacy?.tokensOf(...value) ?? [],
    });
    for (const id of request.kind === 'call' ? [] : await listSubjects(store))
      say(`No search finds it: ${describeError(documentLost(id))}`);
    await checkMetadataKey(store, meant, mayCome);
    const isNational = request.kind === 'phone' && !request.values.every((value) => /^(\+|00)/.test(value));
    if (isNational && (await findCalls(store, meant)).length === 0)
      say(
        `No call is found. callsync reads national numbers as numbers of ${countries.join(', ')} (privacy.countries); write others with + and country code.`,
      );
    return await work({ meant, store, services });
  });

/** Number of newest calls whose metadata keys count as the keys in use. */
const newestCalls = 200;

/**
 * Handles a metadata key that matches no call and that no new call has: warns, or refuses if a similar key exists.
 * @param mayCome the request also concerns later calls, which may have the key.
 * @throws CallsyncError USAGE_ERASE
 */
const checkMetadataKey = async (store: Store, meant: PurgeScope, mayCome: boolean): Promise<void> => {
  const { request } = meant;
  if (request.kind !== 'metadata') return;
  const { key } = request;
  const newest = await readNewestCalls(store, newestCalls);
  const known = new Set(
    newest.flatMap(({ document: { metadata } }) => (isObject(metadata) ? Object.keys(metadata) : [])),
  );
  if (known.size === 0 || known.has(key) || (await findCalls(store, meant)).length > 0) return;
  const near = suggest(key, [...known]);
  const hint = near === undefined ? undefined : `Did you mean ${near}?`;
  const message = `No call is found by the metadata key ${key}, which none of the newest calls has.`;
  if (hint !== undefined && !mayCome) throw terminal('USAGE_ERASE', message, { hint });
  say(hint === undefined ? message : `${message} ${hint}`);
};

const listHolds = 'callsync privacy hold list';

const describeHeld = (held: number): string | false =>
  held > 0 &&
  `${held} of them ${held === 1 ? 'is under a legal hold and stays' : 'are under a legal hold and stay'}: ${listHolds}.`;

/** The calls that a request covers. `known` and `erasedBefore` are absent in older receipts. */
const describeMeant = ({ calls, known = calls, erasedBefore = 0, dryRun }: ErasureReceipt) => {
  const unseen = Math.max(0, calls - known - erasedBefore);
  const others = [erasedBefore > 0 && `${erasedBefore} erased earlier`, unseen > 0 && `${unseen} unknown`].filter(
    Boolean,
  );
  const parts = others.length === 0 ? '' : `: ${[`${known} stored`, ...others].join(', ')}`;
  const keeps = dryRun ? 'With --yes, callsync also refuses it' : 'callsync refuses it';
  return {
    meant: `The request covers ${countOf(calls, 'call')}${parts}`,
    unseen: unseen > 0 && `Check the id of the unknown call. ${keeps} if it comes later.`,
  };
};

const describePreview = (receipt: ErasureReceipt, exceptHeld: boolean): string => {
  const { calls, held, erasedBefore } = receipt;
  const { meant, unseen } = describeMeant(receipt);
  if (held > 0 && !exceptHeld) {
    const others = held < calls ? ' With --except-held it erases the others.' : '';
    const are = held === 1 ? 'is' : 'are';
    return lines(
      `${meant}. Nothing was erased.`,
      `${held} of them ${are} under a legal hold, so --yes refuses all: ${listHolds}.${others}`,
      unseen,
    );
  }
  if (calls > 0 && calls === erasedBefore) return lines(`${meant}. Nothing is left to erase.`, unseen);
  return lines(`${meant}. callsync erased nothing yet; --yes erases them permanently.`, describeHeld(held), unseen);
};

/** @param exceptHeld of a dry run: whether it was asked for with --except-held. */
export const describeErasure = (receipt: ErasureReceipt, { exceptHeld = false } = {}): string => {
  const { dryRun, erased, held, purged, sealed, found, copies, proof } = receipt;
  if (dryRun || purged === undefined || found === undefined) return describePreview(receipt, exceptHeld);
  const { meant, unseen } = describeMeant(receipt);
  const left = found.calls + found.documents + found.inbox + found.rereads + found.quarantine + found.frames;
  return lines(
    `${meant}; ${erased} became ${erased === 1 ? 'a tombstone' : 'tombstones'} now.`,
    unseen,
    describeHeld(held),
    `Bodies of ${purged.inbox} deliveries, ${purged.quarantine} quarantined records, ${purged.rereads} rereads and ${purged.frames} frames are deleted.`,
    `A search of the store afterwards found ${left}.`,
    found.warehouses.map(
      ({ name, erased: gone, rows }) =>
        `${name}: has ${countOf(gone ?? 0, 'tombstone')}; a search found ${countOf(rows ?? 0, 'row')}.`,
    ),
    found.heldTexts > 0 && `A legal hold keeps ${found.heldTexts} records or frames without a call.`,
    sealed > 0 &&
      `${sealed} records cannot be searched: sealed ones in quarantine (replay or drop them), and lost calls.`,
    copies.map(({ of, until, why }) => `${of}: ${why}${until === null ? '' : `; until ${until}`}.`),
    proof && `Receipt ${proof.receipt_id} is signed: callsync verdicts checks it.`,
  );
};
