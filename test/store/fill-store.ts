/**
 * Fills a store by SQL as after years of work. The calls span two years; one warehouse has all of them, and a sixth is
 * still pending in the other. Deliveries span 400 days, loads 30. Synthetic, but every table has the size that its
 * retention allows.
 */
import { deflateRawSync } from 'node:zlib';
import { flattenVersion } from '../../src/calls/flatten.ts';
import { connect } from '../support/postgres.ts';

export interface FilledStore {
  readonly calls: number;
  /** `warehouse_calls` has a row of each call for these: the first lacks nothing, the second a sixth of all calls. */
  readonly warehouses: readonly [string, string];
  /** Of all calls, the newest share that is pending in the second; a sixth by default. */
  readonly pendingShare?: number;
  /** Without statistics, as in its first minutes: the whole store, or the rows of the second warehouse. */
  readonly young?: 'store' | 'warehouse' | undefined;
}

const callsPerStatement = 250_000;
const at = (n: string, of: number) => `now() - interval '730 days' * (${n}::float8 / ${of})`;

/** Ids in the order of the primary keys, so that indexes grow at their end. */
export const idOf = (n: string) => `lpad(to_hex(${n}), 8, '0') || '-4000-8000-' || lpad(to_hex(${n}), 12, '0')`;

export const callIdOf = (n: number): string => {
  const hex = n.toString(16);
  return `${hex.padStart(8, '0')}-4000-8000-${hex.padStart(12, '0')}`;
};

export const fillStore = async (
  url: string,
  { calls, warehouses: [whole, behind], pendingShare = 1 / 6, young }: FilledStore,
): Promise<void> => {
  const client = await connect(url);
  await client.query('SET search_path TO callsync');
  const run = (sql: string, values: unknown[] = []) => client.query(sql, values);
  await run('DELETE FROM warehouses WHERE name <> ALL($1)', [[whole, behind]]);
  const tables = ['ledger', 'warehouse_calls', 'inbox', 'quarantine'];
  for (const table of tables) await run(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  const names = 'unique_id timestamp status qualified duration direction agent tags transcript_json'.split(' ');
  const seen = [1_700_000_000_000_000, 1, 'a1b2c3d4e5f60718293a4b5c'];
  const fields = Object.fromEntries(names.map((name) => [name, seen]));
  const document = { status: 'qualified', transcript_json: { callData: [{ content: 'x'.repeat(200) }] } };
  const body = deflateRawSync(JSON.stringify(document));
  for (let from = 0; from < calls; from += callsPerStatement) {
    const to = Math.min(calls, from + callsPerStatement) - 1;
    const series = `generate_series(${from}, ${to}) AS n`;
    await run(`INSERT INTO ledger (call_id, revision, fields, call_timestamp, processed_at, first_seen_at, last_seen_at, changed_at, poll_at)
      SELECT ${idOf('n')}, 1, '${JSON.stringify(fields)}', t, t, t, t, t, t FROM ${series}, LATERAL (SELECT ${at('n', calls)} AS t) AS times`);
    await run(`INSERT INTO ledger_documents SELECT ${idOf('n')}, 1, $1 FROM ${series}`, [body]);
    for (const [name, share] of Object.entries({ [whole]: 0, [behind]: pendingShare })) {
      if (young === 'warehouse' && name === behind) await run('VACUUM ANALYZE warehouse_calls');
      await run(`INSERT INTO warehouse_calls (warehouse, call_id, pending, applied_epoch, applied_revision, applied_flatten,
                                   partitions, queue_position, applied_at)
        SELECT '${name}', ${idOf('n')}, p, d, d, d * ${flattenVersion}, CASE WHEN p THEN '{}' ELSE ARRAY[t::date] END, queue_position(2, t), t
          FROM ${series}, LATERAL (SELECT ${at('n', calls)} AS t, n < ${calls * share} AS p) AS each,
               LATERAL (SELECT CASE WHEN p THEN 0 ELSE 1 END AS d) AS done ORDER BY 2`);
    }
  }
  const deliveries = Math.ceil(calls / 3);
  await run(`
    INSERT INTO inbox (arrival_id, delivery_id, hook_id, agent, received_at, signing_key, body, body_hash, outcome, call_id, folded_at)
      SELECT gen_random_uuid(), extract(epoch FROM t)::text, 'hook', 'Service-Webhook/1.0', t, 'main',
             CASE WHEN t > now() - interval '7 days' THEN '\\x7b7d'::bytea END, sha256(n::text::bytea), 'accepted', ${idOf('n')}, t
        FROM generate_series(0, ${deliveries - 1}) AS n, LATERAL (SELECT now() - interval '399 days' * (n::float8 / ${deliveries}) AS t) AS times;
    INSERT INTO unloaded_deliveries SELECT '${behind}', false, seq FROM inbox WHERE seq % 20 = 0;
    INSERT INTO visible_deliveries SELECT '${whole}', seq, received_at FROM inbox;
    ${young === 'warehouse' ? 'ANALYZE visible_deliveries' : ''};
    INSERT INTO visible_deliveries SELECT '${behind}', seq, received_at FROM inbox WHERE seq % 20 > 0;
    INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls, state, created_at, committed_at, alive_at)
      SELECT name || n, name, 1, 1, 'pending', 10, 'committed', t, t, t
        FROM unnest(ARRAY['${whole}', '${behind}']) AS name, generate_series(1, 20000) AS n, LATERAL (SELECT now() - interval '2 minutes' * n AS t) AS times;
    INSERT INTO windows (axis, window_from, window_to, calls, shown, origin, read_at)
      SELECT 'timestamp', t, t + interval '1 minute', 10, 'total', 'sync', t
        FROM generate_series(1, 2800) AS n, LATERAL (SELECT date_trunc('minute', now()) - interval '1 minute' * n AS t) AS times;
    INSERT INTO rereads (call_id, reason) SELECT ${idOf('n')}, 'repeat' FROM generate_series(0, 999) AS n;
    INSERT INTO quarantine (source, origin, reason, body, received_at, body_hash)
      SELECT 'poll', 'list', 'not JSON', n::text::bytea, now(), sha256(n::text::bytea) FROM generate_series(1, 5000) AS n;
    INSERT INTO counters VALUES ('calls', ${calls}), ('pending:${behind}', ${Math.ceil(calls * pendingShare)}),
      ('deliveries:accepted', ${deliveries}), ('quarantine:open', 5000)`);
  for (const table of tables) await run(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  if (young === undefined) await run('VACUUM ANALYZE');
  await client.end();
};
