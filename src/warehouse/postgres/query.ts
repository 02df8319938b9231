/** Read-only queries of users and checks, and queries of any number of rows. */
import type pg from 'pg';
import { connectTo, type Database } from '../../postgres/database.ts';
import { isUnanswered, postgresError } from '../../postgres/errors.ts';

const pageRows = 2_000;

const prepare = 'PREPARE callsync_check AS ';

/**
 * Rows of one statement in a transaction that only reads. When `signal` comes, the server ends the statement.
 * @param options.check a text that must be one statement by itself, in the same transaction.
 * @param options.keep false undoes side effects that a server allows in such a transaction: advisory locks, and large objects
 * before PostgreSQL 16
 * @throws CallsyncError DATABASE_…
 */
export const queryRows = (
  db: Database,
  sql: string,
  {
    signal,
    check,
    keep = true,
  }: { readonly signal?: AbortSignal | undefined; readonly check?: string; readonly keep?: boolean } = {},
): Promise<Record<string, unknown>[]> =>
  db.transaction(async ({ client }) => {
    await client.query('SET TRANSACTION READ ONLY');
    const release = signal === undefined ? undefined : await cancelAt(signal, db.pool, client);
    // The extended protocol takes one statement: a second one could end the transaction that only reads. As an object, a row
    // would keep one of two columns of the same name.
    const run = (text: string) => {
      const query: pg.QueryArrayConfig & { queryMode: 'extended' } = { text, queryMode: 'extended', rowMode: 'array' };
      return client.query<unknown[]>(query);
    };
    let isLost = false;
    try {
      if (check !== undefined) {
        // PostgreSQL parses the statement without planning it.
        await run(prepare + check).catch((error: { position?: string }) => {
          if (error.position !== undefined) error.position = String(Number(error.position) - prepare.length);
          throw error;
        });
        await run('DEALLOCATE callsync_check');
      }
      const { fields, rows } = await run(sql);
      const names = distinctNames(fields.map(({ name }) => name));
      return rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
    } catch (error) {
      isLost = isUnanswered(error);
      throw error;
    } finally {
      release?.();
      // Advisory locks outlive a transaction, and callsync's own work waits for some.
      if (!keep && !isLost)
        await client.query('ROLLBACK; SELECT pg_advisory_unlock_all(); BEGIN').catch(() => undefined);
    }
  });

/** Names of result columns. A repeated name gets a number, so that a row can be an object. */
const distinctNames = (names: readonly string[]): string[] => {
  const taken = new Set(names);
  return names.map((name, index) => {
    let own = name;
    for (let number = 2; names.indexOf(name) < index && taken.has(own); number += 1) own = `${name}_${number}`;
    taken.add(own);
    return own;
  });
};

const ownTransaction = `SELECT pid, xact_start::text AS since FROM pg_stat_activity WHERE pid = pg_backend_pid()`;
/** Checks more than the process id, because behind a pooler the process may serve another client by then. */
const cancelSql = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND xact_start = $2::timestamptz`;

/** A server looks for its client only when it answers: without a word from us, it would work on a query that nobody waits for. */
const cancelAt = async (signal: AbortSignal, pool: pg.Pool, client: pg.PoolClient): Promise<() => void> => {
  const { rows } = await client.query<{ pid: number; since: string }>(ownTransaction);
  signal.throwIfAborted();
  // If the cancellation fails, the server's time limit ends the statement.
  const cancel = (): void => void pool.query(cancelSql, [rows[0]?.pid, rows[0]?.since]).catch(() => undefined);
  signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
};

/** Streams through a cursor, so that memory holds one page. */
export async function* streamRows(db: Database, sql: string, values: readonly unknown[] = []) {
  const client = await connectTo(db);
  let broken = true;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await client.query(`DECLARE page NO SCROLL CURSOR FOR ${sql}`, [...values]);
    for (;;) {
      const { rows } = await client.query(`FETCH ${pageRows} FROM page`);
      yield* rows;
      if (rows.length < pageRows) break;
    }
  } catch (cause) {
    throw postgresError(db.purpose, cause);
  } finally {
    await client.query('ROLLBACK').then(
      () => {
        broken = false;
      },
      () => undefined,
    );
    client.release(broken);
  }
}
