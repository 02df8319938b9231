/**
 * A ledger of many calls that was set back, as a worker finds it at its start. A delivery that comes then is soon
 * visible in the warehouse, whatever else waits, and the worker stays small. Rows are made by SQL, without documents,
 * and the age too.
 */
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { syncConfigSchema } from '../../schemas/config/sync.ts';
import { flattenVersion } from '../../src/calls/flatten.ts';
import { issueEpoch } from '../../src/store/loads/warehouses.ts';
import { ensureSchedules } from '../../src/temporal/schedules.ts';
import { deleteSchedules, type Installation, install } from '../support/installation.ts';
import { deliver, register } from '../support/pipeline.ts';
import { column } from '../support/rows.ts';
import { until } from '../support/until.ts';

const callsPerStatement = 500_000;

export const describeRestored = ({ calls }: { readonly calls: number }): void => {
  test(`the first new call is visible within 5 minutes, and the worker stays below 400 MB, with ${calls} calls`, async () => {
    const site = await install({
      simulator: {
        seed: 7,
        // Older than the sync begins: the ledger's counter shows the delivery alone.
        calls: { count: 20, utterances: 1, words: 3, tags: 1, otherShare: 0, to: '2024-02-01T00:00:00Z' },
        rateLimit: { requests: 0 },
      },
      source: { limits: { requests: 100, per_s: 1 } },
    });
    onTestFinished(async () => {
      await deleteSchedules(site);
      await site.dispose();
    });
    await site.warehouse.migrate();
    await issueEpoch(site.store, 'test', 0);
    await register(site.store, 'postgres');
    const filledAt = performance.now();
    await fill(site.databaseUrl, calls);
    const fillS = secondsSince(filledAt);
    const size = 'SELECT (pg_database_size(current_database()) / 1e9)::float8';
    const [gb] = await column<number>(site.store, size);
    console.log(`${calls} calls in ${gb?.toFixed(1)} GB, filled in ${fillS} s.`);

    const startedAt = performance.now();
    const worker = await site.startWorker();
    await ensureSchedules(site.client, site.prefix, syncConfigSchema.parse({}));
    await deliver(site.store, [{ body: JSON.stringify(newCall) }]);
    await site.store.query('NOTIFY callsync_inbox');
    const peakMb = async (): Promise<number> => {
      const status = await readFile(`/proc/${worker.pid}/status`, 'utf8');
      return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
    };
    await until('the new call is visible', () => isVisible(site), 900_000);
    const visibleS = secondsSince(startedAt);
    await until('the restore is healed', async () => (await healing(site)) === 0, 900_000);
    const healedS = secondsSince(startedAt);
    const [row] = await site.store.query<{ epoch: number; rereads: number; calls: number }>(
      `SELECT (SELECT max(epoch) FROM epochs) AS epoch, (SELECT count(*)::int FROM rereads) AS rereads,
                (SELECT sum(value)::bigint FROM counters WHERE name = 'calls') AS calls`,
    );
    const peak = Math.round(await peakMb());
    console.log({ calls, visibleS, healedS, peakMb: peak, ...row });
    expect(row).toMatchObject({ epoch: 2, calls: calls + 1 });
    expect(visibleS).toBeLessThan(300);
    expect(peak).toBeLessThan(400);
  }, 3_600_000);
};

const secondsSince = (start: number): number => Math.round((performance.now() - start) / 1000);

const newCall = {
  unique_id: 'new-call',
  status: 'qualified',
  timestamp: new Date().toISOString(),
  qualified: new Date().toISOString(),
};

const isVisible = async ({ store }: Installation): Promise<boolean> =>
  (await store.query(`SELECT 1 FROM calls.calls WHERE call_id = 'new-call'`)).length > 0;

const healing = async ({ store }: Installation): Promise<number> =>
  (
    await store.query(
      'SELECT 1 FROM epochs WHERE healing OR epoch < 2 AND NOT EXISTS (SELECT FROM epochs WHERE epoch = 2)',
    )
  ).length;

/** The ledger and what the warehouse has of it: every call in both, but for a load that only the warehouse knows. */
const fill = async (url: string, calls: number): Promise<void> => {
  const id = `lpad(to_hex(n), 8, '0') || '-4000-8000-' || lpad(to_hex(n), 12, '0')`;
  const time = `now() - interval '730 days' * (n::float8 / ${calls})`;
  await Promise.all([
    fillTable(
      url,
      'callsync.ledger',
      calls,
      `(call_id, revision, fields, call_timestamp, processed_at, first_seen_at, last_seen_at, changed_at, poll_at)
       SELECT ${id}, 1, '{"status": [1, 1, "x"]}', t, t, t, t, t, t FROM LATERAL (SELECT ${time} AS t) AS times`,
    ),
    fillTable(
      url,
      'callsync.warehouse_calls',
      calls,
      `(warehouse, call_id, pending, applied_epoch, applied_revision, applied_flatten, partitions, queue_position, applied_at)
       SELECT 'postgres', ${id}, false, 1, 1, ${flattenVersion}, '{}', 2000000000000, t FROM LATERAL (SELECT ${time} AS t) AS times`,
    ),
    fillTable(
      url,
      'calls.calls',
      calls,
      `(call_id, call_timestamp, utterance_count, word_count, tag_count, ledger_epoch, revision, flatten_version, load_id)
       SELECT ${id}, ${time}, 0, 0, 0, 1, CASE WHEN n < 10 THEN 2 ELSE 1 END, ${flattenVersion},
              CASE WHEN n < 10 THEN 'unknown' ELSE 'whole' END`,
    ),
  ]);
  const client = await connect(url);
  await client.query(`INSERT INTO callsync.counters VALUES ('calls', ${calls})`);
  await client.query(
    `INSERT INTO callsync.loads (load_id, warehouse, epoch, flatten_version, origin, calls, state, committed_at)
     VALUES ('whole', 'postgres', 1, ${flattenVersion}, 'test', ${calls}, 'committed', now())`,
  );
  await client.query(
    `INSERT INTO calls.loads (load_id, ledger_epoch, flatten_version, origin, calls_sent, calls_changed, loaded_at)
     VALUES ('unknown', 1, ${flattenVersion}, 'test', 10, 10, now()), ('whole', 1, ${flattenVersion}, 'test', 10, 10, now())`,
  );
  await client.end();
};

const connect = async (url: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`SET maintenance_work_mem = '768MB'; SET max_parallel_maintenance_workers = 0;
      SET synchronous_commit = off`);
  return client;
};

/** Without write-ahead log, triggers and indexes, which are made at the end. @param rows what follows INSERT INTO and the table, for each `n`. */
const fillTable = async (url: string, table: string, calls: number, rows: string): Promise<void> => {
  const client = await connect(url);
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
    const series = `generate_series(${from}, ${to}) AS n`;
    const sql = rows.includes('FROM LATERAL')
      ? rows.replace('FROM LATERAL', `FROM ${series}, LATERAL`)
      : `${rows} FROM ${series}`;
    await client.query(`INSERT INTO ${table} ${sql}`);
  }
  for (const { sql, name, key } of indexes) {
    await client.query(sql);
    if (key !== null) await client.query(`ALTER TABLE ${table} ADD CONSTRAINT ${key} PRIMARY KEY USING INDEX ${name}`);
  }
  await client.query(`ALTER TABLE ${table} ENABLE TRIGGER USER; ANALYZE ${table}`);
  await client.end();
};
