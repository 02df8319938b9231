/**
 * A year of simulated days under limits of age: nothing older than its class allows, in ledger, PostgreSQL and BigQuery, and all that
 * is younger. About 15 minutes; CALLSYNC_STEP=7 looks every seventh day.
 */
import { expect, test } from 'vitest';
import { loadPending } from '../../src/pipeline/load/load-pending.ts';
import { openBigqueryTarget } from '../pipeline/erase/bigquery-target.ts';
import { keepForAYear } from '../pipeline/load/ages-cases.ts';
import { openPipeline, register } from '../support/pipeline.ts';

test('after a year nothing is older than its class allows, and everything younger is there', async () => {
  const pipeline = await openPipeline({ documents: true });
  try {
    const bigquery = await openBigqueryTarget();
    await register(pipeline.store, 'bigquery');
    const targets = [pipeline.target, bigquery.target];
    const drain = async (): Promise<void> => {
      const deps = { ...pipeline.deps, targets };
      for (const { warehouse } of targets)
        while ((await loadPending(deps, { warehouse: warehouse.name, origin: 'test', graceSeconds: 0 })).sent > 0);
    };
    const figures = await keepForAYear(pipeline, targets, {
      step: Number(process.env.CALLSYNC_STEP ?? 1),
      callsPerDay: 5,
      drain,
    });
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    const { expected, ledger, warehouses, oldBodies, left } = figures;
    expect(ledger).toEqual(expected);
    expect(warehouses).toEqual({ main: expected, bigquery: expected });
    expect({ oldBodies, left }).toEqual({ oldBodies: 0, left: 0 });
  } finally {
    await pipeline.close();
  }
});
