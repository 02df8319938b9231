/** Figures of the operational store for `callsync status`. */

import type pg from 'pg';
import type { Queryable } from '../../postgres/database.ts';
import { givenUpRereads } from '../delivery/inbox.ts';
import { openProblems, type WindowProblem } from '../windows/windows.ts';

export interface StoreSummary {
  readonly epoch: number;
  readonly calls: number;
  readonly tombstones: number;
  readonly inbox: {
    readonly pending: number;
    readonly oldestPendingSeconds: number | null;
    readonly outcomes: Record<string, number>;
  };
  readonly warehouses: Record<
    string,
    { readonly pending: number; readonly lastLoadAt: string | null; readonly lastError: string | null }
  >;
  readonly quarantineOpen: number;
  /** Calls to be read again from the API because of repeated webhook bodies. */
  readonly rereadsWaiting: number;
  /** Of earlier ones, those for which no answer could be had: not where the list was looked, or it cannot be asked. */
  readonly rereadsUnanswered: number;
  readonly watermarks: Record<string, string>;
  readonly windowsRead: number;
  readonly problems: readonly WindowProblem[];
}

const one = async <R extends pg.QueryResultRow>(db: Queryable, sql: string): Promise<R> =>
  (await db.query<R>(sql))[0] as R;

export const summarizeStore = async (db: Queryable): Promise<StoreSummary> => {
  const counts = await one<Record<string, number>>(
    db,
    `SELECT (SELECT coalesce(max(epoch), 0) FROM epochs)::int AS epoch,
            (SELECT count(*) FROM ledger WHERE revision > 0 AND NOT tombstone) AS calls,
            (SELECT count(*) FROM ledger WHERE tombstone) AS tombstones,
            (SELECT count(*) FROM inbox WHERE outcome = 'pending') AS pending,
            (SELECT extract(epoch FROM now() - min(received_at))::float8 FROM inbox WHERE outcome = 'pending') AS oldest,
            (SELECT count(*) FROM quarantine WHERE state = 'open') AS quarantine,
            (SELECT count(*) FROM rereads WHERE NOT (${givenUpRereads})) AS rereads,
            (SELECT count(*) FROM rereads WHERE ${givenUpRereads}) AS unanswered,
            (SELECT count(*) FROM windows) AS windows`,
  );
  const outcomes = await db.query<{ outcome: string; n: number }>(
    'SELECT outcome, count(*) AS n FROM inbox GROUP BY outcome',
  );
  const warehouses = await db.query<{
    warehouse: string;
    pending: number;
    last: Date | null;
    error: string | null;
  }>(
    `SELECT w.warehouse, count(*) FILTER (WHERE w.pending) AS pending,
            (SELECT max(committed_at) FROM loads l WHERE l.warehouse = w.warehouse) AS last,
            (SELECT error FROM loads l WHERE l.warehouse = w.warehouse ORDER BY created_at DESC LIMIT 1) AS error
       FROM warehouse_calls w GROUP BY w.warehouse ORDER BY w.warehouse`,
  );
  const watermarks = await db.query<{ name: string; watermark: Date }>('SELECT name, watermark FROM watermarks');
  return {
    epoch: counts.epoch ?? 0,
    calls: counts.calls ?? 0,
    tombstones: counts.tombstones ?? 0,
    inbox: {
      pending: counts.pending ?? 0,
      oldestPendingSeconds: counts.oldest ?? null,
      outcomes: Object.fromEntries(outcomes.map(({ outcome, n }) => [outcome, n])),
    },
    warehouses: Object.fromEntries(
      warehouses.map(({ warehouse, pending, last, error }) => [
        warehouse,
        { pending, lastLoadAt: last?.toISOString() ?? null, lastError: error },
      ]),
    ),
    quarantineOpen: counts.quarantine ?? 0,
    rereadsWaiting: counts.rereads ?? 0,
    rereadsUnanswered: counts.unanswered ?? 0,
    watermarks: Object.fromEntries(watermarks.map(({ name, watermark }) => [name, watermark.toISOString()])),
    windowsRead: counts.windows ?? 0,
    problems: await openProblems(db),
  };
};
