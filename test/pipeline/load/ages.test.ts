import { expect, onTestFinished, test } from 'vitest';
import { openPipeline } from '../../support/pipeline.ts';
import { keepForAYear } from './ages-cases.ts';

test('after a year nothing is older than its class allows, and everything younger is there', async () => {
  const pipeline = await openPipeline({ documents: true });
  onTestFinished(() => pipeline.close());
  const drain = async () => void (await pipeline.drain());
  const { expected, ledger, warehouses, oldBodies, left } = await keepForAYear(pipeline, [pipeline.target], {
    step: 14,
    callsPerDay: 2,
    drain,
  });
  expect(ledger).toEqual(expected);
  expect(warehouses).toEqual({ main: expected });
  expect({ oldBodies, left }).toEqual({ oldBodies: 0, left: 0 });
});
