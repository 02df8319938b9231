/** What can be told of a request before it is carried out: that it cannot find anything. */
import { isObject } from '../calls/field-reader.ts';
import { suggest } from '../config/suggest.ts';
import { terminal } from '../errors.ts';
import { findCalls } from '../pipeline/erase/erase-request.ts';
import { type Comparison, type ErasureRequest, leastText } from '../pipeline/erase/match-calls.ts';
import { readDocuments } from '../store/ledger/ledger.ts';
import { listNewestCalls } from '../store/ledger/newest-calls.ts';
import type { Store } from '../store/store.ts';

/** Calls whose metadata keys are taken for those that are in use. */
const newestCalls = 200;

/** @throws CallsyncError USAGE_ERASE for a number that no search can find; its text is not told. */
export const checkValues = ({ kind, values }: ErasureRequest): void => {
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
export const checkMetadataKey = async (
  store: Store,
  request: ErasureRequest,
  {
    comparison,
    mayCome,
    tell,
  }: {
    readonly comparison: Comparison;
    readonly mayCome: boolean;
    readonly tell: (message: string) => void;
  },
): Promise<void> => {
  if (request.kind !== 'metadata') return;
  const { key } = request;
  const known = await listMetadataKeys(store);
  if (known.size === 0 || known.has(key) || (await findCalls(store, request, comparison)).length > 0) return;
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
