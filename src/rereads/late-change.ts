/** When after the call a record changed: pure, from the ledger's rows before and after a fold. */
import { isDeepStrictEqual } from 'node:util';
import type { LedgerRow } from '../calls/fold.ts';
import { parseTimestamp } from '../lib/timestamps.ts';

export interface LateChange {
  /** Microseconds since the end of processing that the record had before, where it had one. */
  readonly sinceProcessed: number | undefined;
  /** Microseconds since the call's own time. */
  readonly sinceTimestamp: number | undefined;
}

/** What is known of a reading that found changes. */
export interface LateContext {
  /** Changes found count this often: 1 / the share of windows that are read like this one. */
  readonly weight: number;
  /** When the same calls were last looked at; null = so long ago that the time of a change cannot be told. */
  readonly since: number | null;
}

const pollRank = 2;
const webhookRank = 1;

const timeOf = (row: LedgerRow, field: string): number | undefined => parseTimestamp(row.document?.[field]);

/**
 * The ages at which the record changed, or undefined when nothing of it did: fields seen for the first time are no
 * change of the call. A new end of processing is the time of the change; so is a webhook's; a poll only says that it
 * happened since the last observation, so the middle is taken, unless that span is too long to tell.
 */
export const lateChangeOf = (
  before: LedgerRow,
  after: LedgerRow,
  processedField: string,
  context?: LateContext,
): LateChange | undefined => {
  if (before.tombstone || after.tombstone) return undefined;
  const changed = Object.keys(after.versions).filter((name) => {
    if (!Object.hasOwn(before.versions, name) || before.versions[name]?.[2] === after.versions[name]?.[2]) return false;
    return !isDeepStrictEqual(before.document?.[name], after.document?.[name]);
  });
  if (changed.length === 0) return undefined;
  const processed = timeOf(before, processedField);
  const timestamp = timeOf(before, 'timestamp') ?? timeOf(after, 'timestamp');
  const at = changeTime(before, after, changed, { processed, reprocessed: timeOf(after, processedField), context });
  if (at === undefined) return undefined;
  const since = (start: number | undefined) => (start === undefined ? undefined : Math.max(0, at - start));
  return { sinceProcessed: since(processed), sinceTimestamp: since(timestamp) };
};

const changeTime = (
  before: LedgerRow,
  after: LedgerRow,
  changed: readonly string[],
  known: {
    readonly processed: number | undefined;
    readonly reprocessed: number | undefined;
    readonly context: LateContext | undefined;
  },
): number | undefined => {
  const { processed, reprocessed, context } = known;
  if (processed !== undefined && reprocessed !== undefined && reprocessed > processed) return reprocessed;
  const [observedAt, rank] = changed
    .map((name) => after.versions[name] ?? ([0, 0, ''] as const))
    .reduce((a, b) => (b[0] > a[0] ? b : a));
  if (rank === webhookRank) return observedAt;
  if (rank !== pollRank || context?.since === null) return undefined;
  const earlier = Math.max(before.lastSeenAt ?? 0, context?.since ?? 0);
  const middle = (earlier + observedAt) / 2;
  if (context !== undefined) return middle;
  const start = processed ?? timeOf(before, 'timestamp');
  return start !== undefined && observedAt - earlier <= (observedAt - start) / 2 ? middle : undefined;
};
