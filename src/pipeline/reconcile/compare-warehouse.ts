/** Compares the ledger's calls with the rows of one warehouse. */
import { isDeepStrictEqual } from 'node:util';
import type { Range, WarehouseLevel } from '../../../schemas/orchestration.ts';
import type { Row } from '../../../schemas/tables.ts';
import { flattenCall, flattenVersion } from '../../calls/flatten.ts';
import { findInLedger } from '../../store/ledger/ledger.ts';
import { type ExpectedCall, readExpected } from '../../store/ledger/read-ledger.ts';
import { contentHash } from '../../warehouse/digest.ts';
import type { CallDigest, CallGuard } from '../../warehouse/warehouse.ts';
import type { IngestDeps, WarehouseTarget } from '../deps.ts';

interface ComparedCalls {
  readonly callIds: readonly string[];
  readonly level: WarehouseLevel;
  readonly range?: Range;
  readonly alive: () => void;
}

/**
 * @param range window of call time, searched for rows of unknown calls; without it there is no search.
 * @param level `guards` compares guard, content hash and number of child rows. `rows` also compares the digest of the
 * rows, computed in the warehouse.
 * @throws CallsyncError of the store or the warehouse.
 */
export const compareWarehouse = async (deps: IngestDeps, target: WarehouseTarget, input: ComparedCalls) => {
  const { level, alive } = input;
  const guards: Guards = new Map();
  if (input.range !== undefined) await collectGuards(target.warehouse.listGuards(input.range), guards);
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

  const first = await compareIds(deps, target, { callIds: [...wanted], guards, level, alive });
  // A load may commit between the readings of warehouse and ledger, so differing calls are read again.
  const doubtful = [...first.missing, ...first.different];
  const second =
    doubtful.length === 0
      ? first
      : await compareIds(deps, target, { callIds: doubtful, guards: new Map(), level, alive });
  return {
    missing: second.missing,
    /** Another guard, another number of child rows, or a row of an erased call. */
    different: second.different,
    /** Rows in the warehouse whose call the ledger does not know. */
    unexpected,
  };
};

/** Rows of table calls by their id: a warehouse without keys may have several. */
type Guards = Map<string, readonly CallGuard[]>;

export const collectGuards = async (found: AsyncIterable<CallGuard>, guards: Guards = new Map()): Promise<Guards> => {
  for await (const guard of found) guards.set(guard.callId, [...(guards.get(guard.callId) ?? []), guard]);
  return guards;
};

const compareIds = async (deps: IngestDeps, target: WarehouseTarget, input: ComparedCalls & { guards: Guards }) => {
  const { guards } = input;
  const unlisted = input.callIds.filter((id) => !guards.has(id));
  if (unlisted.length > 0) await collectGuards(target.warehouse.listGuards({ callIds: unlisted }), guards);
  const digests = input.level === 'rows' ? await readDigests(target, input.callIds, guards) : undefined;
  const epoch = await deps.store.epoch();
  const missing = new Set<string>();
  const different = new Set<string>();
  for await (const batch of readExpected(deps.store, target.warehouse.name, input.callIds)) {
    input.alive();
    for (const call of batch) {
      const { callId, tombstone } = call.row;
      const [guard, ...others] = guards.get(callId) ?? [];
      if (tombstone) {
        if (guard !== undefined) different.add(callId);
        continue;
      }
      if (guard === undefined) missing.add(callId);
      else if (others.length > 0 || !isEqual(deps, target, { call, epoch, guard, digests })) different.add(callId);
    }
  }
  return { missing, different };
};

/**
 * Whether a warehouse holds a call as the ledger has it. The guard must be that of the last committed load, or that
 * of a newer pending load. Compares content hash, number of child rows and rows, as far as this version flattened
 * them.
 */
const isEqual = (
  { processedField }: IngestDeps,
  { documents, warehouse }: WarehouseTarget,
  compared: {
    readonly call: ExpectedCall;
    readonly epoch: number;
    readonly guard: CallGuard;
    readonly digests: ReadonlyMap<string, CallDigest> | undefined;
  },
): boolean => {
  const { call, epoch, guard, digests } = compared;
  const { row, applied } = call;
  const expected =
    applied === undefined || applied.pending ? { epoch, revision: row.revision, flattenVersion } : applied;
  if (guard.epoch !== expected.epoch || guard.revision !== expected.revision) return false;
  if (guard.flattenVersion !== expected.flattenVersion) return false;
  if (guard.revision !== row.revision || expected.flattenVersion !== flattenVersion) return true;
  const { rows, callTimestamp } = flattenCall(row, { processedField, documents });
  if (guard.contentHash !== contentHash(rows)) return false;
  if (guard.callTimestamp !== callTimestamp) return false;
  const tables: Readonly<Record<string, readonly Row[]>> = rows;
  if (Object.entries(guard.childRows).some(([table, count]) => (tables[table]?.length ?? count) !== count))
    return false;
  if (digests === undefined) return true;
  const found = digests.get(row.callId);
  return found !== undefined && isDeepStrictEqual(found, warehouse.digestOf(row.callId, rows));
};

/** Digests of the rows that the warehouse has, by call id. */
const readDigests = async (target: WarehouseTarget, callIds: readonly string[], guards: Guards) => {
  const present = callIds.flatMap((id) => guards.get(id) ?? []);
  const { warehouse } = target;
  const dates = new Set(present.map(({ callTimestamp }) => warehouse.partitionOf(callTimestamp)).filter(isPartition));
  const digests = new Map<string, CallDigest>();
  const ids = present.map(({ callId }) => callId);
  for await (const digest of warehouse.digestCalls(ids, dates)) digests.set(digest.callId, digest);
  return digests;
};

/** A warehouse without partitions has none to name. */
const isPartition = (partition: string | null | undefined): partition is string | null => partition !== undefined;
