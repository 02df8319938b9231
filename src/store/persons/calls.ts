/** Finds calls by subjects, and turns them into tombstones in every part of the store. */
import type { CallDocument } from '../../../schemas/call.ts';
import { partsOf } from '../../lib/pages.ts';
import { repeatTransaction, type Sql, sql, type Transaction, unnest } from '../../postgres/database.ts';
import { lockFreeCalls, readNoted } from '../gate.ts';
import { eraseFromLedger, readDocumentPages } from '../ledger/ledger.ts';
import { isOther } from '../ledger/read-ledger.ts';
import { markPending } from '../loads/loads.ts';
import { arrayText, type Store } from '../store.ts';
import { type Withdraw, withdrawProof } from '../windows/verdicts.ts';
import { noteErased } from './keys.ts';
import type { NotePurged, Purged } from './texts.ts';
import { listTextSubjects, purgeDeliveries, purgeNamedTexts, purgeRereads } from './texts.ts';

const hashesPerStatement = 500;
/** Of one transaction: folds of them wait for its end. */
const callsAtOnce = 200;

/**
 * Reads the documents whose subjects are not known, of some calls or of all, and notes their subjects, page by page.
 * Returns the calls that no request of a person finds: their documents are lost.
 * @param onPage told of each page that was read.
 */
export const listSubjects = async (
  store: Store,
  { ids, onPage }: { readonly ids?: readonly string[]; readonly onPage?: (calls: readonly ListedCall[]) => void } = {},
): Promise<readonly string[]> => {
  const { index } = store;
  const lost: string[] = [];
  const unknown = sql`${isOther('subjects_version', index.version)} AND ${ids === undefined ? sql`true` : sql`call_id = ANY(${ids})`}`;
  for await (const read of readDocumentPages(store, unknown)) {
    const hashesOf = (document: CallDocument) => index.hashesOf(store.erasures.subjects.subjectsOf(document).all);
    const page = read.flatMap(({ document, ...call }) => (document ? { ...call, hashes: hashesOf(document) } : []));
    lost.push(...read.flatMap(({ document, callId }) => (document ? [] : callId)));
    await noteSubjects(store, page);
    onPage?.(page);
  }
  return lost;
};

type ListedCall = { readonly callId: string; readonly revision: number; readonly hashes: readonly string[] };

/** Unless they have changed since they were read. */
const noteSubjects = async (store: Store, read: readonly ListedCall[]): Promise<void> => {
  const listed = read.map(({ hashes, ...call }) => ({ ...call, subjects: arrayText(hashes) }));
  await store.transaction(async (tx) => {
    // In the order of folds, which write documents under these locks.
    await tx.query`SELECT 1 FROM ledger WHERE call_id = ANY(${read.map(({ callId }) => callId)}) ORDER BY call_id FOR UPDATE`;
    await tx.query`UPDATE ledger_documents d SET subjects = u.subjects::bytea[], subjects_version = ${store.index.version}
         FROM ${unnest(listed, { callId: 'text', revision: 'int', subjects: 'text' })}
        WHERE d.call_id = "callId" AND d.revision = u.revision`;
  });
};

/**
 * Ids of the calls with one of some subjects, by the first 8 bytes of their hashes. Calls without an index are read.
 * @param seenBefore only calls that were first seen before.
 */
export const findNamingCalls = async (store: Store, hashes: readonly string[], seenBefore?: Date) => {
  if (hashes.length === 0) return [];
  const sought = new Set(hashes);
  const found = new Set<string>();
  const ask = async (sought: readonly string[], where: (part: readonly string[]) => Sql) => {
    for (const part of partsOf(sought, hashesPerStatement)) {
      const ids = await store.column<string>`SELECT call_id AS id FROM ledger_documents JOIN ledger USING (call_id)
          WHERE ${where(part)} AND (${seenBefore}::timestamptz IS NULL OR first_seen_at < ${seenBefore})`;
      for (const id of ids) found.add(id);
    }
  };
  const askIndex = () => ask(hashes, (part) => sql`subjects && ${arrayText(part)}::bytea[]`);
  // Before and after: a fold may take a call out of the index behind the place up to which others are read.
  await askIndex();
  const listed: string[] = [];
  await listSubjects(store, {
    onPage: (calls) => {
      for (const { callId, hashes: own } of calls) if (own.some((one) => sought.has(one))) listed.push(callId);
    },
  });
  await ask(listed, (part) => sql`call_id = ANY(${part})`);
  await askIndex();
  return [...found];
};

/**
 * Erases the calls that no legal hold keeps. First, their keys go to the erasure log, outside the store. Then each
 * call, also an unknown one, becomes a tombstone, and its deliveries and rereads go. The work on the store is one
 * transaction, and no hold can be added during it. The transaction may run again, and repeats after a deadlock. After a
 * crash between log and store, the next ledger check replays the log (`check-ledger.ts`). `purgeTexts` handles texts
 * that name the calls.
 * @param note writes the counts in the transaction of each page; `calls` = calls that became tombstones just now.
 * @throws CallsyncError ERASURE_LOG, TOMBSTONE_KEY, DATABASE_…
 */
export const eraseCalls = async (
  store: Store,
  callIds: readonly string[],
  note: (tx: Transaction, buried: Purged & { readonly calls: number }) => Promise<unknown> = async () => undefined,
) => {
  for (const page of partsOf(callIds, callsAtOnce)) {
    await listHeldSubjects(store, page);
    await withdrawProof(store, async (tx, withdraw) => {
      const ids = await lockFreeCalls(tx, page, store);
      const keys = ids.map(store.keyOf);
      const entries = keys.map((call) => ({ call }));
      await store.erasures.log.append(tx, entries);
      await noteErased(tx, keys);
      await withdraw(ids);
      await note(tx, await buryCalls(tx, store, ids));
    });
  }
};

/** The same for calls whose keys are in the log already; no hold restores erased calls. */
export const eraseKnown = (store: Store, callIds: readonly string[]): Promise<unknown> =>
  withdrawProof(store, async (tx, withdraw) => {
    await noteErased(tx, callIds.map(store.keyOf));
    await withdraw(callIds);
    await buryCalls(tx, store, callIds);
  });

/** Erases calls again that the ledger has under erased keys, as where its table alone was set back. */
export const buryRevived = async (tx: Transaction, store: Store, callIds: readonly string[], withdraw: Withdraw) => {
  if (callIds.length === 0) return;
  const ids = await tx.column<string>`SELECT call_id FROM ledger WHERE call_id = ANY(${callIds}) AND NOT tombstone`;
  if (ids.length === 0) return;
  await withdraw(ids);
  await buryCalls(tx, store, ids);
};

/**
 * Removes calls beyond their age that no hold keeps, and texts that name only them. Unlike erasures, these need no
 * log, because their age is the reason. Returns the number of calls.
 */
export const expireCalls = async (store: Store, callIds: readonly string[]): Promise<number> => {
  await listTextSubjects(store);
  let expired = 0;
  for (const page of partsOf(callIds, callsAtOnce)) {
    await listHeldSubjects(store, page);
    expired += await withdrawProof(store, async (tx, withdraw) => {
      const free = await lockFreeCalls(tx, page, store);
      await withdraw(free);
      return (await buryCalls(tx, store, free, store.index.hashesOf(free))).calls;
    });
  }
  return expired;
};

/** Before a deletion: if a hold may keep calls by subject, every call must have its index. */
export const listHeldSubjects = async (store: Store, ids: readonly string[]): Promise<void> => {
  if ((await readNoted(store)).holdsLater) await listSubjects(store, { ids });
};

/** Removes data of erased calls that arrived since: deliveries and reread requests. */
export const purgeCalls = async (store: Store, callIds: readonly string[], note: NotePurged): Promise<void> =>
  await repeatTransaction(store, async (tx) => {
    const inbox = await purgeDeliveries(tx, callIds, store.keyOf);
    await note(tx, { inbox, rereads: await purgeRereads(tx, callIds) });
  });

/** Rows are locked as others lock them: those of the ledger, of deliveries, of texts, of rereads. */
const buryCalls = async (tx: Transaction, store: Store, ids: readonly string[], naming: readonly string[] = []) => {
  const erased = await eraseFromLedger(tx, ids);
  await markPending(tx, ids);
  const inbox = await purgeDeliveries(tx, ids, store.keyOf);
  const texts = naming.length === 0 ? { quarantine: 0, frames: 0 } : await purgeNamedTexts(tx, naming);
  return { calls: erased.length, inbox, ...texts, rereads: await purgeRereads(tx, ids) };
};
