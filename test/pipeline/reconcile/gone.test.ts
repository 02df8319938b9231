import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import { openAges, processedFieldOf } from '../../../src/app/activity-deps.ts';
import { createAges } from '../../../src/calls/age.ts';
import { drawCoverage, readCoverage } from '../../../src/health/coverage/coverage.ts';
import { applyAges } from '../../../src/pipeline/load/apply-ages.ts';
import { addHold } from '../../../src/pipeline/persons/hold.ts';
import { readChanged } from '../../../src/pipeline/read/read-changed.ts';
import { reconcileWindow } from '../../../src/pipeline/reconcile/reconcile-window.ts';
import { eraseCalls } from '../../../src/store/persons/calls.ts';
import { verifyVerdictChain } from '../../../src/store/windows/verdicts.ts';
import { configFor } from '../../source/local-server.ts';
import { openMemoryList } from '../../source/memory-list.ts';
import { mean } from '../../support/persons.ts';
import { observationOf, openPipeline } from '../../support/pipeline.ts';
import { collect, column } from '../../support/rows.ts';
import { day, type Installation, openInstallation, useInstallation } from './installation.ts';

const dayMs = 86_400_000;
const end = Math.floor(Date.now() / dayMs) * dayMs - 10 * dayMs;
const begin = end - 4 * dayMs;
const range = { from: begin * 1000, to: end * 1000 };
const textOf = (ms: number): string => new Date(ms).toISOString();
const times = { from: textOf(begin), to: textOf(end) };
const even = { otherShare: 0, density: 'even' } as const;
const calls = { count: 240, utterances: 2, words: 3, ...even, ...times };

/** An installation that has read everything. */
const install = async (more: SimulatorOptions = {}): Promise<Installation> => {
  const here = await openInstallation({ simulator: { calls, ...more } });
  onTestFinished(() => here.close());
  await here.backfill();
  return here;
};
/** Calls that are marked missing, in the ledger and in the warehouse. */
const missing = async ({ store, warehouse }: Installation) => {
  const marked = (table: string) => `SELECT call_id FROM ${table} WHERE source_deleted_at IS NOT NULL ORDER BY 1`;
  return [await column(store, marked('ledger')), await column(warehouse, marked('calls'))];
};
/** Deletes so many calls at the service. @returns their ids */
const deleteSome = async ({ simulator }: Installation, random: number) =>
  (await simulator.delete({ random, seed: 4 })).map(({ callId }) => callId).sort();

/** Calls whose own time is before this. */
const idsBefore = async ({ simulator }: Installation, ms: number): Promise<string[]> =>
  (await collect(simulator.truth({ light: true }))).flatMap(({ timestamp, callId }) =>
    Date.parse(timestamp) < ms ? [callId] : [],
  );

test('a call that the service no longer lists is marked in ledger and warehouse until it is seen again', async () => {
  const installed = await install();
  const gone = await deleteSome(installed, 3);
  const totals = await installed.reconcile({ range });
  expect(totals).toMatchObject({ windows: 4, proven: 4, markedMissing: 3, missing: 0, different: 0 });
  expect(await missing(installed)).toEqual([gone, gone]);
  expect(await column(installed.store, 'SELECT sum(deleted)::int FROM verdicts')).toEqual([3]);
  expect(await installed.reconcile({ range, force: true })).toMatchObject({ proven: 4, markedMissing: 0 });

  await installed.query(`UPDATE ledger SET source_deleted_at = now() - interval '1 hour' WHERE call_id =
         (SELECT min(call_id) FROM ledger WHERE source_deleted_at IS NULL)`);
  await installed.reconcile({ range, force: true });
  expect(await missing(installed)).toEqual([gone, gone]);
});

test('a call that moved or changed its status is followed by its id, and not marked as gone', async () => {
  const installed = await install();
  const later = textOf(end + dayMs);
  const edit = async (seed: number, patch: Record<string, string>) =>
    (await installed.simulator.edit({ random: 1, seed, patch, requalify: false }))[0];
  const [moved, other] = [await edit(1, { timestamp: later }), await edit(2, { status: 'error' })];
  expect(moved?.callId).not.toBe(other?.callId);
  expect(await installed.reconcile({ range })).toMatchObject({ windows: 4, unproven: 0, markedMissing: 0 });
  const shown = (name: string, id = '') =>
    column(installed.warehouse, `SELECT ${name} FROM calls WHERE call_id = '${id}'`);
  expect(await shown('call_timestamp', moved?.callId)).toEqual([new Date(later).toISOString()]);
  expect(await shown('status', other?.callId)).toEqual(['error']);
});

test('a call is marked as gone after two agreeing listings where single calls cannot be asked for', async () => {
  const installed = await install({ dialectOverrides: { single: false } });
  delete (installed.deps.source.list.list as { single_path?: string }).single_path;
  const [early, all] = await Promise.all([end - dayMs / 2, end].map((ms) => idsBefore(installed, ms)));
  const callIds = all?.filter((id) => !early?.includes(id)).slice(0, 1) ?? [];
  await installed.simulator.edit({ callIds, patch: { timestamp: textOf(end + dayMs / 4) }, requalify: false });
  const sent = observationOf('by webhook', range.from, { timestamp: textOf(begin + 5e6), status: 'void' }, 'webhook');
  await installed.observe([sent], installed.deps);
  expect(await installed.reconcile({ range })).toMatchObject({ markedMissing: 0, unproven: 2 });
  const gone = await deleteSome(installed, 2);
  expect(await installed.reconcile({ range, force: true })).toMatchObject({ markedMissing: 2, unproven: 2 });
  expect((await missing(installed))[1]).toEqual(gone);
});

test('a day with calls too old to be kept is proven, and says how many aged out; held ones stay', async () => {
  const installed = await install();
  const { store, deps } = installed;
  const cutMs = begin + 1.5 * dayMs;
  const old = await idsBefore(installed, cutMs);
  await installed.forget(old.slice(0, 5));
  const aged = old.length - 1;
  await addHold(store, mean({ kind: 'call', values: [old[5] as string] }), { reason: 'case 17', actor: 'clerk' });
  const limit = Date.now() - cutMs;
  const ages = createAges({ calls: limit, words: limit });
  Object.assign(deps, { ages });
  await applyAges(deps, ages, { dryRun: false });
  await installed.drain();

  expect(await installed.reconcile({ range })).toMatchObject({ windows: 4, proven: 4, missing: 0, healedCalls: 0 });
  const sums = 'sum(calls_listed)::int AS listed, sum(calls_found)::int AS found, sum(excluded)::int AS out';
  expect(await store.query(`SELECT ${sums} FROM verdicts`)).toEqual([{ listed: 240, found: 240 - aged, out: aged }]);
  expect((await installed.warehouse.query('SELECT count(*)::int AS n FROM calls'))[0]?.n).toBe(240 - aged);
  const coverage = await readCoverage(store, { range, warehouses: ['main'], now: range.to });
  expect(coverage.days.map(({ state }) => state)).toEqual(Array(4).fill('proven'));
  expect(coverage.days.reduce((sum, { excludedCalls }) => sum + excludedCalls, 0)).toBe(aged);
  expect(drawCoverage(coverage)).toMatch(/proven, \d+ calls aged out or erased/);
  const sound = { warehouse: 'main', verdicts: 4, broken: [], cut: [] };
  expect(await verifyVerdictChain(store)).toContainEqual(expect.objectContaining(sound));
  // Whole records are compared with what the ledger has: of a held call nothing is too old there.
  const whole = await installed.reconcile({ range, force: true, level: 'records' });
  expect(whole).toMatchObject({ windows: 4, proven: 4, healed: 0, different: 0, healedCalls: 0 });
});

test('an erased call costs no other day its proof, and its own day is proven again at the same level', async () => {
  const installed = await install();
  await installed.reconcile({ range, warehouseLevel: 'rows' });
  const [id] = await idsBefore(installed, begin + dayMs / 4);
  await eraseCalls(installed.store, [id as string]);
  expect(await installed.reconcile({ withdrawn: true })).toMatchObject({ windows: 1, proven: 1, different: 0 });
  const verdicts = await installed.query('SELECT outcome, warehouse_level, excluded FROM verdicts ORDER BY verdict_id');
  expect(verdicts.slice(4).map(({ outcome }) => outcome)).toEqual(['unproven', 'proven']);
  expect(verdicts.at(-1)).toMatchObject({ warehouse_level: 'rows', excluded: 1 });
  expect(await installed.warehouse.query('SELECT count(*)::int AS n FROM verdicts')).toEqual([{ n: 6 }]);
  expect(await installed.reconcile({ withdrawn: true })).toMatchObject({ windows: 0 });
});

test('a window that is suddenly empty is flagged and changes nothing, until somebody says that it is true', async () => {
  const installed = await install();
  await installed.reconcile({ range });
  const all = await idsBefore(installed, begin + dayMs);
  await installed.simulator.delete({ callIds: all });
  const flagged = await installed.reconcile({ range, force: true });
  expect(flagged).toMatchObject({ windows: 4, suspicious: 1, proven: 3, markedMissing: 0 });
  expect((await missing(installed))[0]).toEqual([]);
  expect(await installed.reconcile({ range })).toMatchObject({ windows: 1, suspicious: 1 });

  const accepted = await installed.reconcile({ range, acceptEmpty: true });
  expect(accepted).toMatchObject({ windows: 1, suspicious: 0, markedMissing: all.length });
  expect((await missing(installed))[1]).toEqual(all.sort());
});

test('a window that is suddenly empty is flagged by the weeks before, also if the ledger knows none of it', async () => {
  const month = end - 28 * dayMs;
  const installed = await install({ calls: { ...calls, from: textOf(month), count: 840 } });
  const last = { from: range.to - day, to: range.to };
  await installed.reconcile({ range: { from: month * 1000, to: last.from } });
  const since = 'SELECT call_id FROM ledger WHERE call_timestamp >= to_timestamp($1)';
  const ids = await column<string>(installed.store, since, [last.from / 1e6]);
  expect(ids.length).toBeGreaterThan(20);
  await installed.simulator.delete({ callIds: ids });
  await installed.forget(ids);
  expect(await installed.reconcile({ range: last })).toMatchObject({ windows: 1, suspicious: 1 });
});

test.each([
  ['times.closed', {}],
  ['closed', { free_fields: 3 * dayMs }],
  ['metadata.times.closed', { free_fields: 3 * dayMs }],
])('a deleted call is marked where processing ends by %s and free fields have limits %j', async (path, retention) => {
  const installed = await openPipeline();
  onTestFinished(() => installed.close());
  const closedOf = (index: number) => textOf(begin + index * 3_600_000);
  const keys = path.split('.');
  const records = Array.from({ length: 30 }, (_, index) => {
    const closed = keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), closedOf(index)) as object;
    return { unique_id: `call-${index}`, timestamp: textOf(begin - dayMs), note: 'free', ...closed };
  });
  const field = { name: 'closed', from_param: 'from', to_param: 'to', record_field: path, end_of_processing: true };
  const answers = { records: 'data', total_path: 'count', single_path: '/calls/{unique_id}' };
  const section = { list: { cursor_fields: [field], pagination: { style: 'none' } as const, ...answers } };
  const list = openMemoryList(section, ({ searchParams: asked }) => {
    const isAsked = (_: unknown, index: number) =>
      closedOf(index) >= (asked.get('from') ?? '~') && closedOf(index) <= (asked.get('to') ?? '');
    const data = records.slice(0, 27).filter(isAsked);
    return asked.has('from') ? [200, { count: data.length, data }] : [404, {}];
  });
  const config = { source: configFor('https://memory.invalid', section), privacy: { retention } } as never;
  const deps = {
    ...installed.deps,
    ...{ source: { list } as never, ages: openAges(config), processedField: processedFieldOf(config) },
    ...{ version: 'test', now: () => new Date(), windows: { initial: day, min: 1, max: day, targetCalls: 100 } },
  };
  const observedAt = (Date.now() - dayMs) * 1_000;
  const seen = records.map((fields) => observationOf(fields.unique_id, observedAt, fields));
  await installed.observe(seen, deps);
  const plan = { axis: 'closed', column: 'processed_at', level: 'fields', acceptEmpty: false } as const;
  const input = { ...plan, range, warehouseLevel: 'rows' } as const;
  expect((await reconcileWindow(deps, input, signal)).verdicts).toMatchObject([{ outcome: 'proven', deleted: 3 }]);
  const [row] = await installed.warehouse.query(`SELECT count(*)::int AS n, count(processed_at)::int AS processed,
      count(source_deleted_at)::int AS gone, count(extra->>'note')::int AS noted FROM calls`);
  expect(row).toEqual({ n: 30, processed: 30, gone: 3, noted: 'free_fields' in retention ? 0 : 30 });
});

const { signal } = new AbortController();
const [dayBefore, lastDay] = [21, 20].map((ago) => textOf(Date.now() - ago * dayMs));
const site = useInstallation({ calls: { ...even, count: 1_000, utterances: 12, from: dayBefore, to: lastDay } });
beforeAll(() => site.backfill());
const read = (level: Parameters<typeof readChanged>[1]['level'] = 'fields') =>
  readChanged(site.deps, { axis: 'timestamp', range: site.range, level, confirm: 'later', origin: 'test' }, signal);
const bodies = () => column(site.store, `SELECT call_id || ':' || revision FROM ledger ORDER BY call_id`);
const isTrue = async (callId: string): Promise<boolean> => {
  const truth = await site.simulator.truthOf(callId);
  const [row] = await site.warehouse.query(`SELECT
        (SELECT string_agg(value, ' ' ORDER BY key) FROM metadata WHERE call_id = '${callId}') AS metadata,
        (SELECT count(*)::int FROM tags WHERE call_id = '${callId}') AS tags FROM calls WHERE call_id = '${callId}'`);
  const { metadata, tags } = (truth?.document ?? {}) as { metadata: object; tags: unknown[] };
  const values = Object.entries(metadata)
    .toSorted()
    .map(([, value]) => value);
  return row?.metadata === values.join(' ') && row?.tags === tags.length;
};

test('light reading fetches many changed calls by the windows that hold them', async () => {
  const edited = await site.simulator.edit({ random: 400, seed: 5, kinds: ['metadata'], requalify: false });
  const light = await read();
  expect(light.changed.size).toBe(400);
  expect(light).toMatchObject({ fetched: 400, unfetched: [] });
  expect(light.requests).toBeLessThan(6 + 60);
  for (const { callId } of edited.slice(0, 20)) expect(await isTrue(callId)).toBe(true);
  expect(await read()).toMatchObject({ fetched: 0 });
});

test('light reading lists few bytes, takes no order of keys for a change, and can compare ids alone', async () => {
  const { counts } = site.deps.source.list;
  await site.query(`UPDATE ledger SET fields = jsonb_set(fields, '{metadata,2}', '"another hash"')
      WHERE call_id = (SELECT min(call_id) FROM ledger)`);
  const [before, start] = [await bodies(), counts.bodyBytes];
  expect(await read()).toMatchObject({ fetched: 0 });
  expect(await bodies()).toEqual(before);
  const light = counts.bodyBytes - start;
  expect(await read('records')).toMatchObject({ fetched: 0 });
  expect(light * 4).toBeLessThan(counts.bodyBytes - start - light);
  expect(await site.query(`SELECT 1 FROM ledger WHERE fields->'metadata'->>2 = 'another hash'`)).toEqual([]);
  await site.simulator.edit({ random: 3, seed: 9, kinds: ['metadata'], requalify: false });
  expect(await read('ids')).toMatchObject({ fetched: 0 });
  expect(await read()).toMatchObject({ fetched: 3 });
});

test('the rows of calls that the service has deleted stay when the ledger lost them, and prove nothing', async () => {
  const installed = await install();
  const gone = await deleteSome(installed, 3);
  await installed.reconcile({ range });
  await installed.query('DELETE FROM callsync.ledger WHERE call_id = ANY($1)', [gone]);
  expect(await installed.reconcile({ range, force: true })).toMatchObject({ removed: 0, unproven: expect.any(Number) });
  expect((await missing(installed))[1]).toEqual(gone);
  expect((await installed.reconcile({ range, force: true })).unproven).toBeGreaterThan(0);
});

test.each(['fields', 'records'] as const)('a change that the ledger takes for old is left: %s', async (level) => {
  const [edited] = await site.simulator.edit({ random: 1, seed: 11, kinds: ['metadata'], requalify: false });
  await site.query(`UPDATE ledger SET fields = jsonb_set(fields, '{metadata,0}', '9000000000000000')
      WHERE call_id = '${edited?.callId}'`);
  expect(await read(level)).toMatchObject({ unfetched: [edited?.callId] });
});
