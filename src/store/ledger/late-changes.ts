/** How late calls change: observed delays, and the progress of rereads. Times in microseconds. */

import { isDeepStrictEqual } from 'node:util';
import type { LedgerRow } from '../../calls/fold.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import { type Queryable, type Transaction, toMicros, toTimestamp, unnest } from '../../postgres/database.ts';
import { keepMeta } from '../meta.ts';

/** Changes made before `coveredAt` have been looked for. */
export type CoveredBand = { readonly band: number; readonly kind: 'all' | 'sample'; readonly coveredAt: number };

/** Older changes say little about today's service. */
const memoryMonths = 12;

type LateRules = { readonly processedField: string; readonly context?: LateContext | undefined };

/** Adds the calls that changed to the distribution, inside the transaction that folded them. */
export const recordLateChanges = async (
  tx: Transaction,
  input: LateRules & { readonly changed: readonly LedgerRow[]; readonly replaced: readonly LedgerRow[] },
): Promise<void> => {
  const after = new Map(input.changed.map((row) => [row.callId, row]));
  const found = input.replaced.flatMap((before) => {
    const row = after.get(before.callId);
    return row === undefined ? [] : lateChangesOf(before, row, input);
  });
  if (found.length === 0) return;
  await tx.query`INSERT INTO late_changes (basis, bucket, changes, weight)
     SELECT basis, bucket, count(*), count(*) * ${input.context?.weight ?? 1}::float8
       FROM ${unnest(found, { basis: 'text', bucket: 'int' })} GROUP BY 1, 2`;
};

/**
 * Late changes of the last 12 months by bucket of age, youngest first. The age starts at the end of processing, or at the call's
 * own time.
 * `weight` = the changes, each divided by the share of windows in which it could have been seen.
 */
export const readLateChanges = (db: Queryable, basis: 'processed' | 'timestamp') =>
  db.query<Record<'bucket' | 'changes' | 'weight', number>>`
     SELECT bucket, sum(changes) AS changes, sum(weight) AS weight FROM late_changes
      WHERE basis = ${basis} AND seen_at > now() - make_interval(months => ${memoryMonths}) GROUP BY bucket ORDER BY bucket`;

/** Joins the rows of each past day into one a bucket, and forgets the oldest. */
export const compactLateChanges = (db: Queryable): Promise<unknown> =>
  db.query`WITH old AS (DELETE FROM late_changes WHERE seen_at < date_trunc('day', now()) - interval '1 day' RETURNING *)
     INSERT INTO late_changes (seen_at, basis, bucket, changes, weight)
     SELECT max(seen_at), basis, bucket, sum(changes), sum(weight) FROM old
      WHERE seen_at > now() - make_interval(months => ${memoryMonths}) GROUP BY date_trunc('day', seen_at), basis, bucket`;

/** The re-read bands of an axis, with the time up to which callsync looked for changes in each. */
export const readCoveredBands = async (db: Queryable, axis: string): Promise<CoveredBand[]> =>
  await db.query<CoveredBand>`SELECT band, kind, ${toMicros('covered_at')} AS "coveredAt" FROM reread_bands WHERE axis = ${axis}`;

/** When re-reading began on an axis; the first call says that it begins now. */
export const trackRereads = (db: Queryable, axis: string, now: number) => keepMeta(db, `rereads_since:${axis}`, now);

/** Bands of a plan that is carried out. `at` = when it was made. */
type CarriedOut = {
  readonly axis: string;
  readonly at: number;
  readonly covers: readonly Omit<CoveredBand, 'coveredAt'>[];
};

/** Bands are covered up to the time of their plan, never back. */
export const coverBands = (db: Queryable, { axis, at, covers }: CarriedOut): Promise<unknown> =>
  db.query`INSERT INTO reread_bands (axis, band, kind, covered_at)
     SELECT ${axis}, band, kind, ${toTimestamp(at)} FROM ${unnest(covers, { band: 'int', kind: 'text' })} ORDER BY band, kind
     ON CONFLICT (axis, band, kind) DO UPDATE SET covered_at = greatest(reread_bands.covered_at, excluded.covered_at)`;

/** Ages in log-spaced buckets: the first minute, then eight for each doubling. All times in microseconds. */
const firstEdge = 60_000_000;
const perOctave = 8;

const endOf = (bucket: number): number => Math.ceil(firstEdge * 2 ** (bucket / perOctave));

/** The bucket of an age, from 0. */
export const bucketOf = (age: number): number => {
  if (age < firstEdge) return 0;
  const near = Math.floor(perOctave * Math.log2(age / firstEdge)) + 1;
  if (age < endOf(near - 1)) return near - 1;
  return age < endOf(near) ? near : near + 1;
};

/** Ages `[from, to)` of a bucket. */
export const bucketEdges = (bucket: number): { readonly from: number; readonly to: number } => ({
  from: bucket === 0 ? 0 : endOf(bucket - 1),
  to: endOf(bucket),
});

/**
 * Facts about a reading that found changes.
 * `weight` = changes found count this often: 1 / the share of windows that are read like this one.
 * `since` = time of the last look at the same calls; null = too long ago to tell the time of a change.
 */
export type LateContext = { readonly weight: number; readonly since: number | null };

const pollRank = 2;
const webhookRank = 1;

/**
 * Ages at which the record changed, since the end of processing that it had before and since the call's own time; none if
 * nothing changed. Fields that appear for the first time are no change.
 * A new end of processing or a webhook gives the time of the change. For a poll, the middle since the last
 * observation counts, unless the span is too long.
 */
const lateChangesOf = (before: LedgerRow, after: LedgerRow, { processedField, context }: LateRules) => {
  if (before.tombstone || after.tombstone) return [];
  const changed = Object.keys(after.versions).filter((name) => {
    if (!Object.hasOwn(before.versions, name) || before.versions[name]?.[2] === after.versions[name]?.[2]) return false;
    return !isDeepStrictEqual(before.document?.value(name), after.document?.value(name));
  });
  const at = changed.length === 0 ? undefined : changeTime(before, after, { changed, processedField, context });
  if (at === undefined) return [];
  const processed = timeAt(before, processedField);
  const timestamp = timeAt(before, 'timestamp') ?? timeAt(after, 'timestamp');
  return Object.entries({ processed, timestamp }).flatMap(([basis, start]) =>
    start === undefined ? [] : [{ basis, bucket: bucketOf(Math.max(0, at - start)) }],
  );
};

const timeAt = ({ document }: LedgerRow, path: string) => parseTimestamp(document?.at(path));

type Change = LateRules & { readonly changed: readonly string[] };

const changeTime = (before: LedgerRow, after: LedgerRow, { changed, processedField, context }: Change) => {
  const [processed, reprocessed] = [before, after].map((row) => timeAt(row, processedField));
  if (processed !== undefined && reprocessed !== undefined && reprocessed > processed) return reprocessed;
  const [observedAt, rank] = changed
    .map((name) => after.versions[name] ?? ([0, 0, ''] as const))
    .reduce((a, b) => (b[0] > a[0] ? b : a));
  if (rank === webhookRank) return observedAt;
  if (rank !== pollRank || context?.since === null) return undefined;
  const earlier = Math.max(before.lastSeenAt ?? 0, context?.since ?? 0);
  const middle = (earlier + observedAt) / 2;
  if (context !== undefined) return middle;
  const start = processed ?? timeAt(before, 'timestamp');
  return start !== undefined && observedAt - earlier <= (observedAt - start) / 2 ? middle : undefined;
};
