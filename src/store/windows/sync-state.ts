/** What continuous sync knows of itself: where it began, how far it has seen, what it last failed with. */
import type { Queryable } from '../../postgres/database.ts';
import { toMicros, toTimestamp } from '../../postgres/sql-time.ts';

/** Name of continuous sync's row in `watermarks`. */
export const continuousSync = 'sync';

/**
 * SQL: up to where everything is read that was to be, of a row `w` of `watermarks`. The watermark itself passes over windows with open
 * problems, which are read again later.
 */
export const readToSql = `least(w.watermark, (SELECT min(greatest(window_from, w.started_from)) FROM window_problems p
   WHERE p.axis = w.axis AND resolved_at IS NULL AND window_to > coalesce(w.started_from, '-infinity')))`;

export interface SyncState {
  /** Microseconds: the end of the contiguous prefix of read windows. */
  readonly watermark: number;
  /** Microseconds: where its first start began; null for one that older code began. */
  readonly startedFrom: number | null;
  /** Seconds since the newest calls were last read; null while they never were. */
  readonly lagSeconds: number | null;
  /** Code of what the last run failed with; null once one succeeded. */
  readonly lastError: string | null;
  readonly failedAt: Date | null;
}

/** Undefined while continuous sync has never begun. `lagSeconds` is what `callsync status` and the metrics show. */
export const readSyncState = async (db: Queryable, name = continuousSync): Promise<SyncState | undefined> => {
  const [row] = await db.query<SyncState>(
    `SELECT ${toMicros('watermark')} AS watermark, ${toMicros('started_from')} AS "startedFrom",
            CASE WHEN seen_to IS NOT NULL THEN greatest(0, extract(epoch FROM now() - seen_to))::float8 END AS "lagSeconds",
            last_error AS "lastError", failed_at AS "failedAt"
       FROM watermarks WHERE name = $1`,
    [name],
  );
  return row;
};

/** The newest calls are read up to an instant of the service's clock. */
export const recordSeen = async (db: Queryable, name: string, to: number): Promise<void> => {
  await db.query(
    `UPDATE watermarks SET seen_to = greatest(seen_to, ${toTimestamp('$2')}), last_error = NULL, failed_at = NULL
      WHERE name = $1`,
    [name, to],
  );
};

/** @param code of an error, no data. */
export const recordSyncError = async (db: Queryable, name: string, code: string): Promise<void> => {
  await db.query('UPDATE watermarks SET last_error = $2, failed_at = now() WHERE name = $1', [name, code]);
};

/**
 * Whether it is time for a heartbeat in a warehouse, and if so, that this process makes it: of several that ask at once
 * one is told yes.
 */
export const claimHeartbeat = async (db: Queryable, warehouse: string, everyMs: number): Promise<boolean> => {
  const rows = await db.query(
    `INSERT INTO meta AS m (key, value) VALUES ($1, 'true')
     ON CONFLICT (key) DO UPDATE SET updated_at = now()
      WHERE m.updated_at <= now() - make_interval(secs => $2) RETURNING 1`,
    [heartbeatKey(warehouse), everyMs / 1000],
  );
  return rows.length > 0;
};

/** A heartbeat that failed is due again at once. */
export const forgetHeartbeat = async (db: Queryable, warehouse: string): Promise<void> => {
  await db.query('DELETE FROM meta WHERE key = $1', [heartbeatKey(warehouse)]);
};

const heartbeatKey = (warehouse: string): string => `heartbeat:${warehouse}`;
