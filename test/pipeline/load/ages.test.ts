import { onTestFinished, test } from 'vitest';
import { openPipeline } from '../../support/pipeline.ts';
import { keepForAYear } from './ages-cases.ts';

test('after a year nothing is older than its class allows, and everything younger is there', async () => {
  const pipeline = await openPipeline({ documents: true });
  onTestFinished(() => pipeline.close());
  await keepForAYear(pipeline, [pipeline.target], { step: 14, callsPerDay: 2 });
});
