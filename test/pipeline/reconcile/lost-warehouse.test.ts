/** PostgreSQL; `npm run campaign -- restore proof` does the same on BigQuery. */
import { expect, test } from 'vitest';
import type { Observation } from '../../../schemas/observation.ts';
import { createAges } from '../../../src/calls/age.ts';
import { readCoverage } from '../../../src/health/coverage/coverage.ts';
import { readProofs } from '../../../src/health/read-health.ts';
import { applyAges } from '../../../src/pipeline/load/apply-ages.ts';
import { applyRules } from '../../../src/pipeline/load/apply-rules.ts';
import { sendRowsAgain } from '../../../src/pipeline/reconcile/compare-warehouse.ts';
import { issueEpoch } from '../../../src/store/loads/warehouses.ts';
import { eraseCalls, eraseKnown } from '../../../src/store/persons/calls.ts';
import { addVerdict, latestVerdicts, readWithdrawals } from '../../../src/store/windows/verdicts.ts';
import { postgresWarehouseSchema } from '../../../src/warehouse/postgres/config.ts';
import { postgres } from '../../../src/warehouse/postgres/index.ts';
import { untilBlocked } from '../../support/pipeline.ts';
import { day, openInstallation } from './installation.ts';
import { describeLosses } from './lost-warehouse-cases.ts';

const { site, prove, sample, isProven, saySyncState } = describeLosses(async () => {
  const calls = { count: 200, utterances: 4, words: 4, to: '2026-01-31T00:00:00Z' };
  const here = await openInstallation({ simulator: { seed: 11, calls } });
  here.setNow(Date.parse('2026-03-01T00:00:00Z'));
  const place = postgres.place(postgresWarehouseSchema.parse({ type: 'postgres', schema: 'wh_main' }));
  const execute = (sql: string) => here.store.pool.query(sql);
  const drop = () => execute(`DROP SCHEMA wh_main CASCADE; DROP SCHEMA IF EXISTS ${place.marts} CASCADE`);
  return { here, place, execute, drop };
});

type Verdict = Awaited<ReturnType<typeof latestVerdicts>>[number];

/**
 * A call under a verdict is sent again, restored, erased or taken away. Each case has a call whose day is then no
 * longer proven.
 */
const age = (limit: 'words' | 'calls') => (_: string, cut: number) =>
  applyAges(site.here.deps, createAges({ [limit]: Date.now() - cut }), { dryRun: false });
const triggers: Readonly<Record<string, (id: string, cut: number) => Promise<unknown>>> = {
  'is sent again': (id) => sendRowsAgain(site.here.deps.store, 'main', [id]),
  'is erased': (id) => eraseCalls(site.here.store, [id]),
  'is erased as the log says': (id) => eraseKnown(site.here.store, [id]),
  'is too old for its words': age('words'),
  'is too old': age('calls'),
  'comes under other rules': (id) => {
    const sanitize = (one: Observation) =>
      one.callId === id ? { ...one, fields: one.fields.with({ status: 'x' }) } : one;
    const admit = (body: Buffer) => ({ body, bodyHash: body });
    return applyRules(site.here.deps, { version: `rules of ${id}`, sanitize, admit });
  },
  'is in a ledger that was restored': () => issueEpoch(site.here.store, 'restored', 0),
};

const oldestCall = async () => {
  const [{ id, at } = { id: '', at: 0 }] = await site.here.query<{ id: string; at: number }>(`SELECT
      call_id AS id, (extract(epoch FROM call_timestamp) * 1e6)::bigint AS at
    FROM ledger JOIN ledger_documents USING (call_id) ORDER BY call_timestamp LIMIT 1`);
  return { id, at, touched: Math.floor(at / day) * day };
};

test.each(Object.entries(triggers))('a day of which a call %s is not proven from then on', async (_, cause) => {
  const { here } = site;
  await prove();
  const { provenDays } = await sample();
  const { id, at, touched } = await oldestCall();
  const stateOf = async () => {
    const coverage = await readCoverage(here.store, { range: here.range, warehouses: ['main'], now: here.range.to });
    const proven = await isProven({ from: touched, to: touched + day });
    return [proven, coverage.days.find(({ from }) => from === touched)?.byWarehouse.main];
  };
  expect(await stateOf()).toEqual([true, expect.stringMatching(/proven|healed/)]);
  await cause(id, (at + 1) / 1000);
  expect(await stateOf()).toEqual([false, 'read']);
  const [proofs] = await readProofs(here.store, { warehouses: ['main'], days: 100_000 });
  expect(proofs).toMatchObject({ withdrawn: proofs?.unproven });
  await here.drain();
  await saySyncState();
  expect(await stateOf()).toEqual([false, 'read']);
  expect((await sample()).provenDays).toBeLessThan(provenDays);
});

test('what happens to a day after its comparison withdraws the verdict on that day, and on no other', async () => {
  const { store } = site.here;
  await prove();
  for (const [name, cause] of Object.entries(triggers)) {
    // Rows that a comparison finds wrong, and sends again, are its own.
    if (name === 'is sent again') continue;
    const { id, at, touched } = await oldestCall();
    const verdicts = await latestVerdicts(store, { from: touched, to: touched + 5 * day });
    const of = (from: number) => verdicts.find((one) => one.window_from === from) as Verdict;
    const [about, other] = [of(touched), of(touched + 4 * day)];
    const before = await readWithdrawals(store, 'main');
    const add = async (day: Verdict, since = before) =>
      (await addVerdict(store, { ...day, outcome: 'proven' }, since)).outcome;
    expect(await add(about)).toBe('proven');
    await cause(id, (at + 1) / 1000);
    expect([name, await add(about)]).toEqual([name, 'unproven']);
    if (!name.includes('restored')) expect([name, await add(other)]).toEqual([name, 'proven']);
    expect(await add(about, await readWithdrawals(store, 'main'))).toBe('proven');
  }
});

test('a verdict waits for an erasure that is under way, the first of a warehouse too', async () => {
  const { store } = site.here;
  await prove();
  const { id, touched } = await oldestCall();
  const [about] = (await latestVerdicts(store, { from: touched, to: touched + day })) as [Verdict];
  await store.query('DELETE FROM verdicts');
  await store.query(`DELETE FROM meta WHERE starts_with(key, 'proven-signed:')`);
  const before = await readWithdrawals(store, 'main');
  let adding: ReturnType<typeof addVerdict> | undefined;
  await eraseCalls(store, [id], async () => {
    adding = addVerdict(store, about, before);
    await untilBlocked(store, adding);
  });
  // As a withdrawal, which coverage and health take for a day that waits for its comparison.
  expect(await adding).toMatchObject({ outcome: 'unproven', calls_found: 0, missing: 0, different: 0 });
});
