import { beforeAll, expect, test } from 'vitest';
import { planRereads, rereadWindows } from '../../../src/pipeline/read/reread-windows.ts';
import { bucketEdges, readLateChanges } from '../../../src/store/ledger/late-changes.ts';
import { column } from '../../support/rows.ts';
import { day, useInstallation } from '../reconcile/installation.ts';

const dayMs = 86_400_000;
const options = { signal: new AbortController().signal, onProgress: () => undefined };
/** A month ago, on both clocks. */
let now = Math.floor(Date.now() / dayMs) * dayMs - 30 * dayMs;
const here = useInstallation({
  calls: {
    ...{ count: 600, utterances: 2, words: 3, otherShare: 0, lateShare: 0, density: 'even' },
    ...{ from: new Date(now - 20 * dayMs).toISOString(), to: new Date(now).toISOString() },
  },
  clock: { now: new Date(now).toISOString() },
});

const advance = async (ms: number): Promise<void> => {
  now += ms;
  here.setNow(now);
  await here.simulator.setClock({ now: new Date(now).toISOString() });
};

beforeAll(async () => {
  await advance(2 * dayMs);
  await here.backfill();
});

test('re-reading on stored times begins with everything within the horizon, then waits for the delay', async () => {
  const plan = await planRereads(here.deps);
  expect(plan.axis).toBe('timestamp');
  expect(plan.parts.length).toBeGreaterThan(0);
  expect(await rereadWindows(here.deps, plan, options)).toMatchObject({ listed: 600, changed: 0, fetched: 0 });
  await advance(dayMs / 2);
  expect(await planRereads(here.deps)).toMatchObject({ parts: [], covers: [] });
});

test('re-reading on stored times finds silent edits, and learns from them when calls change', async () => {
  const before = await readLateChanges(here.store, 'timestamp');
  const edited = await here.simulator.edit({ random: 12, seed: 8, kinds: ['metadata'], requalify: false });
  await advance(dayMs / 2);
  const totals = await rereadWindows(here.deps, await planRereads(here.deps), options);
  expect(totals).toMatchObject({ listed: 600, changed: 12, fetched: 12 });
  const after = await readLateChanges(here.store, 'timestamp');
  expect(before).toEqual([]);
  expect(after.reduce((sum, bucket) => sum + bucket.changes, 0)).toBe(12);

  const ages: number[] = [];
  for (const { callId } of edited) {
    const truth = await here.simulator.truthOf(callId);
    ages.push((Date.parse(truth?.versionedAt ?? '') - Date.parse(truth?.timestamp ?? '')) * 1000);
  }
  const known = after.flatMap(({ bucket, changes }) => Array(changes).fill(bucketEdges(bucket)));
  ages.sort((a, b) => a - b);
  known.forEach(({ from, to }, index) => {
    expect(from).toBeLessThan((ages[index] as number) + day);
    expect(to).toBeGreaterThan((ages[index] as number) - day);
  });
});

test('re-reading on stored times takes the new end of processing for the time of the change', async () => {
  await here.query('DELETE FROM late_changes');
  const [edited] = await here.simulator.edit({ random: 1, seed: 21, kinds: ['tags'], requalify: true });
  const truth = await here.simulator.truthOf(edited?.callId as string);
  const processed = 'SELECT (extract(epoch FROM processed_at) * 1000000)::bigint FROM ledger WHERE call_id = $1';
  const [at] = await column(here.store, processed, [edited?.callId]);
  await advance(5 * dayMs);
  await rereadWindows(here.deps, await planRereads(here.deps), options);
  const [bucket, ...others] = await readLateChanges(here.store, 'processed');
  const age = Date.parse(truth?.qualified ?? '') * 1000 - Number(at);
  expect(others).toEqual([]);
  expect(bucketEdges(bucket?.bucket ?? 0).from).toBeLessThanOrEqual(age);
  expect(bucketEdges(bucket?.bucket ?? 0).to).toBeGreaterThan(age);
});

test('re-reading on stored times covers nothing when it is interrupted, and resumes at its place', async () => {
  await advance(dayMs);
  const plan = await planRereads(here.deps);
  const stop = new AbortController();
  let progress: Parameters<Parameters<typeof rereadWindows>[2]['onProgress']>[0] | undefined;
  const onProgress = (one: NonNullable<typeof progress>) => {
    if (one.totals.listed <= 100 || progress !== undefined) return;
    progress = one;
    stop.abort();
  };
  await expect(rereadWindows(here.deps, plan, { signal: stop.signal, onProgress })).rejects.toThrow();
  expect((await planRereads(here.deps)).covers).toEqual(plan.covers);
  const totals = await rereadWindows(here.deps, plan, { ...options, ...(progress && { resume: progress }) });
  expect(totals.listed).toBe(600);
  expect(progress?.totals.listed).toBeGreaterThan(100);
  expect((await planRereads(here.deps)).covers).toEqual([]);
});

test('re-reading on stored times counts a change found by the sample for those that the sample did not see', async () => {
  await here.query('DELETE FROM late_changes');
  const deps = { ...here.deps, reread: { ...here.deps.reread, horizon: day, sample: 0.25, maxHorizon: 32 * day } };
  await rereadWindows(deps, await planRereads(deps), options);
  // The hours of the sample depend on the day: with so many edits, some are in it on any day.
  await here.simulator.edit({ random: 80, seed: 30, kinds: ['metadata'], requalify: false });
  await advance(dayMs);
  const plan = await planRereads(deps);
  expect(plan.covers.filter(({ kind, band }) => kind === 'all' && bucketEdges(band).from >= day)).toEqual([]);
  const { changed } = await rereadWindows(deps, plan, options);
  expect(changed).toBeGreaterThan(2);
  expect(changed).toBeLessThan(80);
  const found = await readLateChanges(here.store, 'timestamp');
  expect(found.reduce((sum, bucket) => sum + bucket.weight, 0)).toBe(4 * changed);
  for (const { bucket } of found) expect(bucketEdges(bucket).to).toBeGreaterThan(day);
});

test('fields that another source brings for the first time are no late change', async () => {
  await here.backfill();
  await here.query('DELETE FROM late_changes');
  await here.query(`UPDATE ledger SET fields = fields - 'qualification'
      WHERE call_id IN (SELECT call_id FROM ledger LIMIT 5)`);
  await here.backfill();
  expect(await readLateChanges(here.store, 'timestamp')).toEqual([]);
});
