/**
 * The statements of the steady state on a store as large as after years of work. None may cost more than its batch. The
 * product runs as it is, and the server tells the plan of each statement.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore, type Store } from '../../src/store/store.ts';
import { createErasures } from '../support/erasures.ts';
import { openPipeline, type Pipeline, register } from '../support/pipeline.ts';
import { explainStatements, gatherCosts, type StatementCost } from './explain-statements.ts';
import { fillStore } from './fill-store.ts';
import { filledWarehouses, openSteadyWork, runSteadyState } from './steady-state.ts';

export interface ScaleOptions {
  readonly calls: number;
  readonly maxBuffers: number;
  /** Undefined = the time is printed only: it depends on what else the machine does. */
  readonly maxMs?: number;
}

export const describeScale = ({ calls, maxBuffers, maxMs }: ScaleOptions): void => {
  let pipeline: Pipeline;
  let store: Store;
  let costs: () => readonly StatementCost[];
  const erasures = createErasures();
  beforeAll(async () => {
    pipeline = await openPipeline();
    for (const name of filledWarehouses) await register(pipeline.store, name);
    console.log(`Fills a store with ${calls} calls; 3 million take some minutes.`);
    await fillStore(pipeline.url, { calls, warehouses: filledWarehouses });
    await explainStatements(pipeline.url);
    store = await openStore({ url: pipeline.url, max: 4, erasures: erasures.open });
    costs = gatherCosts(store.pool);
  }, 3_600_000);
  afterAll(async () => {
    await store?.close();
    await pipeline?.close();
    erasures.remove();
  });

  test(`no statement looks at more than ${maxBuffers} pages, with ${calls} calls`, async () => {
    await runSteadyState(openSteadyWork(store), calls);
    const measured = costs();
    const lines = measured.map(
      ({ sql, ms, buffers, rows, times }) =>
        `${String(buffers).padStart(8)} pages ${ms.toFixed(1).padStart(9)} ms ${String(rows).padStart(6)} rows ${String(times).padStart(4)} ×  ${sql.slice(0, 110)}`,
    );
    console.log(`${measured.length} statements, most pages of one execution first:\n${lines.join('\n')}`);
    expect(measured.length).toBeGreaterThan(50);
    expect(
      measured.filter(({ buffers }) => buffers > maxBuffers).map(({ sql, buffers }) => `${buffers}: ${sql}`),
    ).toEqual([]);
    // The cost of showing the ledger's first days must not grow with the ledger.
    expect(measured.filter(({ sql, buffers }) => / AS first FROM /.test(sql) && buffers > 50)).toEqual([]);
    if (maxMs !== undefined)
      expect(measured.filter(({ ms }) => ms > maxMs).map(({ sql, ms }) => `${ms} ms: ${sql}`)).toEqual([]);
  }, 3_600_000);
};
