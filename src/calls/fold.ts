/**
 * Folds observations of a call into one document. Every top-level field is a last-writer-wins register under a total
 * order (observed_at, source rank, value hash). The result therefore does not depend on the order of arrival.
 */
import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { maxCallIdLength } from '../../schemas/call.ts';
import { type Observation, type ObservationSource, sourceRank } from '../../schemas/observation.ts';
import { encodedBytes, JsonRecord } from '../lib/json-record.ts';
import { isObject } from '../lib/parse-json.ts';
import { parseTimestamp } from '../lib/timestamps.ts';
import { knownField, redactionsField } from './own-fields.ts';

/**
 * [observed_at in microseconds, source rank, hash of the value's JSON]. If the observation has its own order, the hash
 * begins with it: see `placeHash`.
 */
export type FieldVersion = readonly [observedAt: number, rank: number, hash: string];

/** Time of the last change of a field's value; an equal observation does not move it. The rank is that of the source. An earlier version wrote no kind. */
type FieldChange = readonly [revision: number, observedAt: number, rank: number, kind?: ChangeKind];
type ChangeKind = 'added' | 'changed' | 'removed';

export interface LedgerRow {
  readonly callId: string;
  /** Raised by one whenever the document changes; 0 = nothing folded yet. */
  readonly revision: number;
  readonly tombstone: boolean;
  readonly versions: Readonly<Record<string, FieldVersion>>;
  /** Only of fields that changed after the first revision; depends on the order of arrival, as `revision` does. */
  readonly fieldChanges: Readonly<Record<string, FieldChange>>;
  /** The folded document; null = it exists in the store but was not fetched (see `needsDocument`). */
  readonly document: JsonRecord | null;
  /** Microseconds since the epoch, or null while unknown. */
  readonly firstSeenAt: number | null;
  readonly lastSeenAt: number | null;
  /** `lastSeenAt` of the latest observation that changed the call. */
  readonly changedAt: number | null;
  /** Time since which the service no longer lists the call. Warehouses show it, so a change raises the revision. */
  readonly sourceDeletedAt: number | null;
  /**
   * Version of the privacy rules of the document. `noRules` if a part came in without rules after rules had been
   * applied; null if there never were any.
   */
  readonly rules: string | null;
  /** First observed_at per source that ever showed the call. */
  readonly seenBy: Readonly<Partial<Record<ObservationSource, number>>>;
}

/** Parts of the document came in without rules. */
export const noRules = 'none';

/** An observation with the hash of every field. */
export interface PreparedObservation extends Observation {
  readonly hashes: Readonly<Record<string, string>>;
}

/** The row of a call of which nothing is known. */
export const emptyRow: Omit<LedgerRow, 'callId'> = {
  revision: 0,
  tombstone: false,
  versions: {},
  fieldChanges: {},
  document: new JsonRecord(),
  firstSeenAt: null,
  lastSeenAt: null,
  changedAt: null,
  sourceDeletedAt: null,
  rules: null,
  seenBy: {},
};

const unstorable = /[\0\ud800-\udfff]/;

/** The text with NUL and lone surrogates, which PostgreSQL refuses and BigQuery replaces, as U+FFFD; else the same text. */
export const cleanText = (text: string): string =>
  unstorable.test(text) ? text.replaceAll('\0', '\ufffd').toWellFormed() : text;

/** Deepest nesting that is stored as JSON: BigQuery takes 500 levels, and no client reads more. */
export const maxJsonDepth = 200;

/** First 128 bits of the SHA-256 of a value's JSON, as base64. */
const hashJson = (json: string | Buffer): string => hash('sha256', json, 'base64').slice(0, 22);

/** Characters of `Observation.order`: 48 bits in base64. */
export const orderLength = 8;

/** Statuses of calls that the service sends to a webhook (interface §1), as versions hold them behind an order. */
export const sentStatuses = ['qualified', 'void'].map((status) => hashJson(JSON.stringify(status)).slice(orderLength));

/** Chooses between two values of one instant and source. The choice must not depend on the privacy rules. */
const placeHash = (hashed: string, order: string | undefined): string =>
  order === undefined ? hashed : order + hashed.slice(orderLength);

/** Hashes of equal values, in whichever order they are. */
const isSameHash = (a: string | undefined, b: string | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.slice(orderLength) === b.slice(orderLength));

const own = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** Renders and hashes every field once. Undefined fields are absent. Makes the characters of names storable. */
export const prepareObservation = (observation: Observation): PreparedObservation => {
  const fields = storableFields(observation.fields);
  const hashes: [string, string][] = [];
  for (const [name, held] of Object.entries(fields)) {
    const isLarge = Buffer.isBuffer(held);
    const json = isLarge ? held : JSON.stringify(held);
    if (json === undefined) {
      Reflect.deleteProperty(fields, name);
      continue;
    }
    // Rendered once. An escape by number may stand for a character that cannot be stored.
    if (!isLarge && json.length >= encodedBytes && !json.includes('\\u')) fields[name] = Buffer.from(json);
    hashes.push([name, placeHash(hashJson(json), observation.order)]);
  }
  return { ...observation, fields: new JsonRecord(fields), hashes: Object.fromEntries(hashes) };
};

/** A copy; in the order of their names where one of them could not be stored. */
const storableFields = ({ held, names }: JsonRecord): Record<string, unknown> =>
  names.every((name) => cleanText(name) === name)
    ? { ...held }
    : Object.fromEntries(names.sort().map((name) => [cleanText(name), held[name]]));

/** Whether a version of a field goes before the held one: by time, source and hash. */
export const isHigher = (candidate: FieldVersion, held: FieldVersion): boolean => {
  if (candidate[0] !== held[0]) return candidate[0] > held[0];
  if (candidate[1] !== held[1]) return candidate[1] > held[1];
  return candidate[2] > held[2];
};

const versionOf = (observation: PreparedObservation, name: string): FieldVersion => [
  observation.observedAt,
  sourceRank[observation.source],
  observation.hashes[name] as string,
];

/** Warehouses show the earliest observation, and rows of one revision are the same everywhere: an earlier one raises it. */
const isEarlier = (row: LedgerRow, observation: Observation): boolean =>
  row.firstSeenAt !== null && observation.observedAt < row.firstSeenAt;

/** True if this observation may change the document, so that the caller must fetch the stored document first. */
export const needsDocument = (row: LedgerRow, observation: PreparedObservation): boolean => {
  if (row.document !== null || row.tombstone) return false;
  if (row.sourceDeletedAt !== null || isEarlier(row, observation)) return true;
  for (const name of Object.keys(observation.hashes)) {
    const held = own(row.versions, name);
    if (held === undefined) return true;
    if (!isSameHash(held[2], observation.hashes[name]) && isHigher(versionOf(observation, name), held)) return true;
  }
  return false;
};

/** Whether a record names other values of its call than the row, or may say values that only the row names. */
export const namesOthers = ({ versions }: LedgerRow, { hashes }: PreparedObservation): boolean =>
  (knownField in hashes || (knownField in versions && 'transcript_json' in hashes)) &&
  !isSameHash(versions[knownField]?.[2], hashes[knownField]);

/** True when the row already holds every value of the observation, whatever their age (equal up to key order). */
export const holdsValues = (row: LedgerRow, observation: PreparedObservation): boolean =>
  Object.keys(observation.hashes).every(
    (name) =>
      // A record may name fewer values than others of its call.
      name === knownField ||
      isSameHash(own(row.versions, name)?.[2], observation.hashes[name]) ||
      isDeepStrictEqual(row.document?.value(name), observation.fields.value(name)),
  );

const lower = (a: number | null, b: number): number => (a === null ? b : Math.min(a, b));
const higher = (a: number | null, b: number): number => (a === null ? b : Math.max(a, b));

const nullHash = hashJson('null');

/** Null is as good as absent. */
const kindOf = (before: FieldVersion | undefined, hashed: string | undefined): ChangeKind => {
  if (before === undefined || isSameHash(before[2], nullHash)) return 'added';
  return isSameHash(hashed, nullHash) ? 'removed' : 'changed';
};

/**
 * (ledger row, observation) → ledger row. A field that the observation lacks stays. An equal value with a higher
 * order raises only the field's version, unless it is the earliest observation. A tombstone stays a tombstone.
 * @throws Error when `needsDocument` holds: the caller fetches the document first.
 */
export const fold = (row: LedgerRow, observation: PreparedObservation): LedgerRow => {
  if (row.tombstone) return row;
  const raised: [string, FieldVersion][] = [];
  const changes: string[] = [];
  for (const name of Object.keys(observation.hashes)) {
    const held = own(row.versions, name);
    const candidate = versionOf(observation, name);
    if (held !== undefined && !isHigher(candidate, held)) continue;
    // Two hashes of one value differ where its keys come in another order.
    const isSame =
      isSameHash(held?.[2], candidate[2]) ||
      (held && isDeepStrictEqual(row.document?.value(name), observation.fields.value(name)));
    if (!isSame) changes.push(name);
    raised.push([name, candidate]);
  }
  const seen = {
    versions: { ...row.versions, ...Object.fromEntries(raised) },
    firstSeenAt: lower(row.firstSeenAt, observation.observedAt),
    lastSeenAt: higher(row.lastSeenAt, observation.observedAt),
    seenBy: {
      ...row.seenBy,
      [observation.source]: lower(row.seenBy[observation.source] ?? null, observation.observedAt),
    },
  };
  const found =
    row.sourceDeletedAt !== null && observation.source === 'poll' && observation.observedAt > row.sourceDeletedAt;
  if (changes.length === 0 && row.revision > 0 && !found && !isEarlier(row, observation)) return { ...row, ...seen };

  if (row.document === null) throw new Error('fold: the document was not fetched');
  const { names, held } = observation.fields;
  // Of most calls, the first record brings all fields.
  const brought =
    names.length === changes.length ? held : Object.fromEntries(changes.map((name) => [name, held[name]]));
  const document = row.document.with(brought);
  const revision = row.revision + 1;
  // The first revision changes nothing.
  const changed = (row.revision === 0 ? [] : changes).map((name): [string, FieldChange] => {
    const kind = kindOf(own(row.versions, name), observation.hashes[name]);
    return [name, [revision, observation.observedAt, sourceRank[observation.source], kind]];
  });
  const fieldChanges = { ...row.fieldChanges, ...Object.fromEntries(changed) };
  return {
    ...row,
    ...seen,
    fieldChanges,
    sourceDeletedAt: found ? null : row.sourceDeletedAt,
    document,
    revision,
    changedAt: higher(row.changedAt, observation.observedAt),
  };
};

/** Erasure is a fold too: nothing of the call stays but its identity, and no later observation brings it back. */
export const foldErasure = (row: LedgerRow): LedgerRow =>
  row.tombstone ? row : { ...emptyRow, callId: row.callId, revision: row.revision + 1, tombstone: true };

/**
 * The row after other rules were applied to its document; the revision rises only if they changed it. Fields keep their
 * time and rank, so newer values still win.
 * @param version of these rules; without one the row says that it is under the same as before.
 */
export const foldRules = (
  row: LedgerRow,
  sanitize: (observation: Observation) => Observation,
  version: string | null = row.rules,
): LedgerRow => {
  if (row.tombstone || row.document === null) return row;
  const held = row.document;
  const { fields, hashes } = prepareObservation(
    sanitize({ callId: row.callId, source: 'import', observedAt: 0, fields: held }),
  );
  const names = new Set([...held.names, ...fields.names]);
  // Rows of warehouses show a list of redactions that rules have passed.
  const isListShown = row.rules === null && version !== null && listsRedactions(fields.value('transcript_json'));
  if (!isListShown && [...names].every((name) => isDeepStrictEqual(held.value(name), fields.value(name))))
    return row.rules === version ? row : { ...row, rules: version };
  // Without rules a hash begins with that of the raw value, which must not stay.
  const hasOrder = row.rules !== null && row.rules !== noRules;
  const versions = Object.entries(hashes).map(([name, hashed]): [string, FieldVersion] => {
    const [at = 0, rank = 0, before] = own(row.versions, name) ?? [];
    return [name, [at, rank, placeHash(hashed, hasOrder ? before?.slice(0, orderLength) : undefined)]];
  });
  const after = { versions: Object.fromEntries(versions), document: fields, revision: row.revision + 1 };
  return { ...row, ...after, rules: version };
};

const listsRedactions = (transcript: unknown): boolean => isObject(transcript) && redactionsField in transcript;

/** A document as JSON, by default its fields in name order, so that equal documents read the same. */
export const renderDocument = (document: JsonRecord, names: readonly string[] = document.names.sort()): Buffer => {
  const parts: Buffer[] = [];
  let text = '{';
  for (const name of names) {
    const value = document.json(name) ?? JSON.stringify(document.held[name]);
    text += `${name === names[0] ? '' : ','}${JSON.stringify(name)}:`;
    if (typeof value === 'string') text += value;
    else {
      parts.push(Buffer.from(text), value);
      text = '';
    }
  }
  return Buffer.concat([...parts, Buffer.from(`${text}}`)]);
};

// Call and time of a record that becomes an observation. All times in microseconds since the epoch.

type Identified = { readonly callId: string; readonly record: JsonRecord } | { readonly reason: string };

/** A delivery id is taken for a time only this close to its arrival, or as close as the allowed skew where that is more. */
const deliveryTimeTolerance = 15 * 60 * 1_000_000;

/** A number below this one counts something else than seconds since 1970. */
const earliestDeliveryTime = Date.UTC(2000, 0) * 1_000;

/** The identity of a record, or why it cannot be stored and belongs in quarantine. */
export const identifyRecord = (value: unknown): Identified => {
  const record = JsonRecord.of(value);
  if (record === undefined) return { reason: 'not a JSON object' };
  const id = record.value('unique_id');
  if (id === undefined) return { reason: 'unique_id is absent' };
  if (typeof id !== 'string')
    return { reason: `unique_id is ${id === null ? 'null' : `of type ${typeof id}`}, not text` };
  if (id.trim() === '') return { reason: 'unique_id is empty' };
  if (id.length > maxCallIdLength) return { reason: `unique_id is longer than ${maxCallIdLength} characters` };
  if (cleanText(id) !== id) return { reason: 'unique_id has characters that cannot be stored' };
  // A field that is bytes is shallow.
  const isTooDeep = (held: unknown) => !Buffer.isBuffer(held) && isDeeper(held, maxJsonDepth - 1);
  if (Object.values(record.held).some(isTooDeep))
    return { reason: `the record nests deeper than ${maxJsonDepth} levels` };
  return { callId: id, record };
};

/** Written for speed: it visits every value of every record. */
const isDeeper = (value: unknown, depth: number): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  if (Array.isArray(value)) {
    for (const child of value) if (isDeeper(child, depth - 1)) return true;
    return false;
  }
  for (const name in value) if (isDeeper((value as Record<string, unknown>)[name], depth - 1)) return true;
  return false;
};

/**
 * The record of a webhook delivery, as of the delivery id (a decimal number of seconds, interface §4.3), up to
 * the arrival plus the skew. If the id is before 2000, or ahead by more than 15 minutes (or the skew, if longer), the
 * arrival counts. An old id keeps its time, so that a late delivery replaces nothing newer. The id is not under the
 * signature, so it orders and never authenticates.
 * @param clockSkew how far the service's clock may be ahead (`sync.clock_skew`).
 * `isLate` = the delivery says that it is older than any delay explains: it may have been captured, and the API is to
 * be asked.
 */
export const observeDelivery = (record: unknown, deliveryId: string | null, arrivedAt: number, clockSkew: number) => {
  const identified = identifyRecord(record);
  if ('reason' in identified) return identified;
  const { observedAt, isLate } = timeOfDelivery(deliveryId, arrivedAt, clockSkew);
  const { callId, record: fields } = identified;
  return { observation: { callId, source: 'webhook', observedAt, fields } satisfies Observation, isLate };
};

const timeOfDelivery = (deliveryId: string | null, arrivedAt: number, clockSkew: number) => {
  const seconds = deliveryId !== null && /^\d{1,12}(\.\d{1,12})?$/.test(deliveryId) ? Number(deliveryId) : Number.NaN;
  const at = Math.floor(seconds * 1_000_000);
  const tolerance = Math.max(deliveryTimeTolerance, clockSkew);
  if (!(at >= earliestDeliveryTime && at <= arrivedAt + tolerance)) return { observedAt: arrivedAt, isLate: false };
  return { observedAt: Math.min(at, arrivedAt + clockSkew), isLate: at < arrivedAt - tolerance };
};

/**
 * observed_at of an imported record: the given time, else the end of its processing, else its own timestamp. Never the
 * present, because an old file must not replace newer values. Undefined if there is no time, or only future ones.
 */
export const importObservedAt = (
  record: JsonRecord,
  rules: {
    readonly processedField: string;
    readonly now: number;
    readonly given?: number | undefined;
    readonly clockSkew: number;
  },
): number | undefined => {
  if (rules.given !== undefined) return rules.given;
  for (const path of [rules.processedField, 'timestamp']) {
    const at = parseTimestamp(record.at(path));
    if (at !== undefined && at <= rules.now + rules.clockSkew) return at;
  }
  return undefined;
};
