/** Where records differ from what is known of their source, and since when. */
import { columnsOf, type Queryable } from '../../postgres/database.ts';
import { addToMeta, readMeta } from '../meta.ts';

export interface DriftFinding {
  /** `list`, `webhook` or `import`. */
  readonly source: string;
  readonly field: string;
  readonly kind: 'new' | 'vanished' | 'uncarried' | 'type' | 'repeated';
  /** In words, never a value. */
  readonly detail: string;
  /** Records that showed it. */
  readonly seen: number;
}

export interface RecordedDrift extends DriftFinding {
  readonly firstSeen: Date;
  readonly lastSeen: Date;
}

/** Counts and last times grow; the first time stays. */
export const recordDrift = async (db: Queryable, entries: readonly DriftFinding[]): Promise<void> => {
  if (entries.length === 0) return;
  await db.query(
    `INSERT INTO drift AS d (source, field, kind, detail, seen)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS u(source, field, kind, detail, seen)
      ORDER BY source, field, kind
     ON CONFLICT (source, field, kind)
     DO UPDATE SET seen = d.seen + excluded.seen, detail = excluded.detail, last_seen = now()`,
    columnsOf(entries, 'source', 'field', 'kind', 'detail', 'seen'),
  );
};

/** All entries, by source and then by when they were first seen. */
export const listDrift = async (db: Queryable): Promise<RecordedDrift[]> =>
  await db.query<RecordedDrift>(
    `SELECT source, field, kind, coalesce(detail, '') AS detail, seen, first_seen AS "firstSeen", last_seen AS "lastSeen"
       FROM drift ORDER BY source, first_seen, field, kind`,
  );

/** Forgets what was recorded, such as after the configuration was brought up to date. Returns how many entries. */
export const clearDrift = async (db: Queryable): Promise<number> =>
  (await db.query('DELETE FROM drift RETURNING 1')).length;

const settledKey = (source: string): string => `fields:${source}`;

/** Fields that records of the source were seen to carry nearly always. */
export const readSettledFields = async (db: Queryable, source: string): Promise<readonly string[]> =>
  (await readMeta<string[]>(db, settledKey(source))) ?? [];

/** Adds to the fields of the source, also while others add to them. Returns all of them. */
export const addSettledFields = (
  db: Queryable,
  source: string,
  fields: readonly string[],
): Promise<readonly string[]> => addToMeta(db, settledKey(source), fields);
