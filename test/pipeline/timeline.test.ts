/** The timeline tells of spools, retention and erasures: a line a day, or one for each erasure. */
import { expect, test } from 'vitest';
import { createAges } from '../../src/calls/age.ts';
import { applyAges } from '../../src/pipeline/load/apply-ages.ts';
import { listEvents, recordCount } from '../../src/store/status/events.ts';
import { erase } from '../support/persons.ts';
import { deliver, usePipeline } from '../support/pipeline.ts';

const pipeline = usePipeline();

test('deliveries from a spool, removed parts and erasures are in the timeline, and hide no other event', async () => {
  const { store, deps, query } = pipeline;
  const timestamp = '2025-03-01T10:00:00Z';
  const bodies = [1, 2, 3, 4].map((n) => ({ body: { unique_id: `c${n}`, timestamp, metadata: { note: `n${n}` } } }));
  const told = async () => {
    const shown = (await listEvents(store, 50)).filter(({ kind }) => ['spool', 'retention', 'erasure'].includes(kind));
    return shown.map(({ kind, what }) => `${kind}: ${what}`).sort();
  };
  await deliver(store, bodies);
  await pipeline.merge();
  expect(await told()).toEqual([]);
  for (const spooled of [bodies.slice(0, 2), bodies.slice(2, 3)]) {
    await query('UPDATE inbox SET spooled = true WHERE seq = ANY($1)', [await deliver(store, spooled)]);
    await pipeline.settle();
  }
  expect(await told()).toEqual(['spool: Deliveries from the spool of a receiver, by day: 3']);

  await erase(deps, { kind: 'call', values: ['c1'] });
  const ages = createAges({ calls: 86_400_000 }, () => Date.parse('2026-03-01T00:00:00Z'));
  await applyAges({ ...deps, sanitize: undefined }, ages, { dryRun: true });
  expect(await told()).toHaveLength(2);
  await applyAges({ ...deps, sanitize: undefined }, ages, { dryRun: false });
  await recordCount(store, 'retention', 0);
  const [erased, aged, spooled] = await told();
  expect(erased).toBe('erasure: Erased 1 call');
  expect(aged).toMatch(/^retention: Parts of calls that retention removed, by day: [3-9]$/);
  expect(spooled).toBe('spool: Deliveries from the spool of a receiver, by day: 3');
  await query(`INSERT INTO events (kind, what, at) SELECT 'spool', '1', now() FROM generate_series(1, 100)`);
  expect(await told()).toContain('erasure: Erased 1 call');
  expect(await told()).toContain('spool: Deliveries from the spool of a receiver, by day: 103');
});
