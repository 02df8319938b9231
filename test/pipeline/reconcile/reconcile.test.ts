import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { drawCoverage } from '../../../src/coverage/draw-text.ts';
import { readCoverage } from '../../../src/coverage/read-coverage.ts';
import { verifyVerdicts } from '../../../src/pipeline/reconcile/verify-verdicts.ts';
import { issueEpoch } from '../../../src/store/store.ts';
import { type StartedReceiver, startReceiver, testSecret } from '../../webhook/support/receiver.ts';
import { day, type Installation, openInstallation } from './installation.ts';

const calls = 1_000;
let here: Installation;
let receiver: StartedReceiver;
let digests: Record<string, string>;

const query = async (sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
  (await here.store.pool.query(sql, values)).rows;
const wholeRange = () => ({ from: here.range.from, to: here.range.to - 10 * day });
const dataDigests = async (): Promise<Record<string, string>> => {
  const { verdicts: _verdicts, deliveries: _deliveries, ...data } = await here.warehouse.digestTables();
  return data;
};

beforeAll(async () => {
  const to = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - 10 * 86_400_000).toISOString();
  here = await openInstallation({
    simulator: {
      seed: 6,
      calls: { count: calls, utterances: 4, to, from: new Date(Date.parse(to) - 12 * 86_400_000).toISOString() },
    },
  });
  receiver = await startReceiver({ databaseUrl: here.url, warehouses: ['main'] });
  await here.simulator.configure({
    webhooks: { url: receiver.url, secret: testSecret, dropShare: 0.05, concurrency: 8 },
  });
  await here.simulator.sendWebhooks({});
  await here.simulator.drainWebhooks();
  await here.merge();
  await here.backfill();
  digests = await dataDigests();
});
afterAll(async () => {
  await receiver?.stop();
  await here?.close();
});

describe('reconciling against a service that dropped 5 % of its webhooks', () => {
  test('proves every window of an installation that has everything', async () => {
    const totals = await here.reconcile({ range: wholeRange() });
    expect(totals).toMatchObject({ windows: 12, proven: 12, missing: 0, different: 0, markedMissing: 0 });
    const [sums] = await here.warehouse.query(
      'SELECT count(*)::int AS n, sum(calls_listed)::int AS listed, sum(calls_found)::int AS found FROM verdicts',
    );
    expect(sums).toMatchObject({ n: 0 });
    await here.drain();
    const [loaded] = await here.warehouse.query(
      `SELECT count(*)::int AS n, sum(calls_listed)::int AS listed, sum(calls_found)::int AS found,
              min(level) AS level, min(compared_by) AS compared_by FROM verdicts`,
    );
    const listed = (await query('SELECT count(*)::int AS n FROM callsync.ledger WHERE poll_at IS NOT NULL'))[0]?.n;
    expect(loaded).toEqual({ n: 12, listed, found: listed, level: 'fields', compared_by: 'test' });
    expect((await here.reconcile({ range: wholeRange() })).windows).toBe(0);
  });

  test("measures the loss that the simulator's truth has", async () => {
    const { webhooks: truth } = await here.simulator.stats();
    const coverage = await readCoverage(here.store, {
      range: wholeRange(),
      warehouses: ['main'],
      now: Date.now() * 1000,
      webhooksSince: here.range.from,
    });
    let expected = 0;
    let lost = 0;
    for await (const entry of here.simulator.truth({ light: true })) {
      if (!entry.visibleInList || (entry.status !== 'qualified' && entry.status !== 'void')) continue;
      expected += 1;
      if (!entry.deliveredByWebhook) lost += 1;
    }
    console.log(drawCoverage(coverage));
    console.log(`truth: ${truth.dropped} of ${truth.queued} deliveries dropped, ${lost} of ${expected} calls lost`);
    expect(truth.dropped).toBe(lost);
    expect(coverage.webhooks).toMatchObject({ expected, lost, lossRate: lost / expected });
    expect(lost / expected).toBeGreaterThan(0.03);
    expect(coverage.deliveries).toMatchObject({ both: expected - lost, pollOnly: lost, webhookOnly: 0 });
    expect(new Set(coverage.days.map((one) => one.state))).toEqual(new Set(['proven']));
  });

  test('finds and heals a hidden deletion of 1 % of the rows of calls and of their children', async () => {
    const deleted: Record<string, number> = {};
    for (const [index, table] of ['calls', 'utterances', 'tags', 'metadata', 'contacts'].entries()) {
      const { rowCount } = await here.store.pool.query(
        `DELETE FROM wh_main.${table} WHERE ctid IN (SELECT ctid FROM wh_main.${table}
           ORDER BY md5(ctid::text || $1) LIMIT (SELECT count(*) / 100 FROM wh_main.${table}))`,
        [String(index)],
      );
      deleted[table] = rowCount ?? 0;
    }
    for (const rows of Object.values(deleted)) expect(rows).toBeGreaterThan(0);
    const startedAt = performance.now();
    const totals = await here.reconcile({ range: wholeRange(), force: true });
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`deleted ${JSON.stringify(deleted)}; reconcile in ${seconds} s: ${JSON.stringify(totals)}`);
    expect(totals).toMatchObject({ windows: 12, unproven: 0, suspicious: 0, missing: deleted.calls, markedMissing: 0 });
    expect(totals.healed).toBeGreaterThan(0);
    expect(totals.healedCalls).toBe(totals.missing + totals.different);
    expect(await dataDigests()).toEqual(digests);
    expect(await here.reconcile({ range: wholeRange(), force: true })).toMatchObject({ proven: 12, missing: 0 });
  }, 180_000);

  test('brings back calls that the ledger lost, and flags rows that the ledger does not know', async () => {
    const [lost] = await query(
      `DELETE FROM callsync.ledger WHERE call_id IN (SELECT call_id FROM callsync.ledger ORDER BY md5(call_id) LIMIT 7)
       RETURNING call_id`,
    );
    await query('DELETE FROM callsync.ledger_documents WHERE call_id NOT IN (SELECT call_id FROM callsync.ledger)');
    await query('DELETE FROM callsync.warehouse_calls WHERE call_id NOT IN (SELECT call_id FROM callsync.ledger)');
    await query('DELETE FROM wh_main.calls WHERE call_id = $1', [lost?.call_id]);
    await query(
      `INSERT INTO wh_main.calls SELECT (jsonb_populate_record(c, '{"call_id": "nobody knows it"}')).* FROM wh_main.calls c LIMIT 1`,
    );
    await issueEpoch(here.store, 'restored', await here.store.epoch());
    await here.drain();
    const totals = await here.reconcile({ range: wholeRange(), force: true });
    expect(totals).toMatchObject({ missing: 1, unproven: 1, markedMissing: 0 });
    expect(totals.missing + totals.different).toBe(7);
    const [surplus] = await query(`SELECT sum(surplus)::int AS n FROM callsync.verdicts WHERE outcome = 'unproven'`);
    expect(surplus).toEqual({ n: 1 });
    await query(`DELETE FROM wh_main.calls WHERE call_id = 'nobody knows it'`);
    expect(await here.reconcile({ range: wholeRange() })).toMatchObject({ windows: 1, proven: 1 });
  });

  test('keeps verdicts in a chain that shows a change, in the store or in the copy of the warehouse', async () => {
    await here.drain();
    const [sound] = await verifyVerdicts(here.store, here.deps.targets);
    expect(sound).toMatchObject({ warehouse: 'main', broken: [], intact: true });
    expect(sound?.copy?.verdicts).toBe(sound?.verdicts);

    const tamper = async (sql: string, undo: string) => {
      await query(sql);
      const [check] = await verifyVerdicts(here.store, here.deps.targets);
      await query(undo);
      return check;
    };
    const inStore = await tamper(
      'UPDATE callsync.verdicts SET calls_found = calls_found + 1 WHERE verdict_id = 3',
      'UPDATE callsync.verdicts SET calls_found = calls_found - 1 WHERE verdict_id = 3',
    );
    expect(inStore).toMatchObject({ broken: [3], intact: false });
    const inCopy = await tamper(
      `UPDATE wh_main.verdicts SET outcome = 'healed' WHERE verdict_id = 3`,
      `UPDATE wh_main.verdicts SET outcome = 'proven' WHERE verdict_id = 3`,
    );
    expect(inCopy).toMatchObject({ broken: [], intact: false, copy: { differing: [3] } });
    await query('DELETE FROM callsync.verdicts WHERE verdict_id = (SELECT max(verdict_id) FROM callsync.verdicts)');
    const [cut] = await verifyVerdicts(here.store, here.deps.targets);
    expect(cut?.broken).toEqual([]);
    expect(cut?.intact).toBe(false);
  });
});
