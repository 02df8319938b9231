/** A warehouse that was lost, restored or emptied is proven again only once it has been compared again. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { analyticsConfigSchema } from '../../../schemas/config/analytics.ts';
import type { Observation } from '../../../schemas/observation.ts';
import { createAges } from '../../../src/calls/age.ts';
import { readCoverage } from '../../../src/health/coverage/coverage.ts';
import { martSettings } from '../../../src/marts/dialect.ts';
import { renderViews } from '../../../src/marts/render-views.ts';
import { applyAges } from '../../../src/pipeline/load/apply-ages.ts';
import { applyRules } from '../../../src/pipeline/load/apply-rules.ts';
import { createLedgerCheck } from '../../../src/pipeline/load/check-ledger.ts';
import { keepSyncState, loadPendingBatch } from '../../../src/pipeline/load/load-pending.ts';
import { chooseAxis } from '../../../src/pipeline/read/choose-axis.ts';
import { rereadCalls } from '../../../src/pipeline/read/reread-calls.ts';
import { sendRowsAgain } from '../../../src/pipeline/reconcile/heal-warehouse.ts';
import { lookAtProof } from '../../../src/pipeline/reconcile/look-at-proof.ts';
import { checkTruth } from '../../../src/simulator/demo/check-truth.ts';
import { issueEpoch } from '../../../src/store/loads/warehouses.ts';
import { eraseCalls, eraseKnown } from '../../../src/store/persons/calls.ts';
import { forgetHeartbeat } from '../../../src/store/windows/windows.ts';
import { postgresWarehouseSchema } from '../../../src/warehouse/postgres/config.ts';
import { postgres } from '../../../src/warehouse/postgres/index.ts';
import { backUp } from '../../support/backup.ts';
import { day, type Installation, openInstallation } from './installation.ts';

let here: Installation;
let calls = 0;
let axis = '';
beforeAll(async () => {
  here = await openInstallation({ simulator: { seed: 11, calls: { count: 300, to: '2026-01-31T00:00:00Z' } } });
  here.setNow(Date.parse('2026-03-01T00:00:00Z'));
  await here.backfill();
  calls = (await query('SELECT count(*)::int AS n FROM ledger'))[0].n;
  axis = chooseAxis(here.deps.source.list.list, here.deps.processedField)?.axis ?? '';
});
afterAll(() => here.close());

const query = async (sql: string) => (await here.store.pool.query(sql)).rows;
const ensureMarts = () =>
  here.warehouse.ensureViews(
    'wh_main_marts',
    renderViews(
      postgres.place(postgresWarehouseSchema.parse({ type: 'postgres', schema: 'wh_main' })),
      martSettings(analyticsConfigSchema.parse({})),
    ),
  );
const notice = () =>
  createLedgerCheck({
    store: here.store,
    warehouses: [here.warehouse],
    say: () => undefined,
  }).run();
const look = async () =>
  (await lookAtProof(here.store, { axis, range: here.range, warehouses: [here.warehouse], level: {} })).proven;

/** What both say of a warehouse, and how many of its calls are there: in one statement, so of one moment. */
const sample = async () => {
  const proven = await look();
  const [there] = await query(
    `SELECT to_regclass('wh_main.calls') IS NOT NULL AND to_regclass('wh_main_marts.completeness_daily') IS NOT NULL AS ok`,
  );
  if (!there.ok) return { proven, provenDays: 0, calls: 0 };
  const [row] = await query(`SELECT (SELECT count(*)::int FROM wh_main.calls) AS calls,
    (SELECT count(*)::int FROM wh_main_marts.completeness_daily WHERE completeness = 'proven') AS days`).catch(() => [
    { calls: 0, days: 0 },
  ]);
  return { proven, provenDays: row.days as number, calls: row.calls as number };
};

const prove = async () => {
  await ensureMarts();
  await here.drain();
  await here.reconcile({ force: true, acceptEmpty: true });
  await here.drain();
  await keepSyncState(here.deps, here.target);
};

const losses: Readonly<Record<string, () => Promise<unknown>>> = {
  'was dropped': () => query('DROP SCHEMA wh_main CASCADE; DROP SCHEMA IF EXISTS wh_main_marts CASCADE'),
  'was emptied': () => query('DELETE FROM wh_main.calls; DELETE FROM wh_main.utterances'),
  'was restored as it was after its first load': () =>
    query(`DELETE FROM wh_main.verdicts; DELETE FROM wh_main.loads WHERE loaded_at > (SELECT min(loaded_at) FROM wh_main.loads);
           DELETE FROM wh_main.calls WHERE load_id NOT IN (SELECT load_id FROM wh_main.loads)`),
};

test.each(Object.entries(losses))('a warehouse that %s is never proven while rows are missing', async (_, lose) => {
  await prove();
  const before = await sample();
  expect(before).toMatchObject({ proven: true, calls });
  expect(before.provenDays).toBeGreaterThan(10);

  await lose();
  const wrong: unknown[] = [];
  let isTold = false;
  const watch = async () => {
    const told = isTold;
    const found = await sample();
    // Its own marts know with the first load that comes after the loss was noticed.
    if (found.proven || (told && found.calls < calls && found.provenDays > 0)) wrong.push(found);
  };
  await watch();
  let refilling = true;
  const watching = (async () => {
    for (await delay(100); refilling; await delay(100)) await watch();
  })();
  await here.warehouse.migrate();
  await watch();
  await notice();
  await ensureMarts();
  for (;;) {
    const loaded = await loadPendingBatch(here.deps, here.target, { origin: 'pending' });
    isTold = true;
    await watch();
    if (loaded === undefined) break;
    await keepSyncState(here.deps, here.target);
  }
  refilling = false;
  await watching;
  expect(wrong).toEqual([]);
  expect(await sample()).toMatchObject({ proven: false, calls });
  await here.reconcile({ acceptEmpty: true });
  await here.drain();
  expect(await sample()).toMatchObject({ proven: true, calls });
});

test('a ledger that was restored while calls moved to another day is never proven while a row is wrong', async () => {
  await prove();
  const restore = await backUp(here.store.pool, 'callsync');
  const patch = { timestamp: '2026-01-20T12:00:00Z' };
  const moved = await here.simulator.edit({ random: 20, seed: 3, patch, requalify: false });
  await here.backfill();
  await here.drain();
  await restore();
  const ids = moved.map(({ callId }) => `'${callId}'`).join(', ');
  const wrongSql = `SELECT count(*)::int AS n FROM wh_main.calls WHERE call_id IN (${ids}) AND call_timestamp <> '${patch.timestamp}'`;
  const wrong: unknown[] = [];
  let seenWrong = 0;
  let isOver = false;
  const watch = async () => {
    // Rows first: what is right later may be proven later.
    const [{ n }] = await query(wrongSql);
    const found = await sample();
    const [{ n: still }] = await query(wrongSql);
    seenWrong = Math.max(seenWrong, n);
    if (n > 0 && still > 0 && (found.proven || found.provenDays > 0)) wrong.push({ n, ...found });
  };
  const watching = (async () => {
    for (; !isOver; await delay(100)) await watch();
  })();
  await notice();
  for (let loaded: unknown = true; loaded !== undefined; await watch())
    loaded = await loadPendingBatch(here.deps, here.target, { origin: 'pending' });
  await rereadCalls(here.deps, new AbortController().signal);
  await here.drain();
  await here.reconcile({ acceptEmpty: true });
  await here.drain();
  await keepSyncState(here.deps, here.target);
  isOver = true;
  await watching;
  expect(seenWrong).toBeGreaterThan(0);
  expect(wrong).toEqual([]);
  expect(await sample()).toMatchObject({ proven: true });
  const truth = await checkTruth(here.simulator, here.warehouse, ({ status }) =>
    ['qualified', 'void'].includes(status),
  );
  expect(truth).toMatchObject({ lost: 0, stale: 0, mismatched: 0, duplicated: 0 });
}, 240_000);

/** What a verdict covers is sent again, restored, erased or taken from: each on a call of a day of its own, the oldest day first. */
const triggers: Readonly<Record<string, (id: string, cut: number) => Promise<unknown>>> = {
  'is too old for its words': (_, cut) =>
    applyAges(here.deps, createAges({ words: Date.now() - cut }), { dryRun: false }),
  'is too old': (_, cut) => applyAges(here.deps, createAges({ calls: Date.now() - cut }), { dryRun: false }),
  'is sent again': (id) => sendRowsAgain(here.deps, 'main', [id]),
  'is erased': (id) => eraseCalls(here.store, [id]),
  'is erased as the log says': (id) => eraseKnown(here.store, [id]),
  'comes under other rules': async (id) => {
    const sanitize = (one: Observation) =>
      one.callId === id ? { ...one, fields: { ...one.fields, status: 'x' } } : one;
    const admit = (body: Buffer) => ({ body, bodyHash: body });
    await applyRules(here.deps, { version: 'r2', sanitize, admit });
  },
  'is in a ledger that was restored': () => issueEpoch(here.store, 'restored', 0),
};

test('a day of which a call is sent again, taken from, erased or restored is not proven from then on', async () => {
  await prove();
  const { provenDays } = await sample();
  const firsts = await query(
    `SELECT DISTINCT ON (date_trunc('day', call_timestamp, 'UTC')) call_id AS id, extract(epoch FROM call_timestamp) * 1e6 AS at
       FROM ledger JOIN ledger_documents USING (call_id) ORDER BY date_trunc('day', call_timestamp, 'UTC'), call_timestamp`,
  );
  const stateOf = async (from: number) => {
    const coverage = await readCoverage(here.store, { range: here.range, warehouses: ['main'], now: here.range.to });
    const request = { axis, range: { from, to: from + day }, warehouses: [here.warehouse], level: {} };
    const { proven } = await lookAtProof(here.store, request);
    return [proven, coverage.days.find((one) => one.from === from)?.byWarehouse.main];
  };
  const touched: number[] = [];
  for (const [index, [name, cause]] of Object.entries(triggers).entries()) {
    const { id, at } = firsts[index] as { id: string; at: string };
    const from = Math.floor(Number(at) / day) * day;
    expect(await stateOf(from), name).toEqual([true, expect.stringMatching(/proven|healed/)]);
    await cause(id, (Number(at) + 1) / 1000);
    expect(await stateOf(from), name).toEqual([false, 'unproven']);
    touched.push(from);
  }
  await here.drain();
  await forgetHeartbeat(here.store, 'main');
  await keepSyncState(here.deps, here.target);
  for (const from of touched) expect(await stateOf(from)).toEqual([false, 'unproven']);
  expect((await sample()).provenDays).toBeLessThan(provenDays);
}, 120_000);
