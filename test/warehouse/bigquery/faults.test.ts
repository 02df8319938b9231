/** Loads when BigQuery refuses, forgets, conflicts or is slow: against the strict stand-in before the emulator. */
import { Registry } from 'prom-client';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readUsages } from '../../../src/app/open-health.ts';
import { shareReading, watchUsage } from '../../../src/health/metrics/registry.ts';
import { createLedgerCheck } from '../../../src/pipeline/load/check-ledger.ts';
import { listRefused } from '../../../src/store/loads/loads.ts';
import { expireRows } from '../../../src/store/retention.ts';
import { countRows } from '../../../src/warehouse/content-hash.ts';
import { createLocalQuota } from '../../support/open-bigquery.ts';
import { observationOf, openPipeline, register, retention } from '../../support/pipeline.ts';
import { refusal } from '../../support/refusal.ts';
import type { Trouble } from '../../support/strict-bigquery.ts';
import { makeBatch, makeCall, makeLogRow, rowsOfCall } from '../batches.ts';
import { describeConflicts, describeKills, describeLostResponses } from './fault-cases.ts';
import { orphansWithoutExpiry, strictForTest, useStrict } from './strict-warehouse.ts';

describeLostResponses({ lost: 5 });
describeConflicts({ inARow: 12 });
// All points: npm run campaign -- kills bigquery.
describeKills(1, ['staging-made', 'script-accepted', 'script-done']);

describe('one load', () => {
  const setup = useStrict();
  let next = 0;
  const newBatch = (over: Parameters<typeof makeBatch>[0] = {}) => {
    next += 1;
    return makeBatch({ calls: [makeCall({ callId: `call-${next}` }), makeCall({ callId: `other-${next}` })], ...over });
  };
  const stagingTables = () => [...setup.strict.tables.keys()].filter((name) => name.includes('staging'));
  const changedIn = ({ loadId }: { loadId: string }) =>
    setup.warehouse.query(`SELECT calls_changed AS n FROM loads WHERE load_id = '${loadId}'`);
  const acceptedNow = () => ({ ...setup.strict.accepted });

  test('is two jobs, with log rows and all; nothing to load is none', async () => {
    const { load, script, query } = acceptedNow();
    const deliveries = [makeLogRow('deliveries', { seq: 1, received_at: 1, outcome: 'accepted' })];
    for (const batch of [newBatch({ logs: { deliveries } }), makeBatch({})]) {
      expect(await setup.warehouse.load(batch)).toMatchObject({ changed: batch.calls.length, unchanged: 0 });
      expect(acceptedNow()).toEqual({ load: load + 1, script: script + 1, query });
    }
    expect(stagingTables()).toEqual([]);
  });

  test('a load that another process does again changes nothing, and keeps its row of loads', async () => {
    const batch = newBatch();
    expect(await setup.warehouse.load(batch)).toMatchObject({ changed: 2, unchanged: 0 });
    expect(await setup.open().load(batch)).toMatchObject({ changed: 0, unchanged: 2 });
    expect(await changedIn(batch)).toEqual([{ n: 2 }]);
  });

  const refused = (status: number, reason: string): Trouble => ({
    kind: 'refused',
    error: { status, reason, message: `${reason} happened` },
  });
  const failed = (reason: string): Trouble => ({ kind: 'job-error', reason, message: `${reason} happened` });

  test.each([
    ['refused for its rate', refused(403, 'rateLimitExceeded')],
    ['ended by an internal error', failed('internalError')],
    ['stopped', failed('stopped')],
  ] as const)('goes on after a job that was %s', async (_name, trouble) => {
    for (const kind of ['load', 'script'] as const) setup.strict.troubles[kind].push(trouble, trouble);
    expect(await setup.warehouse.load(newBatch())).toMatchObject({ changed: 2, unchanged: 0 });
    expect(setup.strict.troubles).toMatchObject({ load: [], script: [] });
    expect(orphansWithoutExpiry(setup.strict)).toEqual([]);
  });

  test.each([
    ['a quota is used up', refused(403, 'quotaExceeded'), 'QUOTA', { kind: 'transient', retryAfterMs: 600_000 }],
    ['access is denied', refused(403, 'accessDenied'), 'ACCESS_DENIED', { kind: 'terminal' }],
    ['the statement is refused', failed('invalidQuery'), 'REFUSED', { kind: 'terminal' }],
    ['the limit on bytes is reached', failed('bytesBilledLimitExceeded'), 'BYTES_LIMIT', { kind: 'terminal' }],
  ] as const)('ends with a clear error, and once, when %s', async (_name, trouble, code, error) => {
    const batch = newBatch();
    setup.strict.troubles.script.push(trouble);
    await expect(setup.warehouse.load(batch)).rejects.toMatchObject({ ...error, code: `BIGQUERY_${code}` });
    expect(setup.strict.troubles.script).toEqual([]);
    expect(await setup.warehouse.query(`SELECT 1 FROM loads WHERE load_id = '${batch.loadId}'`)).toEqual([]);
  });

  test('survives lost answers of everything else, too, and is staged once', async () => {
    const before = acceptedNow();
    setup.strict.troubles.other.push({ kind: 'lost-response' }, { kind: 'lost-request' }, { kind: 'lost-response' });
    expect(await setup.warehouse.load(newBatch())).toMatchObject({ changed: 2, unchanged: 0 });
    expect(acceptedNow().load).toBe(before.load + 1);
    setup.strict.troubles.other.length = 0;
  });

  test('stages again when the staging table is gone before it was applied', async () => {
    let gone = false;
    setup.strict.onPoint(async (point) => {
      if (point !== 'load-done' || gone) return;
      gone = true;
      const [name] = stagingTables();
      await setup.ask('DELETE', `/datasets/${setup.emulator.dataset}/tables/${name?.split('.')[1]}`);
    });
    expect(await setup.warehouse.load(newBatch())).toMatchObject({ changed: 2, unchanged: 0 });
    expect(gone).toBe(true);
    setup.strict.onPoint(() => undefined);
  });

  test('submits nothing when the quota is used up, says when to come back, and shows it in the metric', async () => {
    let passedMs = 0;
    const limits = { jobsPerDay: 2, spacingMs: 0, commitIntervalMs: 0, changesIntervalMs: 0 };
    const warehouse = setup.open({ quota: createLocalQuota(limits, () => Date.now() + passedMs) });
    const registry = new Registry();
    const usages = shareReading(() => readUsages([{ warehouse }]), { cacheMs: -1 });
    watchUsage(registry, usages);
    const usedRatio = async () =>
      Number(/^callsync_quota_used_ratio\{.*\} (\S+)$/m.exec(await registry.metrics())?.[1] ?? 0);
    expect(await usedRatio()).toBe(0);
    await warehouse.load(newBatch());
    passedMs = 13 * 3_600_000;
    await warehouse.load(newBatch());
    expect(await usedRatio()).toBe(1);
    const before = acceptedNow();
    const reserved = { kind: 'transient', code: 'BIGQUERY_QUOTA_RESERVED', retryAfterMs: expect.any(Number) };
    await expect(warehouse.load(newBatch())).rejects.toMatchObject(reserved);
    expect(acceptedNow()).toEqual(before);
    expect(await warehouse.pace?.readUsage()).toMatchObject({ jobs: { used: 2, limit: 2 } });
    passedMs += 25 * 3_600_000;
    expect(await usedRatio()).toBe(0);
    await warehouse.load(newBatch());
  });

  test('into a dataset that was never migrated says what to do', async () => {
    const warehouse = setup.open({ config: { ...setup.config, dataset: 'never_made' } });
    const said = await refusal(warehouse.load(newBatch()));
    expect(said).toMatch(/^terminal BIGQUERY_NOT_FOUND: .*callsync warehouse fill/);
  });

  test('of calls on more days than one job may touch is refused before it is sent, so that callers divide it', async () => {
    const dates = (from: number) =>
      Array.from({ length: 900 }, (_, index) => new Date((from + index * 3) * 86_400_000).toISOString().slice(0, 10));
    const calls = [0, 1, 2].map((from) => makeCall({ callId: `wide-${from}`, partitions: dates(from) }));
    const before = acceptedNow();
    await expect(setup.warehouse.load(makeBatch({ calls }))).rejects.toMatchObject({ code: 'BIGQUERY_TOO_LARGE' });
    expect(acceptedNow()).toEqual(before);
    expect(await setup.warehouse.load(makeBatch({ calls: calls.slice(1) }))).toMatchObject({ changed: 2 });
  });
});

/** A ledger and a dataset, until the end of the test. */
const openBoth = async () => {
  const [pipeline, setup] = await Promise.all([openPipeline(), strictForTest()]);
  onTestFinished(pipeline.close);
  return { pipeline, setup };
};

/** Where rows may be under dates that the ledger does not know, every commit looks for them, until the last is replaced. */
test('the fence is cleared once no row of an earlier epoch is left', async () => {
  const clock = { now: Date.now() };
  const { open } = await strictForTest();
  const warehouse = open({ clock: () => clock.now });
  const load = (callId: string, epoch: number) => warehouse.load(makeBatch({ epoch, calls: [makeCall({ callId })] }));
  const earlier = async () => (await warehouse.query('SELECT earlier_epochs AS e FROM fence'))[0]?.e;
  await warehouse.load(makeBatch({ calls: ['a', 'b'].map((callId) => makeCall({ callId })) }));
  expect(await load('a', 2)).toMatchObject({ changed: 1, unchanged: 0 });
  clock.now += 3_700_000;
  expect(await load('b', 2)).toMatchObject({ changed: 1, unchanged: 0 });
  expect(await earlier()).toBe(true);
  clock.now += 3_700_000;
  expect(await load('c', 2)).toMatchObject({ changed: 1, unchanged: 0 });
  expect(await earlier()).toBe(false);
  expect(await countRows(warehouse)).toMatchObject({ calls: 3 });
});

test('a call with too large a row for a load holds back no other, and the store names it', async () => {
  const { pipeline, setup } = await openBoth();
  await register(pipeline.store, 'bq');
  setup.strict.limits.rowBytes = 100_000;
  const words = Array.from({ length: 5_000 }, (_, n) => ({ value: `word${n}`, start: n, length: 0.1, score: 0.9 }));
  const large = { transcript_json: { callData: [{ content: 'many', words }] } };
  const ids = Array.from({ length: 8 }, (_, n) => `small-${n}`);
  await pipeline.observe([observationOf('large', 1, large), ...ids.map((id) => observationOf(id, 1))]);
  const target = { warehouse: setup.warehouse, documents: false };
  expect(await pipeline.drain(target)).toEqual({ sent: 9, changed: 8 });
  const found = await setup.warehouse.query('SELECT call_id FROM calls ORDER BY 1');
  expect(found.map(({ call_id }) => call_id)).toEqual(ids);
  const why = expect.stringMatching(/^BIGQUERY_REFUSED: .*Row size is larger/);
  expect(await listRefused(pipeline.store)).toEqual([{ warehouse: 'bq', callId: 'large', why }]);
  const before = { ...setup.strict.accepted };
  expect(await pipeline.drain(target)).toEqual({ sent: 0, changed: 0 });
  expect(setup.strict.accepted).toEqual(before);
});

test('a dataset whose calls the store has forgotten, or knows under another name, gets no call twice', async () => {
  const { pipeline, setup } = await openBoth();
  const { store, query } = pipeline;
  const short = { ...retention, inbox_retention: 1, quarantine_retention: 1, frame_retention: 1, load_retention: 1 };
  let observedAt = 0;
  const write = async (day: number) => {
    observedAt += 1;
    await pipeline.observe([observationOf('moves', observedAt, { timestamp: `2026-01-0${day}T10:00:00Z` })]);
  };
  /** As a worker does that has the dataset in its configuration. */
  const loadAs = async (name: string) => {
    const warehouse = setup.open({ name });
    await register(store, name);
    await createLedgerCheck({ store, warehouses: [warehouse], say: () => {} }).run();
    await register(store, name);
    await pipeline.drain({ warehouse, documents: false });
    return (await rowsOfCall(warehouse, 'calls', 'moves')).map((row) => Number(row.call_timestamp) / 86_400_000_000);
  };
  const dayOf = (day: number) => Date.parse(`2026-01-0${day}T10:00:00Z`) / 86_400_000;
  // More loads than one run of maintenance deletes: the ledger still knows those of the dataset.
  await register(store, 'bq');
  await query(`INSERT INTO loads (load_id, warehouse, epoch, flatten_version, origin, calls, state, created_at)
                 SELECT 'old' || n, 'bq', 1, 1, 'test', 1, 'failed', now() - interval '500 days' FROM generate_series(1, 10500) n`);
  await write(1);
  expect(await loadAs('bq')).toEqual([dayOf(1)]);
  await query(`UPDATE warehouses SET configured_at = now() - interval '401 days' WHERE name = 'bq'`);
  await expireRows(store, short);
  await write(2);
  expect(await loadAs('bq')).toEqual([dayOf(2)]);
  await query(`UPDATE warehouses SET configured_at = now() - interval '8 days' WHERE name = 'bq'`);
  await write(3);
  expect(await loadAs('renamed')).toEqual([dayOf(3)]);
});
