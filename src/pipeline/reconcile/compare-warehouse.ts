/** Compares the ledger's calls with the rows of one warehouse. */
import { isDeepStrictEqual } from 'node:util';
import type { Range, WarehouseLevel } from '../../../schemas/orchestration.ts';
import type { Row } from '../../../schemas/tables.ts';
import { flattenCall, flattenVersion } from '../../calls/flatten.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import { findInLedger } from '../../store/ledger/ledger.ts';
import { type ExpectedCall, readExpected } from '../../store/ledger/read-ledger.ts';
import { requestRewrite } from '../../store/loads/loads.ts';
import type { Store } from '../../store/store.ts';
import { withdrawProof } from '../../store/windows/verdicts.ts';
import { contentHash } from '../../warehouse/content-hash.ts';
import type { CallDigest, CallGuard } from '../../warehouse/warehouse.ts';
import type { IngestDeps, WarehouseTarget } from '../deps.ts';
import { loadPendingBatch } from '../load/load-pending.ts';

interface ComparedCalls {
  readonly callIds: readonly string[];
  readonly level: WarehouseLevel;
  readonly range?: Range;
}

/**
 * @param range window of call time, searched for rows of unknown calls; without it there is no search.
 * @param level `guards` compares guard, content hash and number of child rows. `rows` also compares the stored
 * rows, value by value.
 * @throws CallsyncError of the store or the warehouse.
 */
export const compareWarehouse = async (deps: IngestDeps, target: WarehouseTarget, input: ComparedCalls) => {
  const { level } = input;
  const guards: Guards = new Map();
  if (input.range !== undefined) await collectGuards(target.warehouse.proof.listGuards(input.range), guards);
  const wanted = new Set(input.callIds);
  const extra = [...guards.values()].flat().filter(({ callId }) => !wanted.has(callId));
  const known =
    input.range === undefined ? new Map<string, boolean>() : await findInLedger(deps.store, extra, input.range);
  const unexpected = extra.filter(({ callId }) => !known.has(callId));
  // A row of an erased call is always wrong. A row under another day than the ledger's may be a duplicate.
  for (const [callId, isHere] of known) {
    if (isHere) continue;
    wanted.add(callId);
    guards.delete(callId);
  }

  const first = await compareIds(deps, target, { callIds: [...wanted], guards, level });
  // A load may commit between the readings of warehouse and ledger, so differing calls are read again.
  const doubtful = [...first.missing, ...first.different];
  const again = { callIds: doubtful, guards: new Map(), level };
  const second = doubtful.length === 0 ? first : await compareIds(deps, target, again);
  return {
    missing: second.missing,
    /** Another guard, another number of child rows, a row of an erased call, or a call whose document is lost. */
    different: second.different,
    /** Rows in the warehouse whose call the ledger does not know. */
    unexpected,
  };
};

/** Rows of table calls by their id: a warehouse without keys may have several. */
type Guards = Map<string, readonly CallGuard[]>;

const collectGuards = async (found: AsyncIterable<CallGuard>, guards: Guards = new Map()): Promise<Guards> => {
  for await (const guard of found) guards.set(guard.callId, [...(guards.get(guard.callId) ?? []), guard]);
  return guards;
};

const compareIds = async (deps: IngestDeps, target: WarehouseTarget, input: ComparedCalls & { guards: Guards }) => {
  const { guards } = input;
  const unlisted = input.callIds.filter((id) => !guards.has(id));
  if (unlisted.length > 0) await collectGuards(target.warehouse.proof.listGuards({ callIds: unlisted }), guards);
  const digests = input.level === 'rows' ? await readDigests(target, input.callIds, guards) : undefined;
  const isEqual = equality(deps, target, await deps.store.epoch(), digests);
  const missing = new Set<string>();
  const different = new Set<string>();
  for await (const batch of readExpected(deps.store, target.warehouse.name, input.callIds))
    for (const call of batch) {
      const { callId, tombstone, document, sourceDeletedAt } = call.row;
      const [guard, ...others] = guards.get(callId) ?? [];
      // The service no longer has a call whose document is lost: its rows may be the only copy.
      if (document === null && sourceDeletedAt !== null) continue;
      if (guard === undefined && !tombstone) missing.add(callId);
      else if (guard !== undefined && (tombstone || others.length > 0 || !isEqual(call, guard))) different.add(callId);
    }
  return { missing, different };
};

/**
 * Whether a warehouse holds a call as the ledger has it. The guard must be that of the last committed load, or that
 * of a newer pending load. Compares content hash, number of child rows and rows, as far as this version flattened
 * them.
 */
const equality =
  (
    { processedField }: IngestDeps,
    { documents, warehouse }: WarehouseTarget,
    epoch: number,
    digests: ReadonlyMap<string, CallDigest> | undefined,
  ) =>
  ({ row, applied }: ExpectedCall, guard: CallGuard): boolean => {
    if (row.document === null) return false;
    const isSettled = applied !== undefined && !applied.pending && applied.revision === row.revision;
    const expected = isSettled ? applied : { epoch, revision: row.revision, flattenVersion };
    if (guard.epoch !== expected.epoch || guard.revision !== expected.revision) return false;
    if (guard.flattenVersion !== expected.flattenVersion) return false;
    if (expected.flattenVersion !== flattenVersion) return true;
    const { rows, callTimestamp } = flattenCall(row, { processedField, documents });
    if (guard.contentHash !== contentHash(rows)) return false;
    if (guard.callTimestamp !== callTimestamp) return false;
    const tables: Readonly<Record<string, readonly Row[]>> = rows;
    if (Object.entries(guard.childRows).some(([table, count]) => (tables[table]?.length ?? count) !== count))
      return false;
    return (
      digests === undefined || isDeepStrictEqual(digests.get(row.callId), warehouse.proof.digestOf(row.callId, rows))
    );
  };

/** Digests of the rows that the warehouse has, by call id. */
const readDigests = async (target: WarehouseTarget, callIds: readonly string[], guards: Guards) => {
  const present = callIds.flatMap((id) => guards.get(id) ?? []);
  const { warehouse } = target;
  const partitions = present.map(({ callTimestamp }) => warehouse.traits.partitionOf(callTimestamp));
  // A warehouse without partitions has none to name.
  const dates = new Set(partitions.filter((one) => one !== undefined));
  const digests = new Map<string, CallDigest>();
  const ids = present.map(({ callId }) => callId);
  for await (const digest of warehouse.proof.digestCalls(ids, dates)) digests.set(digest.callId, digest);
  return digests;
};

// Repairs the rows of one warehouse from the ledger, after a comparison.

/** Most loads for one window. If calls are still pending then, the verdict is unproven and the sweep loads them. */
const maxLoads = 200;

/**
 * Loads missing, different and newly folded calls; returns the ids that still differ.
 * @throws CallsyncError of the store or the warehouse.
 */
export const healWarehouse = async (
  deps: IngestDeps,
  target: WarehouseTarget,
  work: {
    readonly comparison: Awaited<ReturnType<typeof compareWarehouse>>;
    readonly touched: ReadonlySet<string>;
    readonly level: WarehouseLevel;
  },
): Promise<ReadonlySet<string>> => {
  const { comparison, touched, level } = work;
  const wrong = [...comparison.missing, ...comparison.different];
  const check = [...new Set([...wrong, ...touched])];
  if (check.length === 0) return new Set();
  if (wrong.length > 0) await removeIrreplaceable(deps, target, wrong);
  await sendRowsAgain(deps.store, target.warehouse.name, wrong);
  for (let loads = 0; loads < maxLoads; loads += 1) {
    const loaded = await loadPendingBatch(deps, target, { origin: 'reconcile', graceSeconds: 0 });
    if (loaded === undefined || loaded.isLast) break;
  }
  // A load replaces rows only in the partition that the ledger recorded. Rows that were moved by hand would stay as
  // duplicates.
  if (target.warehouse.traits.partitionOf(null) !== undefined && wrong.length > 0)
    await target.warehouse.proof.removeOrphans(wrong);
  const after = await compareWarehouse(deps, target, { callIds: check, level });
  return new Set([...after.missing, ...after.different]);
};

/** Has the rows of some calls written again, of whose days nothing is proven until they are compared again. */
export const sendRowsAgain = async (store: Store, warehouse: string, callIds: readonly string[]): Promise<void> => {
  if (callIds.length === 0) return;
  await withdrawProof(store, async (tx, withdraw) => {
    await withdraw(callIds, warehouse);
    await requestRewrite(tx, warehouse, callIds);
  });
};

/**
 * Removes rows of `calls` that a load would leave: in partitions to which the ledger did not send them, and of a higher
 * guard. The guards are read first, so that a load under way cannot be ahead of the ledger.
 */
const removeIrreplaceable = async ({ store }: IngestDeps, { warehouse }: WarehouseTarget, ids: readonly string[]) => {
  const guards = await collectGuards(warehouse.proof.listGuards({ callIds: ids }));
  const epoch = await store.epoch();
  const found: CallGuard[] = [];
  for await (const batch of readExpected(store, warehouse.name, ids))
    for (const { row, applied } of batch) {
      if (row.document === null) continue;
      const partition = warehouse.traits.partitionOf(parseTimestamp(row.document.value('timestamp')) ?? null);
      // Newer workers may flatten otherwise.
      const highest = [epoch, row.revision, Math.max(flattenVersion, applied?.flattenVersion ?? 0)];
      for (const guard of guards.get(row.callId) ?? [])
        if (
          warehouse.traits.partitionOf(guard.callTimestamp) !== partition ||
          isAbove([guard.epoch, guard.revision, guard.flattenVersion], highest)
        )
          found.push(guard);
    }
  if (found.length > 0) await warehouse.proof.removeCalls(found, { keepsChanges: true });
};

/** In the order of guards: the first parts that differ decide. */
const isAbove = (left: readonly number[], right: readonly number[]): boolean => {
  const at = left.findIndex((part, index) => part !== right[index]);
  return at >= 0 && (left[at] ?? 0) > (right[at] ?? 0);
};
