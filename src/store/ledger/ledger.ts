/** The ledger: one row per call. Row locks in key order serialise changes; `revision` numbers them. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import type { CallDocument } from '../../../schemas/call.ts';
import type { Observation, ObservationSource } from '../../../schemas/observation.ts';
import type { FieldVersion, LedgerRow, PreparedObservation } from '../../calls/fold.ts';
import {
  emptyRow,
  fold,
  foldErasure,
  foldRules,
  isHigher,
  namesOthers,
  needsDocument,
  noRules,
  prepareObservation,
  renderDocument,
} from '../../calls/fold.ts';
import { joinKnown, knownField, listUnread } from '../../calls/own-fields.ts';
import { type CallsyncError, transient } from '../../lib/errors.ts';
import { JsonRecord, readRecord } from '../../lib/json-record.ts';
import { readPages } from '../../lib/pages.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import { BinaryCopyWriter, type CopiedFields, copyWriters } from '../../postgres/binary-copy.ts';
import type { Queryable, Sql, Transaction } from '../../postgres/database.ts';
import { raw, sql, toMicros, toTimestamp, unnest } from '../../postgres/database.ts';
import type { SubjectIndex } from '../store.ts';

/** A quarter of the size, in half the time that deflate takes for it. */
const packing = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 0, [zlib.constants.BROTLI_PARAM_LGWIN]: 18 } };
/** Begins a Brotli body. No raw deflate begins with it: an earlier version wrote those. */
const brotliMark = Buffer.from([0b110]);
/** Packed in some 2 ms; then others have their turn. A trip to a thread takes as long as a usual document. */
const turnBytes = 512 * 1024;
const packOnThread = promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliCompress);

/** The JSON of a document as `ledger_documents` holds it. @throws Error of zlib for other bytes */
export const unpackDocument = (body: Buffer): Buffer =>
  body[0] === brotliMark[0] ? zlib.brotliDecompressSync(body.subarray(1)) : zlib.inflateRawSync(body);

const digestOf = (callId: string, body: Buffer): Buffer =>
  createHash('sha256').update(callId).update(body).digest().subarray(0, 16);

interface StoredDocument {
  readonly callId: string;
  readonly body?: Buffer | null;
  /** Null where an earlier version wrote the document. */
  readonly digest?: Buffer | null;
}

/** The JSON of a stored document; undefined if it is not there, or is not the one that was stored of this call. */
const readIntact = ({ callId, body, digest }: StoredDocument): Buffer | undefined => {
  if (body == null || (digest != null && !digest.equals(digestOf(callId, body)))) return undefined;
  try {
    return unpackDocument(body);
  } catch {
    return undefined;
  }
};

/** For readers to whom a call without its document is of no use. */
export const documentLost = (callId: string): CallsyncError =>
  transient('LEDGER_DAMAGED', `The ledger has lost the document of call ${callId}, or somebody altered it.`);

const packDocuments = async (rows: readonly LedgerRow[]): Promise<readonly Buffer[]> => {
  const bodies: Buffer[] = [];
  let bytes = 0;
  for (const row of rows) {
    const document = renderDocument(row.document ?? new JsonRecord());
    bytes += document.length;
    if (bytes > turnBytes) {
      await setImmediate();
      bytes = document.length;
    }
    const isLong = document.length > turnBytes;
    const packed = isLong ? await packOnThread(document, packing) : zlib.brotliCompressSync(document, packing);
    bodies.push(Buffer.concat([brotliMark, packed]));
  }
  return bodies;
};

const sources: readonly ObservationSource[] = ['webhook', 'poll', 'import'];

/** As `StoredLedgerRow` names them; `revision` comes behind them. */
const ledgerColumns = sql`l.call_id AS "callId", l.tombstone, l.fields AS versions,
  ${toMicros('l.confirmed_at')} AS "confirmedAt", l.confirmed_rank AS "confirmedRank",
  coalesce(l.field_changes, '{}') AS "fieldChanges", ${toMicros('l.first_seen_at')} AS "firstSeenAt",
  ${toMicros('l.last_seen_at')} AS "lastSeenAt", ${toMicros('l.changed_at')} AS "changedAt",
  ${toMicros('l.source_deleted_at')} AS "sourceDeletedAt", l.privacy_version AS rules,
  jsonb_strip_nulls(jsonb_build_object(${raw(sources.map((source) => `'${source}', ${toMicros(`l.${source}_at`)}`).join(', '))})) AS "seenBy"`;

/** SQL of a revision. Where somebody else set it to the limit of the table, half of that: still above all warehouses. */
export const lowered = raw('CASE WHEN l.revision < 2000000000 THEN l.revision ELSE 1000000000 END');

type StoredLedgerRow = Omit<LedgerRow, 'document'> &
  Readonly<Record<'confirmedAt' | 'confirmedRank', number | null>> &
  StoredDocument;

/** By field, without what somebody else wrote. @param third kind of the third value, behind two numbers */
const entriesOf = <T extends readonly unknown[]>(stored: Readonly<Record<string, T>>, third: 'string' | 'number') =>
  Object.entries(stored ?? {}).filter(
    ([, own]) =>
      Array.isArray(own) && typeof own[0] === 'number' && typeof own[1] === 'number' && typeof own[2] === third,
  );

/** A stored row as fold reads it; the document only when `body` was fetched, its large fields as bytes until they are read. */
const readLedgerRow = ({ body, digest, confirmedAt, confirmedRank, ...stored }: StoredLedgerRow): LedgerRow => {
  const none = new JsonRecord();
  if (stored.revision === 0) return { ...stored, versions: {}, document: none };
  const versions = entriesOf(stored.versions, 'string').map(([name, own]): [string, FieldVersion] => {
    const again = confirmedAt === null ? own : ([confirmedAt, confirmedRank ?? 0, own[2]] as const);
    // Workers of an earlier build write newer versions, and leave the two columns as they are.
    return [name, isHigher(again, own) ? again : own];
  });
  const fieldChanges = Object.fromEntries(entriesOf(stored.fieldChanges, 'number'));
  const row = { ...stored, versions: Object.fromEntries(versions), fieldChanges };
  if (row.tombstone) return { ...row, document: none };
  const bytes = readIntact({ callId: row.callId, body, digest });
  return { ...row, document: bytes === undefined ? null : (readRecord(bytes).value as JsonRecord) };
};

/** The version of every field, where one record said them all again; undefined otherwise. @param before the row as it is stored */
const confirmationOf = ({ versions }: LedgerRow, before: LedgerRow | undefined) => {
  const names = Object.keys(versions);
  const first = versions[names[0] ?? ''];
  const isAgain = names.every((name) => {
    // In no pattern, which would make objects of each version: all versions of all calls pass here.
    const own = versions[name] as FieldVersion;
    return own[0] === first?.[0] && own[1] === first[1] && own[2] === before?.versions[name]?.[2];
  });
  return isAgain && names.length === Object.keys(before?.versions ?? {}).length ? first : undefined;
};

/** Version of the privacy rules of the observations. */
type FoldedRules = { readonly sanitize: (observation: Observation) => Observation; readonly version: string };

interface FoldedLedger {
  readonly processedField: string;
  /** Calls that become tombstones unless the ledger knows them, as the gate says. */
  readonly tombstoned: ReadonlySet<string>;
  readonly privacy?: FoldedRules | undefined;
  readonly index?: SubjectIndex | undefined;
  /** Told, before anything is written, of calls whose loss nobody had seen: their next record has all that is known of them. */
  readonly onLost?: (callIds: readonly string[]) => Promise<void>;
}

type Observed = ReadonlyMap<string, readonly PreparedObservation[]>;

/**
 * Folds observations into the ledger inside the caller's transaction. Several observations of one call are folded in
 * their order. Inserts unknown calls, then locks the others, each in key order; fetches only the documents that may
 * change. A call that was erased before this ledger knew it becomes a tombstone. A document that is under other privacy
 * rules is brought under the present ones first: an older worker may have left it.
 */
export const foldIntoLedger = async (
  tx: Transaction,
  observations: readonly PreparedObservation[],
  rules: FoldedLedger,
) => {
  const byCall = new Map<string, PreparedObservation[]>();
  for (const one of observations) byCall.set(one.callId, [...(byCall.get(one.callId) ?? []), one]);
  const inserted = await insertUnknown(tx, byCall, rules);
  const others = [...byCall.keys()].filter((id) => !inserted.has(id));
  const before = await lockKnown(tx, others);
  const rows = new Map(before);
  const { privacy } = rules;
  const isOlder = (row: LedgerRow): boolean =>
    privacy !== undefined && row.revision > 0 && !row.tombstone && row.rules !== privacy.version;
  const wanted = [...rows].flatMap(([id, row]) => {
    const list = byCall.get(id) ?? [];
    return isOlder(row) || list.some((one) => needsDocument(row, one) || (privacy && namesOthers(row, one))) ? id : [];
  });
  await fetchDocuments(tx, rows, wanted);
  // Nothing of a lost document counts: the record that needs it writes all of its own values.
  const lost = new Set(wanted.filter((id) => rowOf(rows, id).document === null));
  const unnoted = [...lost].filter((id) => Object.keys(rowOf(rows, id).versions).length > 0);
  if (unnoted.length > 0) await rules.onLost?.(unnoted);
  for (const id of lost) rows.set(id, { ...rowOf(rows, id), versions: {}, document: new JsonRecord() });
  for (const [id, row] of rows)
    if (privacy !== undefined && isOlder(row)) rows.set(id, foldRules(row, privacy.sanitize, privacy.version));
  const moved = foldCalls(rows, byCall, rules)
    .filter((row) => row.versions !== before.get(row.callId)?.versions)
    .map((row) => (lost.has(row.callId) ? { ...row, fieldChanges: rowOf(rows, row.callId).fieldChanges } : row));
  await updateRows(tx, moved, rules.processedField, before);
  const known = moved.filter((row) => row.revision !== before.get(row.callId)?.revision);
  const replaced = known.map((row) => rowOf(rows, row.callId)).filter((row) => row.revision > 0);
  const changed = [...inserted.values(), ...known];
  const alive = changed.filter((row) => !row.tombstone);
  await writeDocuments(tx, alive, replaced, rules.index);
  return {
    /** Rows whose document changed, with the document. */
    changed,
    /** Rows of known calls before the fold. */
    replaced,
    unchanged: byCall.size - changed.length,
  };
};

const foldCalls = (rows: ReadonlyMap<string, LedgerRow>, byCall: Observed, { tombstoned, privacy }: FoldedLedger) =>
  Array.from(rows, ([id, found]) => {
    const row = found.revision === 0 && tombstoned.has(id) ? foldErasure(found) : found;
    const list = byCall.get(id) ?? [];
    const shared = privacy === undefined ? { row, list } : shareKnown(row, list, privacy);
    return noteRules(shared.list.reduce(fold, shared.row), row, privacy?.version);
  });

/** Most calls of a backfill are unknown: each row is written once. Another writer may be faster; his rows are known then. */
const insertUnknown = async (
  tx: Transaction,
  byCall: Observed,
  rules: FoldedLedger,
): Promise<Map<string, LedgerRow>> => {
  const ids = [...byCall.keys()];
  const known = new Set(await tx.column<string>`SELECT call_id FROM ledger WHERE call_id = ANY(${ids})`);
  const unknown = ids.filter((id) => !known.has(id)).map((callId) => [callId, { ...emptyRow, callId }] as const);
  const rows = foldCalls(new Map(unknown), byCall, rules);
  if (!(await copyRows(tx, rows, rules.processedField))) return await insertUnknown(tx, byCall, rules);
  return new Map(rows.map((row) => [row.callId, row]));
};

/** Turns calls into tombstones inside the caller's transaction; unknown calls get one too. Documents are deleted. */
export const eraseFromLedger = async (tx: Transaction, callIds: readonly string[]): Promise<LedgerRow[]> => {
  const changed = [...(await lockRows(tx, callIds)).values()].filter((row) => !row.tombstone).map(foldErasure);
  await updateRows(tx, changed, 'qualified');
  await tx.query`DELETE FROM ledger_documents WHERE call_id = ANY(${changed.map(({ callId }) => callId)})`;
  return changed;
};

/** The records of a call after the rules on the values that any of them names. */
const shareKnown = (row: LedgerRow, list: readonly PreparedObservation[], { sanitize, version }: FoldedRules) => {
  const known = joinKnown(
    ...[row.document, ...list.map(({ fields }) => fields)].map((fields) => fields?.value(knownField)),
  );
  const { document } = row;
  return {
    row:
      document && row.revision > 0 && lacks(document, known)
        ? foldRules({ ...row, document: document.with({ [knownField]: known }) }, sanitize, version)
        : row,
    list: list.map((one) => withKnown(one, known, sanitize)),
  };
};

const lacks = (fields: JsonRecord, known: readonly unknown[]): boolean =>
  known.length > joinKnown(fields.value(knownField)).length;

/** A record after the rules on values that others of its call name. */
export const withKnown = (one: PreparedObservation, known: readonly unknown[], sanitize: FoldedRules['sanitize']) =>
  lacks(one.fields, known)
    ? prepareObservation(sanitize({ ...one, fields: one.fields.with({ [knownField]: known }) }))
    : one;

/** A record that came in without rules has no version, and neither has its document. */
const noteRules = (row: LedgerRow, before: LedgerRow, version: string | undefined): LedgerRow => {
  if (row.tombstone) return row;
  if (version !== undefined) return { ...row, rules: version };
  return before.rules !== null && row.revision !== before.revision ? { ...row, rules: noRules } : row;
};

/**
 * Applies other rules to calls inside the caller's transaction; returns those that changed, with a higher revision.
 * @param rules.version calls that are under these rules are passed over; without one none are, and their version stays.
 */
export const resanitizeInLedger = async (
  tx: Transaction,
  callIds: readonly string[],
  rules: Pick<FoldedRules, 'sanitize'> & Partial<FoldedRules> & Pick<FoldedLedger, 'processedField' | 'index'>,
): Promise<LedgerRow[]> => {
  const rows = await lockRows(tx, callIds);
  await fetchDocuments(tx, rows, callIds);
  const rewritten = [...rows.values()].flatMap((row) => {
    const after = row.rules === rules.version ? row : foldRules(row, rules.sanitize, rules.version);
    return after === row ? [] : after;
  });
  await updateRows(tx, rewritten, rules.processedField);
  const changed = rewritten.filter((row) => row.revision !== rows.get(row.callId)?.revision);
  const before = changed.map(({ callId }) => rowOf(rows, callId));
  await writeDocuments(tx, changed, before, rules.index);
  return changed;
};

/** The ledger's rows of these calls, without their documents and without locks. */
export const readHeads = (db: Queryable, callIds: readonly string[]): Promise<ReadonlyMap<string, LedgerRow>> =>
  select(db, sql`l.revision FROM ledger l WHERE call_id = ANY(${callIds}) AND revision > 0`);

/** Known calls among the given ones, and whether each is in the range of call time and not erased. */
export const findInLedger = async (
  db: Queryable,
  calls: readonly { readonly callId: string }[],
  range: { readonly from: number; readonly to: number },
): Promise<ReadonlyMap<string, boolean>> => {
  const rows = await db.query<{ id: string; isHere: boolean }>`
      SELECT call_id AS id, NOT tombstone AND coalesce(call_timestamp >= ${toTimestamp(range.from)} AND call_timestamp < ${toTimestamp(range.to)}, false) AS "isHere"
       FROM ledger WHERE call_id = ANY(${calls.map(({ callId }) => callId)}) AND revision > 0`;
  return new Map(rows.map(({ id, isHere }) => [id, isHere]));
};

/** Calls that the ledger has in a lower revision, or not at all. */
export const olderInLedger = async (
  db: Queryable,
  calls: readonly { readonly callId: string; readonly revision: number }[],
): Promise<string[]> =>
  await db.column`SELECT "callId" FROM ${unnest(calls, { callId: 'text', revision: 'int' })} LEFT JOIN ledger l ON l.call_id = "callId"
      WHERE coalesce(l.revision, 0) < u.revision AND l.tombstone IS NOT TRUE`;

/** Rows with their documents. */
export const readRows = (db: Queryable, callIds: readonly string[]): Promise<ReadonlyMap<string, LedgerRow>> => {
  const known = sql`l.call_id = ANY(${callIds}) AND l.revision > 0`;
  // A document of another revision is that of a table that was set back alone.
  const whole = sql`LEFT JOIN ledger_documents d ON d.call_id = l.call_id AND d.revision = l.revision`;
  return select(db, sql`l.revision, d.body, d.digest FROM ledger l ${whole} WHERE ${known}`);
};

/** Documents only, undefined where lost, in the order of the statement, without the registers of their fields. @param where condition on `ledger_documents` */
export const readDocuments = async (db: Queryable, where: Sql) => {
  const rows = await db.query<StoredDocument & { readonly revision: number }>`
      SELECT call_id AS "callId", revision, body, digest FROM ledger_documents WHERE ${where}`;
  return rows.map((row) => {
    const bytes = readIntact(row);
    // On this thread: a trip to another one costs more than most documents.
    const document = bytes && (JSON.parse(bytes.toString('utf8')) as CallDocument);
    return { callId: row.callId, revision: row.revision, document };
  });
};

/** Documents in memory at once. */
const documentsAtOnce = 200;

/** The same in key order, page by page. */
export const readDocumentPages = (db: Queryable, where = sql`true`) =>
  readPages<Awaited<ReturnType<typeof readDocuments>>[number]>(documentsAtOnce, (last) => {
    const after = sql`call_id > ${last?.callId ?? ''} AND ${where}`;
    return readDocuments(db, sql`${after} ORDER BY call_id LIMIT ${documentsAtOnce}`);
  });

/** @param rest of the statement, behind the columns of `ledger l` */
const select = async (db: Queryable, rest: Sql): Promise<Map<string, LedgerRow>> => {
  const rows = await db.query<StoredLedgerRow>`SELECT ${ledgerColumns}, ${rest}`;
  return new Map(rows.map((row) => [row.callId, readLedgerRow(row)]));
};

const rowOf = (rows: ReadonlyMap<string, LedgerRow>, id: string): LedgerRow => {
  const row = rows.get(id);
  if (row === undefined) throw new Error('ledger row was not locked');
  return row;
};

/** Of calls that have a row: none is ever deleted. */
const lockKnown = async (tx: Transaction, ids: readonly string[]): Promise<Map<string, LedgerRow>> => {
  if (ids.length === 0) return new Map();
  return select(tx, sql`${lowered} AS revision FROM ledger l WHERE call_id = ANY(${ids}) ORDER BY call_id FOR UPDATE`);
};

const lockRows = async (tx: Transaction, ids: readonly string[]): Promise<Map<string, LedgerRow>> => {
  await claimCalls(tx, ids);
  return await lockKnown(tx, ids);
};

const fetchDocuments = async (tx: Transaction, rows: Map<string, LedgerRow>, ids: readonly string[]): Promise<void> => {
  if (ids.length === 0) return;
  for (const { callId, revision, document } of await readDocuments(tx, sql`call_id = ANY(${ids})`)) {
    const row = rowOf(rows, callId);
    if (document !== undefined && row.revision === revision)
      rows.set(callId, { ...row, document: new JsonRecord(document) });
  }
};

/** In statements. */
const sentTypes = { int: 'int', bool: 'bool', json: 'text', text: 'text', timestamp: 'float8' };

/**
 * Columns of `ledger` with their names and types in `writtenRows`. Call and processing time change only with the document. Where a
 * record says all values again, as most that are read again do, its instant stands once beside the versions.
 */
const columnsWritten = [
  ['revision', 'revision', 'int'],
  ['tombstone', 'tombstone', 'bool'],
  ['fields', 'versions', 'json', 'unlessConfirmed'],
  ['confirmed_at', 'confirmedAt', 'timestamp', 'ofSighting'],
  ['confirmed_rank', 'confirmedRank', 'int', 'ofSighting'],
  ['field_changes', 'changes', 'json'],
  ['call_timestamp', 'timestamp', 'timestamp', 'ofDocument'],
  ['processed_at', 'processed', 'timestamp', 'ofDocument'],
  ['first_seen_at', 'firstSeenAt', 'timestamp', 'ofSighting'],
  ['last_seen_at', 'lastSeenAt', 'timestamp', 'ofSighting'],
  ['changed_at', 'changedAt', 'timestamp'],
  ...sources.map((source) => [`${source}_at`, source, 'timestamp', 'ofSighting'] as const),
  ['source_deleted_at', 'sourceDeletedAt', 'timestamp'],
  ['privacy_version', 'rules', 'text'],
] as const;

const writtenRows = (rows: readonly LedgerRow[], processedField: string, before?: ReadonlyMap<string, LedgerRow>) =>
  rows.map((row) => {
    const confirmed = confirmationOf(row, before?.get(row.callId));
    return {
      ...row,
      ...row.seenBy,
      versions: confirmed === undefined ? JSON.stringify(row.versions) : null,
      confirmedAt: confirmed?.[0],
      confirmedRank: confirmed?.[1],
      hasDocument: row.document !== null,
      timestamp: parseTimestamp(row.document?.at('timestamp')),
      processed: parseTimestamp(row.document?.at(processedField)),
      changes: Object.keys(row.fieldChanges).length === 0 ? null : JSON.stringify(row.fieldChanges),
    };
  });

/** Where a record says all values again, the others stay as they are. */
const confirmedColumns = columnsWritten.filter(([, , , kept]) => kept === 'ofSighting');

/** @param before the rows as they are stored; without them every column is written. */
const updateRows = async (
  tx: Transaction,
  rows: readonly LedgerRow[],
  processedField: string,
  before?: ReadonlyMap<string, LedgerRow>,
): Promise<void> => {
  const isConfirmed = ({ callId, versions, revision, rules }: (typeof all)[number]): boolean =>
    versions === null && revision === before?.get(callId)?.revision && rules === before.get(callId)?.rules;
  const all = writtenRows(rows, processedField, before);
  for (const columns of [confirmedColumns, columnsWritten]) {
    const part = all.filter((row) => isConfirmed(row) === (columns === confirmedColumns));
    if (part.length === 0) continue;
    const set = columns.map(([column, name, type, kept]) => {
      const value =
        type === 'timestamp' ? toTimestamp(`u."${name}"`) : `u."${name}"${type === 'json' ? '::jsonb' : ''}`;
      if (kept === 'unlessConfirmed') return `${column} = coalesce(${value}, l.${column})`;
      return kept === 'ofDocument'
        ? `${column} = CASE WHEN "hasDocument" THEN ${value} ELSE l.${column} END`
        : `${column} = ${value}`;
    });
    const types = Object.fromEntries(columns.map(([, name, type]) => [name, sentTypes[type]]));
    const written = unnest(part, { callId: 'text', hasDocument: 'bool', ...types });
    await tx.query`UPDATE ledger l SET ${raw(set.join(', '))} FROM ${written} WHERE l.call_id = "callId"`;
  }
};

const copied: CopiedFields = {
  count: columnsWritten.length + 1,
  names: ['callId', ...columnsWritten.map(([, name]) => name)],
  steps: [copyWriters.text, ...columnsWritten.map(([, , type]) => copyWriters[type])],
};

const uniqueViolation = '23505';

/** In key order. False if another writer has inserted one of them: nothing is then written. */
const copyRows = async (tx: Transaction, rows: readonly LedgerRow[], processedField: string): Promise<boolean> => {
  if (rows.length === 0) return true;
  const writer = new BinaryCopyWriter();
  const sorted = [...rows].sort((a, b) => Buffer.compare(Buffer.from(a.callId), Buffer.from(b.callId)));
  for (const row of writtenRows(sorted, processedField)) writer.fields(row, copied);
  await tx.query('SAVEPOINT unknown');
  const target = `ledger (call_id, ${columnsWritten.map(([column]) => column).join(', ')})`;
  try {
    await writer.send(tx.client, target);
    return true;
  } catch (error) {
    if ((error as { readonly code?: string }).code !== uniqueViolation) throw error;
    await tx.query('ROLLBACK TO unknown');
    return false;
  }
};

/** Utterances that rules replaced unread. Nearly no transcript is parsed for it. */
const sumUnread = (rows: readonly LedgerRow[]): number =>
  rows.flatMap(({ document, rules }) => {
    const mayHave = rules !== null && document?.json('transcript_json')?.includes('"unread"') !== false;
    return mayHave ? listUnread(document?.value('transcript_json')) : [];
  }).length;

/** Unknown subjects are listed only on request. */
const writeDocuments = async (
  tx: Transaction,
  rows: readonly LedgerRow[],
  replaced: readonly LedgerRow[],
  index: SubjectIndex | undefined,
): Promise<void> => {
  if (rows.length === 0) return;
  const unread = sumUnread(rows) - sumUnread(replaced);
  if (unread > 0) await tx.query`INSERT INTO counters VALUES ('unread', ${unread})`;
  // Also of calls that are new: somebody may have deleted their rows of the ledger alone.
  await tx.query`DELETE FROM ledger_documents WHERE call_id = ANY(${rows.map(({ callId }) => callId)})`;
  const bodies = await packDocuments(rows);
  const subjects = rows.map(({ document, rules }) => index?.whileFolded(document?.toJSON() ?? {}, rules));
  const writer = new BinaryCopyWriter();
  rows.forEach((row, at) => {
    const hashes = subjects[at];
    const body = bodies[at] as Buffer;
    writer.row(6);
    writer.text(row.callId);
    writer.int4(row.revision);
    writer.bytes(body);
    writer.bytes(digestOf(row.callId, body));
    if (index === undefined || hashes === undefined) {
      writer.null();
      writer.null();
    } else {
      writer.bytesArray(hashes);
      writer.int4(index.version);
    }
  });
  await writer.send(tx.client, 'ledger_documents (call_id, revision, body, digest, subjects, subjects_version)');
};

/**
 * Locks in key order to avoid deadlocks. Unknown calls get a row.
 * @returns the tombstones among them.
 */
export const lockCalls = async (tx: Transaction, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  await claimCalls(tx, ids);
  const rows = await tx.query<{ id: string; tombstone: boolean }>`
      SELECT call_id AS id, tombstone FROM ledger WHERE call_id = ANY(${ids}) ORDER BY call_id FOR UPDATE`;
  return new Set(rows.flatMap(({ id, tombstone }) => (tombstone ? [id] : [])));
};

/** Gives unknown calls a row, of revision 0. */
const claimCalls = async (tx: Transaction, ids: readonly string[]): Promise<void> => {
  await tx.query`INSERT INTO ledger (call_id) SELECT id FROM unnest(${ids}::text[]) AS id ORDER BY id COLLATE "C" ON CONFLICT (call_id) DO NOTHING`;
};

/**
 * Marks calls as missing since an instant (microseconds), inside the caller's transaction; their revision rises, so
 * that warehouses show it. Calls that were seen after that instant, are marked already, or are tombstones stay.
 * Returns the marked ids.
 */
export const markMissing = async (tx: Transaction, callIds: readonly string[], since: number): Promise<string[]> => {
  if (callIds.length === 0) return [];
  await tx.query`SELECT 1 FROM ledger WHERE call_id = ANY(${callIds}) ORDER BY call_id FOR UPDATE`;
  const marked = await tx.column<string>`
      UPDATE ledger l SET source_deleted_at = least(${toTimestamp(since)}, now() + interval '1 day'), revision = ${lowered} + 1
      WHERE call_id = ANY(${callIds}) AND source_deleted_at IS NULL AND NOT tombstone AND revision > 0
        AND (last_seen_at IS NULL OR last_seen_at < ${toTimestamp(since)}) RETURNING call_id`;
  await tx.query`UPDATE ledger_documents d SET revision = l.revision FROM ledger l WHERE d.call_id = l.call_id AND l.call_id = ANY(${marked})`;
  return marked;
};
