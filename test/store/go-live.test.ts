import { expect, test } from 'vitest';
import { measureOverlap } from '../../src/store/status/progress.ts';
import { observationOf, usePipeline } from '../support/pipeline.ts';

const pipeline = usePipeline({}, { keep: true });

test('counts calls that only came by webhook, but not those that came after the range, nor invented ones', async () => {
  const from = Date.parse('2025-03-01T10:00:00Z') * 1000;
  const minute = 60_000_000;
  const to = from + 10 * minute;
  const timestamp = new Date((from + 9 * minute) / 1000).toISOString();
  const seen = (id: string, observedAt: number) => observationOf(id, observedAt, { timestamp }, 'webhook');
  const observations = [
    seen('in-time', to - minute / 2),
    seen('processed-later', to + minute),
    seen('sample-of-ours', to - minute / 2),
  ];
  await pipeline.fold(observations);
  expect(await measureOverlap(pipeline.store, { from, to })).toMatchObject({ both: 0, pollOnly: 0, webhookOnly: 1 });
});
