/** Turns any batch into batches that one script each can apply: one entry a call, and few enough partitions for a job. */
import type { CallLoad, LoadBatch, TombstoneLoad } from '../warehouse.ts';
import { partitionOf } from './partitions.ts';

/** A job may modify 4,000 partitions; half of them leaves room for days that a range of dates covers as well. */
const maxPartitionsPerCommit = 2_000;

/** Keeps the highest revision of each call, and of a call that is erased in the same batch only the tombstone. */
export const dedupeBatch = (batch: LoadBatch): LoadBatch => {
  const tombstones = highest(batch.tombstones);
  const calls = highest(batch.calls);
  for (const callId of tombstones.keys()) calls.delete(callId);
  return { ...batch, calls: [...calls.values()], tombstones: [...tombstones.values()] };
};

const highest = <T extends CallLoad | TombstoneLoad>(entries: readonly T[]): Map<string, T> => {
  const kept = new Map<string, T>();
  for (const entry of entries) {
    const earlier = kept.get(entry.callId);
    if (earlier === undefined || earlier.revision <= entry.revision) kept.set(entry.callId, entry);
  }
  return kept;
};

const isCall = (entry: CallLoad | TombstoneLoad): entry is CallLoad => 'flatten' in entry;
const isTombstone = (entry: CallLoad | TombstoneLoad): entry is TombstoneLoad => !isCall(entry);

/** Every date under which rows of the call may be found before and after the load. */
export const datesOf = (entry: CallLoad | TombstoneLoad): readonly (string | null)[] =>
  isCall(entry) ? [...entry.partitions, partitionOf(entry.callTimestamp)] : entry.partitions;

/** Whether the call was or will be sent under more than one date. */
export const isMoved = (entry: CallLoad): boolean => new Set(datesOf(entry)).size > 1;

/** Cuts the batch, in the order of dates, where more than `limit` dates come together. The last part has the log rows. */
export const splitByPartitions = (batch: LoadBatch, limit = maxPartitionsPerCommit): readonly LoadBatch[] => {
  const entries = [...batch.calls, ...batch.tombstones].sort((a, b) => compare(firstDate(a), firstDate(b)));
  const parts: (CallLoad | TombstoneLoad)[][] = [[]];
  let dates = new Set<string | null>();
  for (const entry of entries) {
    const own = datesOf(entry);
    if (dates.size > 0 && new Set([...dates, ...own]).size > limit) {
      parts.push([]);
      dates = new Set();
    }
    for (const date of own) dates.add(date);
    parts.at(-1)?.push(entry);
  }
  if (parts.length === 1) return [batch];
  return parts.map((part, index) => ({
    ...batch,
    calls: part.filter(isCall),
    tombstones: part.filter(isTombstone),
    logs: index === parts.length - 1 ? batch.logs : {},
  }));
};

const firstDate = (entry: CallLoad | TombstoneLoad): string => datesOf(entry).find((date) => date !== null) ?? '';
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
