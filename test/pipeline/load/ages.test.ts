import { test } from 'vitest';
import { usePipeline } from '../../support/pipeline.ts';
import { keepForAYear } from './ages-cases.ts';

const pipeline = usePipeline({ documents: true }, { keep: true });

test('after a year nothing is older than its class allows, and everything younger is there', async () => {
  await keepForAYear(pipeline, [pipeline.target], { step: 14, callsPerDay: 2 });
});
