/** Makes of any batch one that a single script can apply: one entry a call, and not more partitions than a job may touch. */
import type { CallLoad, LoadBatch, TombstoneLoad } from '../warehouse.ts';
import { partitionOf } from './partitions.ts';

/** A job may modify 4,000 partitions; half of it leaves room for the days that a range covers besides. */
export const maxPartitionsPerCommit = 2_000;

/** Of several entries for one call the highest revision stays; a tombstone stays before any of them. */
export const foldBatch = (batch: LoadBatch): LoadBatch => {
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

/** Every date under which the call stands, has stood or will stand. */
export const datesOf = (entry: CallLoad | TombstoneLoad): readonly (string | null)[] =>
  'rows' in entry ? [...entry.partitions, partitionOf(entry.callTimestamp)] : entry.partitions;

/** Cuts where the dates of the calls, in their order, exceed the limit. Log rows go with the last part. */
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
    calls: part.filter((entry): entry is CallLoad => 'rows' in entry),
    tombstones: part.filter((entry): entry is TombstoneLoad => !('rows' in entry)),
    logs: index === parts.length - 1 ? batch.logs : {},
  }));
};

const firstDate = (entry: CallLoad | TombstoneLoad): string => datesOf(entry).find((date) => date !== null) ?? '';
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
