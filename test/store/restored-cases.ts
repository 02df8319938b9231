/**
 * A ledger of many calls that was set back, as a worker finds it at its start. A delivery that comes then is soon
 * visible in the warehouse, whatever else waits, and the worker stays small. Rows are made by SQL, without documents,
 * and the age too.
 */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { flattenVersion } from '../../src/calls/flatten.ts';
import { issueEpoch } from '../../src/store/loads/warehouses.ts';
import { installForTest } from '../support/installation.ts';
import { deliver, register } from '../support/pipeline.ts';
import { connect, runOnServer } from '../support/postgres.ts';
import { column } from '../support/rows.ts';
import { until } from '../support/until.ts';
import { idOf } from './fill-store.ts';

const callsPerStatement = 500_000;

export const describeRestored = ({ calls }: { readonly calls: number }): void => {
  test(`the first new call is visible within 5 minutes, below 400 MB, with ${calls} calls`, async () => {
    // Older than the sync begins: the ledger's counter shows the delivery alone.
    const old = { count: 20, utterances: 1, words: 3, tags: 1, otherShare: 0, to: '2024-02-01T00:00:00Z' };
    const site = await installForTest({ simulator: { seed: 7, calls: old } });
    await site.warehouse.migrate();
    await issueEpoch(site.store, 'test', 0);
    await register(site.store, 'postgres');
    const filledAt = performance.now();
    await fill(site.databaseUrl, calls);
    const [size] = await column(site.store, 'SELECT pg_size_pretty(pg_database_size(current_database()))');
    console.log(`${calls} calls in ${size}, filled in ${secondsSince(filledAt)} s.`);

    const startedAt = performance.now();
    const worker = await site.startWorker(['--schedules']);
    await deliver(site.store, [{ body: newCall }]);
    await site.store.query('NOTIFY callsync_inbox');
    /** Until a statement gives rows, or none; seconds since the start. */
    const wait = async (what: string, statement: string, isThere: boolean): Promise<number> => {
      await until(what, async () => (await site.store.query(statement)).length > 0 === isThere, 900_000);
      return secondsSince(startedAt);
    };
    const visibleS = await wait('the new call is visible', visible, true);
    const healedS = await wait('the restore is healed', unhealed, false);
    const [row] = await site.store.query(`SELECT (SELECT max(epoch) FROM epochs) AS epoch,
        (SELECT count(*)::int FROM rereads) AS rereads,
        (SELECT sum(value)::bigint FROM counters WHERE name = 'calls') AS calls`);
    const status = await readFile(`/proc/${worker.pid}/status`, 'utf8');
    const peakMb = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
    console.log({ calls, visibleS, healedS, peakMb, ...row });
    expect(row).toMatchObject({ epoch: 2, calls: calls + 1 });
    expect(visibleS).toBeLessThan(300);
    expect(peakMb).toBeLessThan(400);
  }, 3_600_000);
};

const secondsSince = (start: number): number => Math.round((performance.now() - start) / 1000);

const now = new Date().toISOString();
const newCall = { unique_id: 'new-call', status: 'qualified', timestamp: now, qualified: now };

const visible = `SELECT 1 FROM calls.calls WHERE call_id = 'new-call'`;
const unhealed = 'SELECT 1 FROM epochs WHERE healing OR epoch < 2 AND NOT EXISTS (SELECT FROM epochs WHERE epoch = 2)';

/** The ledger and what the warehouse has of it: every call in both, but for a load that only the warehouse knows. */
const fill = async (url: string, calls: number): Promise<void> => {
  const id = idOf('n');
  await Promise.all([
    fillTable(url, 'callsync.ledger', calls, {
      columns:
        'call_id, revision, fields, call_timestamp, processed_at, first_seen_at, last_seen_at, changed_at, poll_at',
      values: `${id}, 1, '{"status": [1, 1, "x"]}', t, t, t, t, t, t`,
    }),
    fillTable(url, 'callsync.warehouse_calls', calls, {
      columns:
        'warehouse, call_id, pending, applied_epoch, applied_revision, applied_flatten, partitions, queue_position, applied_at',
      values: `'postgres', ${id}, false, 1, 1, ${flattenVersion}, '{}', 2000000000000, t`,
    }),
    fillTable(url, 'calls.calls', calls, {
      columns:
        'call_id, call_timestamp, utterance_count, word_count, tag_count, ledger_epoch, revision, flatten_version, load_id',
      values: `${id}, t, 0, 0, 0, 1, CASE WHEN n < 10 THEN 2 ELSE 1 END, ${flattenVersion}, CASE WHEN n < 10 THEN 'unknown' ELSE 'whole' END`,
    }),
  ]);
  const load = `1, ${flattenVersion}, 'test'`;
  await runOnServer(
    url,
    `INSERT INTO callsync.counters VALUES ('calls', ${calls});
     INSERT INTO callsync.loads (load_id, warehouse, epoch, flatten_version, origin, calls, state, committed_at)
       VALUES ('whole', 'postgres', ${load}, ${calls}, 'committed', now());
     INSERT INTO calls.loads (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
       VALUES ('unknown', ${load}, 10, 10, now()), ('whole', ${load}, 10, 10, now())`,
  );
};

/** Without write-ahead log, triggers and indexes, which are made at the end. @param rows for each `n`, at time `t` */
const fillTable = async (url: string, table: string, calls: number, rows: Record<'columns' | 'values', string>) => {
  const client = await connect(url);
  await client.query(`SET maintenance_work_mem = '768MB'; SET max_parallel_maintenance_workers = 0;
      SET synchronous_commit = off`);
  const { rows: indexes } = await client.query<{ sql: string; name: string; key: string | null }>(
    `SELECT pg_get_indexdef(indexrelid) AS sql, relname AS name, conname AS key
       FROM pg_index JOIN pg_class c ON c.oid = indexrelid LEFT JOIN pg_constraint ON conindid = indexrelid WHERE indrelid = $1::regclass`,
    [table],
  );
  await client.query(`ALTER TABLE ${table} SET UNLOGGED; ALTER TABLE ${table} DISABLE TRIGGER USER`);
  for (const { name, key } of indexes)
    await client.query(
      key === null ? `DROP INDEX ${table.split('.')[0]}.${name}` : `ALTER TABLE ${table} DROP CONSTRAINT ${key}`,
    );
  for (let from = 0; from < calls; from += callsPerStatement) {
    const to = Math.min(calls, from + callsPerStatement) - 1;
    await client.query(`INSERT INTO ${table} (${rows.columns}) SELECT ${rows.values} FROM generate_series(${from}, ${to}) AS n,
        LATERAL (SELECT now() - interval '730 days' * (n::float8 / ${calls}) AS t) AS times`);
  }
  for (const { sql, name, key } of indexes) {
    await client.query(sql);
    if (key !== null) await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${key} PRIMARY KEY USING INDEX ${name}`);
  }
  await client.query(`ALTER TABLE ${table} ENABLE TRIGGER USER; ANALYZE ${table}`);
  await client.end();
};
