/**
 * Indexing calls that are pending: after loads, by whoever searches, and when the index is made.
 *
 * The row of a pending call is the mutex between those who change its utterances and those who index it; all of them read
 * committed data. A change takes the row after its own statement and has it until its end; only then does it look for rows
 * of the index to delete. A step takes rows that nobody has, reads the utterances by a later statement, and deletes the
 * pending rows it took when it commits. So, of one call:
 * - A change that had the row before the step has ended, and the step reads what it left. While it is open, the step passes the
 *   call over; when it is rolled back, the rows of the index are there again.
 * - A change that comes for the row during the step waits for its end, sees the documents that it made, deletes them, and leaves the
 *   call pending again, or, when no utterance is left, without a trace.
 * - A change that has not come for the row yet has not committed: the step indexes what was there before, and the change then
 *   does as above.
 * - Two steps never have the same row. A step that dies leaves the rows pending.
 * - A call that is noted because it has no rows, when the index is made, is locked until that is committed: its erasure comes
 *   before, and then it is not noted, or after, and takes the row away.
 * Loads have locks already when they come for rows. A step waits for no lock longer than a moment and then gives up, sooner
 * than PostgreSQL looks for a deadlock: it is never a load that fails. A step that is heard of no more loses its locks within
 * seconds.
 */
import type pg from 'pg';
import { CallsyncError } from '../../errors.ts';
import { inTransaction } from '../../postgres/database.ts';
import { type Layout, qualified } from './layout.ts';
import { addRowsSql, removeRowsSql } from './search-ddl.ts';

export interface SearchOptions {
  readonly pool: pg.Pool;
  readonly purpose: string;
  readonly layout: Layout;
}

export interface CaughtUp {
  /** Calls that are pending no longer. */
  readonly indexed: number;
  /** Calls whose document cannot be made; they stay pending. */
  readonly failed: readonly string[];
  /** Why, of one of them. */
  readonly fault?: CallsyncError | undefined;
}

/** A load that comes for one of them waits for all: about 0.15 s. */
const callsPerStep = 100;
/** What the server lacks for so many calls, one after the other, is the fault of none. */
const mostLacking = 10;

/**
 * Plans of a table that was just filled would read all of it. A commit that a crash of the server forgets is made again: pending
 * rows come back when documents go.
 */
export const prepareStepSql = `SELECT ${Object.entries({
  lock_timeout: '100ms',
  statement_timeout: '10s',
  idle_in_transaction_session_timeout: '10s',
  synchronous_commit: 'off',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
})
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(', ')}`;

/** Parameters: the last id of the step before, and how many; or the ids. */
export const takePendingSql = (layout: Layout, by: 'order' | 'ids'): string =>
  `SELECT call_id FROM ${qualified(layout, 'transcript_search_pending')}
 WHERE ${by === 'order' ? 'call_id > $1 ORDER BY call_id LIMIT $2' : 'call_id = ANY($1)'} FOR UPDATE SKIP LOCKED`;

/** Run one after the other. Parameter: the ids that were taken; those without call or utterances just go. */
export const indexTakenSql = (layout: Layout): readonly string[] => [
  removeRowsSql(layout, '$1'),
  addRowsSql(layout),
  `DELETE FROM ${qualified(layout, 'transcript_search_pending')} WHERE call_id = ANY($1)`,
];

/**
 * Indexes what is pending after an id, or those of some calls that are pending, but what others have. A call whose document cannot be
 * made, or takes more memory or disk than there is, holds up no other one.
 * @throws CallsyncError DATABASE_… when the database fails, or somebody holds a table
 */
export const catchUp = async (
  options: SearchOptions,
  {
    after = '',
    ids,
    stop,
  }: { readonly after?: string; readonly ids?: readonly string[]; readonly stop?: AbortSignal } = {},
): Promise<CaughtUp> => {
  let indexed = 0;
  const failed: string[] = [];
  let fault: CallsyncError | undefined;
  const indexEach = async (taken: readonly string[]): Promise<void> => {
    let lacking = 0;
    for (const id of taken) {
      if (stop?.aborted === true) return;
      try {
        indexed += (await runStep(options, 'ids', [[id]])).length;
        lacking = 0;
      } catch (cause) {
        if (!isOfDocument(cause)) throw cause;
        lacking = lacksResources(cause) ? lacking + 1 : 0;
        if (lacking === mostLacking) throw cause;
        failed.push(id);
        fault ??= cause;
      }
    }
  };
  const step = async (by: 'order' | 'ids', parameters: readonly unknown[]): Promise<readonly string[]> => {
    let taken: readonly string[] = [];
    try {
      taken = await runStep(options, by, parameters, (locked) => {
        taken = locked;
      });
      indexed += taken.length;
    } catch (cause) {
      if (taken.length === 0 || !isOfDocument(cause)) throw cause;
      await indexEach(taken);
    }
    return taken;
  };
  if (ids === undefined) {
    for (let last: string | undefined = after; last !== undefined && stop?.aborted !== true; )
      last = (await step('order', [last, callsPerStep])).at(-1);
  } else {
    for (let at = 0; at < ids.length && stop?.aborted !== true; at += callsPerStep)
      await step('ids', [ids.slice(at, at + callsPerStep)]);
  }
  return { indexed, failed, fault };
};

const runStep = (
  { pool, purpose, layout }: SearchOptions,
  by: 'order' | 'ids',
  parameters: readonly unknown[],
  onTaken: (ids: readonly string[]) => void = () => undefined,
): Promise<readonly string[]> =>
  inTransaction(pool, purpose, async (client) => {
    await client.query(prepareStepSql);
    const { rows } = await client.query<{ call_id: string }>(takePendingSql(layout, by), [...parameters]);
    const ids = rows.map((row) => row.call_id);
    onTaken(ids);
    if (ids.length > 0) for (const sql of indexTakenSql(layout)) await client.query(sql, [ids]);
    return ids;
  });

/** What may be the fault of one document: what another attempt does not repair, and no right; or that it asks for too much. */
const isOfDocument = (cause: unknown): cause is CallsyncError =>
  cause instanceof CallsyncError &&
  ((cause.kind === 'terminal' && cause.code === 'DATABASE_ERROR') || lacksResources(cause));

/** Memory, disk or a file. */
const lacksResources = ({ cause }: CallsyncError): boolean =>
  /^(?:53[124]|58)/.test(String((cause as { readonly code?: unknown } | undefined)?.code));
