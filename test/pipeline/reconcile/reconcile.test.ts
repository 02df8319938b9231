import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { ReconcileRequest } from '../../../schemas/orchestration.ts';
import { readCoverage } from '../../../src/health/coverage/coverage.ts';
import { readReport } from '../../../src/health/coverage/report.ts';
import { terminal, transient } from '../../../src/lib/errors.ts';
import { iso, nowMicros } from '../../../src/lib/timestamps.ts';
import { loadPending } from '../../../src/pipeline/load/load-pending.ts';
import { planReconcile } from '../../../src/pipeline/reconcile/plan-reconcile.ts';
import { verifyVerdicts } from '../../../src/pipeline/reconcile/verify-verdicts.ts';
import type { Source } from '../../../src/source/source.ts';
import { issueEpoch } from '../../../src/store/loads/warehouses.ts';
import { expireRows } from '../../../src/store/retention.ts';
import { createProofKeys } from '../../../src/store/windows/chain.ts';
import {
  addVerdict,
  describeAltered,
  findUnproven,
  latestVerdicts,
  withdrawProof,
} from '../../../src/store/windows/verdicts.ts';
import { withList } from '../../source/simulated.ts';
import { useOpened } from '../../support/opened.ts';
import { withProof } from '../../support/persons.ts';
import { observationOf, retention } from '../../support/pipeline.ts';
import { collect, column } from '../../support/rows.ts';
import { until } from '../../support/until.ts';
import { startReceiver, testSecret } from '../../webhook/support/receiver.ts';
import { comparing, day, midnight, openInstallation, useInstallation } from './installation.ts';

const [from, to] = [midnight(22), midnight(10)];
const here = useInstallation({ seed: 6, calls: { count: 250, utterances: 4, words: 4, to, from } });
const receiver = useOpened(
  () => startReceiver({ databaseUrl: here.url }),
  ({ stop }) => stop(),
);
const query = (sql: string, values?: unknown[]) => here.query(sql, values);
const wholeRange = () => ({ from: here.range.from, to: here.range.to - 10 * day });

/** Everything again, while the list answers a question for pages so. */
const reconcileWith = (readPages: Source['list']['readPages'], maxSeconds?: number) =>
  here.reconcile({ range: wholeRange(), force: true }, withList(here.deps, { readPages }), maxSeconds);

beforeAll(async () => {
  const webhooks = { url: receiver.url, secret: testSecret, dropShare: 0.05, concurrency: 8 };
  await here.simulator.configure({ webhooks });
  await here.simulator.sendWebhooks({});
  await here.simulator.drainWebhooks();
  // Deliveries that a slow store did not take in time come to the inbox by the spool.
  await until('every delivery is in the inbox', () => receiver.spool.status().records === 0);
  await here.merge();
  await here.backfill();
});

test('reconciling proves every window of an installation that has everything', async () => {
  const totals = await here.reconcile({ range: wholeRange() });
  expect(totals).toMatchObject({ windows: 12, proven: 12, missing: 0, different: 0, markedMissing: 0 });
  expect(await column(here.warehouse, 'SELECT count(*)::int AS n FROM verdicts')).toEqual([0]);
  await here.drain();
  const [loaded] = await here.warehouse.query(`SELECT count(*)::int AS n, sum(calls_listed)::int AS listed,
        sum(calls_found)::int AS found, min(level) AS level, min(compared_by) AS compared_by FROM verdicts`);
  const [listed] = await column(here.store, 'SELECT count(*)::int FROM ledger WHERE poll_at IS NOT NULL');
  expect(loaded).toEqual({ n: 12, listed, found: listed, level: 'fields', compared_by: 'test' });
  expect((await here.reconcile({ range: wholeRange() })).windows).toBe(0);
});

test('calls of a day that nobody had read are no differences, and calls that appear there later are', async () => {
  const opened = await openInstallation({ simulator: { seed: 7, calls: { count: 60, from, to } } });
  onTestFinished(opened.close);
  const range = { from: opened.range.from, to: opened.range.to - 10 * day };
  const { list } = opened.deps.source;
  const readPages: typeof list.readPages = async function* (asked) {
    for await (const page of list.readPages(asked)) {
      const parts = [...page.parts(1e9)].map((part) => part.map((record) => ({ ...record, value: {} })));
      yield { ...page, parts: () => parts.values() };
    }
  };
  const later = { range: { from: range.from + 8 * day, to: range.to } };
  const { windows, unproven } = await opened.reconcile(later, withList(opened.deps, { readPages }));
  expect([windows, unproven], 'records that are no calls').toEqual([4, 4]);
  await opened.backfill({ from: range.from + 6 * day, to: range.to });
  await opened.drain();
  const unread = { range: { from: range.from, to: range.from + 6.5 * day } };
  const none = { healed: 0, missing: 0, different: 0, healedCalls: 0 };
  expect(await opened.reconcile(unread)).toMatchObject({ windows: 7, proven: 7, ...none });
  await opened.forget(await column(opened.store, 'SELECT call_id FROM ledger ORDER BY call_timestamp LIMIT 1'));
  expect(await opened.reconcile({ ...unread, force: true })).toMatchObject({ healed: 1, missing: 1, healedCalls: 1 });
  // The axis on which a part was read decides, not a call's own time: day 7 was read, the day before the first was not.
  const insertAndCompare = async (own: number, qualified: number) => {
    const [at, read] = [range.from + own * day, range.from + qualified * day];
    await opened.simulator.insert({ timestamp: iso(at), qualified: iso(read) });
    return opened.reconcile({ range: { from: at, to: at + day } });
  };
  expect(await insertAndCompare(7, 13)).toMatchObject({ proven: 1, ...none });
  expect(await insertAndCompare(-1, 6.5)).toMatchObject({ healed: 1, missing: 1 });
  await opened.query("DELETE FROM verdicts; UPDATE windows SET axis = 'of an earlier configuration'");
  expect(await insertAndCompare(7, 13)).toMatchObject({ healed: 1, missing: 1 });
});

test('days before the first call are compared together, asked for or not, and proven', async () => {
  const opened = await openInstallation({ simulator: { seed: 8, calls: { count: 60, from, to } } });
  onTestFinished(opened.close);
  const range = { from: opened.range.from - 100 * day, to: opened.range.to - 10 * day };
  await opened.backfill(range);
  await opened.drain();
  const cut = async (request: ReconcileRequest): Promise<number[]> =>
    (await planReconcile(opened.deps, opened.deps.reconcile, request)).windows
      .map((one) => (one.to - one.from) / day)
      .toSorted((a, b) => b - a);
  const expected = [30, 30, 30, 10, ...Array<number>(12).fill(1)];
  expect([await cut({ range }), await cut({})]).toEqual([expected, expected]);
  expect(await opened.reconcile()).toMatchObject({ windows: 16, proven: 16 });
  expect(await cut({})).toEqual([]);
  expect(await cut({ force: true })).toEqual(expected);
  const open = { ...opened.deps.reconcile, settle: day };
  const { windows } = await planReconcile(opened.deps, open, { range: { from: range.to, to: nowMicros() } });
  expect(windows[0]?.to, 'later calls may still come').toBeLessThan(nowMicros() - day);
  const counts = async () =>
    (await readReport(opened.store, { range, warehouses: ['main'], version: 'test', now: nowMicros() })).days
      .slice(0, 100)
      .map(({ state, calls_listed, missing }) => `${state} ${calls_listed} ${missing}`);
  const empty = Array<string>(100).fill('proven 0 0');
  expect(await counts()).toEqual(empty);
  const at = iso(range.from + 20.5 * day);
  await opened.simulator.insert({ timestamp: at, qualified: at });
  expect(await opened.reconcile({ force: true })).toMatchObject({ windows: 45, healed: 1, missing: 1 });
  expect(await counts()).toEqual(empty.with(20, 'healed 1 1'));
});

test('the warehouse says how fresh and proven it is, also while nothing is loaded, and only when due', async () => {
  const beat = async () => {
    await loadPending(here.deps, { warehouse: 'main', origin: 'pending' });
    return (await here.warehouse.query('SELECT * FROM sync_state'))[0] ?? {};
  };
  const [newest] = await here.warehouse.query('SELECT max(call_timestamp) AS at FROM calls');
  const first = await beat();
  expect(first).toMatchObject({ warehouse: 'main', proven_axis: 'timestamp', pending: 0, newest_call: newest?.at });
  // The last window that was read ends after the last one that was judged.
  expect(first.proven_through).toBe(new Date(wholeRange().to / 1000).toISOString());
  expect(await beat()).toEqual(first);
  await query(`UPDATE callsync.meta SET updated_at = now() - interval '1 minute' WHERE key = 'heartbeat:main'`);
  const next = await beat();
  expect(next.heartbeat_at).not.toEqual(first.heartbeat_at);
  expect({ ...next, heartbeat_at: first.heartbeat_at }).toEqual(first);
});

test("reconciling measures the loss that the simulator's truth has", async () => {
  const { webhooks } = await here.simulator.stats();
  const asked = { range: wholeRange(), warehouses: ['main'], now: Date.now() * 1000 };
  const coverage = await readCoverage(here.store, { ...asked, webhooksSince: here.range.from });
  const truth = await collect(here.simulator.truth({ light: true }));
  const listed = truth.filter(({ visibleInList, status }) => visibleInList && /^(qualified|void)$/.test(status));
  const [expected, lost] = [listed.length, listed.filter((entry) => !entry.deliveredByWebhook).length];
  expect(webhooks.dropped).toBe(lost);
  expect(coverage.webhooks).toMatchObject({ expected, lost, lossRate: lost / expected });
  expect(lost / expected).toBeGreaterThan(0.03);
  expect(coverage.deliveries).toMatchObject({ both: expected - lost, pollOnly: lost, webhookOnly: 0 });
  expect(new Set(coverage.days.map((one) => one.state))).toEqual(new Set(['proven']));
});

test('reconciling brings back calls that the ledger lost, and flags rows that the ledger does not know', async () => {
  const [lost] = await query(`DELETE FROM callsync.ledger
      WHERE call_id IN (SELECT call_id FROM callsync.ledger ORDER BY md5(call_id) LIMIT 7) RETURNING call_id`);
  for (const table of ['ledger_documents', 'warehouse_calls'])
    await query(`DELETE FROM callsync.${table} WHERE call_id NOT IN (SELECT call_id FROM callsync.ledger)`);
  await query('DELETE FROM wh_main.calls WHERE call_id = $1', [lost?.call_id]);
  await query(`INSERT INTO wh_main.calls SELECT (jsonb_populate_record(c, '{"call_id": "nobody knows it"}')).*
      FROM wh_main.calls c LIMIT 1`);
  await issueEpoch(here.store, 'restored', await here.store.epoch());
  await here.drain();
  const totals = await here.reconcile({ range: wholeRange(), force: true });
  expect(totals).toMatchObject({ missing: 7, unproven: 1, markedMissing: 0, removed: 0 });
  expect(await column(here.store, `SELECT sum(unexpected) FROM verdicts WHERE outcome = 'unproven'`)).toEqual([1]);
  await query(`DELETE FROM wh_main.calls WHERE call_id = 'nobody knows it'`);
  expect(await here.reconcile({ range: wholeRange() })).toMatchObject({ windows: 1, proven: 1 });
});

test('reconciling keeps calls of another deployment in the warehouse, and proves nothing beside them', async () => {
  await query(`INSERT INTO wh_main.calls SELECT (jsonb_populate_record(c, '{"call_id": "theirs", "ledger_epoch": 1000}')).*
      FROM wh_main.calls c LIMIT 1`);
  expect(await here.reconcile({ range: wholeRange(), force: true })).toMatchObject({ unproven: 1, removed: 0 });
  expect(await query(`DELETE FROM wh_main.calls WHERE call_id = 'theirs' RETURNING 1`)).toHaveLength(1);
  expect(await here.reconcile({ range: wholeRange() })).toMatchObject({ windows: 1, proven: 1 });
});

test('reconciling finds a call in no warehouse that came between two looks: the day is not proven', async () => {
  const [late] = await query(`SELECT call_id FROM callsync.ledger ORDER BY md5(call_id || 'late') LIMIT 1`);
  const callId = late?.call_id as string;
  const { list } = here.deps.source;
  const fetched = await list.fetchCall(callId);
  await here.forget([callId]);
  // As the inbox merge does it: folded while the window is listed, and not loaded yet.
  let folding: Promise<unknown> | undefined;
  const seen = observationOf(callId, Date.now() * 1000, fetched?.record as Record<string, unknown>);
  const totals = await reconcileWith(async function* (asked) {
    folding ??= here.fold([seen], here.deps);
    await folding;
    yield* list.readPages(asked);
  });
  expect(folding).toBeDefined();
  expect(totals).toMatchObject({ proven: 11, healed: 1, missing: 1, healedCalls: 1 });
  expect(await here.warehouse.query(`SELECT 1 AS one FROM calls WHERE call_id = '${callId}'`)).toEqual([{ one: 1 }]);
});

test('reconciling goes on after a window that fails, counts it, and takes it again', async () => {
  const { list } = here.deps.source;
  const bad = here.range.from + 3 * day;
  const failIn = (from: number, to: number, maxSeconds?: number) =>
    reconcileWith(async function* (asked) {
      if (asked.window !== undefined && asked.window.from < to && asked.window.to > from)
        throw transient('SERVICE_BROKEN', 'The list answers 500.');
      yield* list.readPages(asked);
    }, maxSeconds);
  expect(await failIn(bad, bad + day)).toMatchObject({ windows: 12, failed: 1, proven: 11 });
  // After three in a row it is the service that fails, and the activity is tried again.
  for (const maxSeconds of [3_600, 0])
    await expect(failIn(0, Number.POSITIVE_INFINITY, maxSeconds)).rejects.toMatchObject({ code: 'SERVICE_BROKEN' });
});

test('withdrawn days rest when the service refuses one for good, so that no sweep begins each minute', async () => {
  const [call] = await query('SELECT min(call_id) AS id FROM callsync.ledger WHERE poll_at IS NOT NULL');
  await withdrawProof(here.store, (_, withdraw) => withdraw([call?.id as string]));
  const readPages = () => {
    throw terminal('LIST_MALFORMED', 'The list answers something else.');
  };
  const totals = await here.reconcile({ withdrawn: true }, withList(here.deps, { readPages }));
  expect(totals).toMatchObject({ windows: 1, failed: 1 });
  expect(await here.reconcile({ withdrawn: true })).toMatchObject({ windows: 1, failed: 0, proven: 1 });
});

test('verdicts are a chain that shows a change, in the store or in the copy of the warehouse', async () => {
  await here.drain();
  const verify = async () => (await verifyVerdicts(here.store, here.deps.targets))[0];
  const sound = await verify();
  expect(sound).toMatchObject({ warehouse: 'main', broken: [], intact: true });
  expect(sound?.copy?.verdicts).toBe(sound?.verdicts);

  const tamper = async (sql: string, undo: string) => {
    await query(sql);
    return await verify().finally(() => query(undo));
  };
  const found = (by: number) => `UPDATE verdicts SET calls_found = calls_found + ${by} WHERE verdict_id = 3`;
  expect(await tamper(found(1), found(-1))).toMatchObject({ broken: [3], intact: false });
  const asked = { axis: 'timestamp', range: wholeRange(), warehouses: ['main'], level: {} };
  expect(await findUnproven(here.store, asked)).toEqual({ main: [] });
  await query('UPDATE verdicts SET calls_found = calls_found + 1');
  expect(await findUnproven(here.store, asked), 'nobody waits for less').toEqual({ main: [wholeRange()] });
  const again = await planReconcile(here.deps, comparing, { range: wholeRange() });
  expect(again.windows, 'their days are compared again').toHaveLength(12);
  await query('UPDATE verdicts SET calls_found = calls_found - 1');
  const copied = (outcome: string) => `UPDATE wh_main.verdicts SET outcome = '${outcome}' WHERE verdict_id = 3`;
  const inCopy = await tamper(copied('healed'), copied('proven'));
  expect(inCopy).toMatchObject({ broken: [], intact: false, copy: { differing: [3] } });
  for (const which of ['verdict_id = 3', 'true']) {
    const taken = `CREATE TABLE kept AS SELECT * FROM wh_main.verdicts WHERE ${which}; DELETE FROM wh_main.verdicts WHERE ${which}`;
    const outOfCopy = await tamper(taken, 'INSERT INTO wh_main.verdicts SELECT * FROM kept; DROP TABLE kept');
    const differing = which === 'true' ? expect.arrayContaining([expect.any(Number)]) : [3];
    expect(outOfCopy).toMatchObject({ broken: [], intact: false, copy: { differing } });
  }
  await query('DELETE FROM callsync.verdicts WHERE verdict_id = (SELECT max(verdict_id) FROM callsync.verdicts)');
  expect(await verify()).toMatchObject({ broken: [], intact: false });
  await query('DELETE FROM wh_main.verdicts WHERE verdict_id > (SELECT max(verdict_id) FROM callsync.verdicts)');
  const shown = { broken: [], copy: { differing: [] }, cut: [{ warehouse: 'main' }], intact: false };
  expect(await verify(), 'the head in the file outside still shows it').toMatchObject(shown);
  await withdrawProof(here.store, (_, withdraw) => withdraw({ since: 0 }));
  expect(await verify(), 'under later verdicts too').toMatchObject(shown);
  for (const cut of [`UPDATE verdicts SET axis = 'none'`, 'DELETE FROM verdicts']) {
    await query(`${cut} WHERE verdict_id = (SELECT max(verdict_id) FROM verdicts)`);
    expect(await findUnproven(here.store, asked), 'what was withdrawn stays so').toEqual({ main: [wholeRange()] });
    expect(await describeAltered(here.store, wholeRange())).toContain('main (some are gone)');
  }
});

test('reconciling shows by its key that a whole chain was rewritten, in the store and in the warehouse', async () => {
  const stored = await latestVerdicts(here.store, { from: 0, to: 4e15 });
  const { headsFile, keys } = here.store.erasures.proof;
  await query('TRUNCATE callsync.verdicts');
  const forgery = { headsFile: `${headsFile}.other`, keys: createProofKeys(Buffer.from('another key of bytes')) };
  const forger = withProof(here.store, forgery);
  for (const verdict of stored) await addVerdict(forger, { ...verdict, outcome: 'proven' });
  await query('UPDATE callsync.verdicts SET key_id = $1', [keys.currentId]);
  await query('TRUNCATE wh_main.verdicts');
  await here.drain();
  // The forger cannot name the key of others as its own, either.
  for (const under of [keys, forgery.keys]) {
    const looking = withProof(here.store, { keys: under, headsFile: `${headsFile}.none` });
    const [check] = await verifyVerdicts(looking, here.deps.targets);
    expect(check?.verdicts).toBe(stored.length);
    expect(check?.broken).toHaveLength(stored.length);
  }
  // The newest never expires, and heads of earlier epochs that it follows are not missed.
  await query('TRUNCATE callsync.verdicts, wh_main.verdicts');
  const anew = withProof(here.store, { keys, headsFile: `${headsFile}.anew` });
  for (const [at, verdict] of stored.slice(0, 3).entries()) {
    await addVerdict(anew, { ...verdict, ledger_epoch: verdict.ledger_epoch + at });
    await here.drain();
    await expireRows(here.store, { ...retention, verdict_retention: 1 });
  }
  expect(await verifyVerdicts(anew, here.deps.targets)).toMatchObject([{ verdicts: 1, intact: true }]);
});
