/**
 * The statements of the steady state on a store as large as after years of work. None may cost more than its batch. The
 * product runs as it is, and the server tells the plan of each statement.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createLedgerCheck } from '../../src/pipeline/load/check-ledger.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { createErasures } from '../support/erasures.ts';
import { openPipeline, type Pipeline, register } from '../support/pipeline.ts';
import { compileProgram } from '../webhook/support/child.ts';
import { explainStatements, gatherCosts, type StatementCost } from './explain-statements.ts';
import { fillStore, fillWarehouse } from './fill-store.ts';
import type { SteadyProcessOptions } from './steady-process.ts';
import { filledWarehouses, openSteadyWork, runSteadyState } from './steady-state.ts';

export interface ScaleOptions {
  readonly calls: number;
  readonly maxBuffers: number;
  /** Undefined = the time is printed only: it depends on what else the machine does. */
  readonly maxMs?: number;
  /** Calls of a small store; the memory of a process that works on either is compared. Undefined = it is not. */
  readonly memoryAsAt?: number;
}

const openFilled = async (calls: number): Promise<Pipeline> => {
  const pipeline = await openPipeline();
  for (const name of filledWarehouses) await register(pipeline.store, name);
  console.log(`Fills a store with ${calls} calls; 3 million take some minutes.`);
  const startedAt = performance.now();
  await fillStore(pipeline.url, { calls, warehouses: filledWarehouses });
  console.log(`Filled in ${Math.round((performance.now() - startedAt) / 1000)} s.`);
  return pipeline;
};

export const describeScale = ({ calls, maxBuffers, maxMs, memoryAsAt }: ScaleOptions): void => {
  let pipeline: Pipeline;
  let store: Store;
  let costs: () => readonly StatementCost[];
  const erasures = createErasures();
  beforeAll(async () => {
    pipeline = await openFilled(calls);
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

  test.runIf(memoryAsAt !== undefined)(
    `a worker needs as much memory as with ${memoryAsAt} calls`,
    async () => {
      const small = await openFilled(memoryAsAt as number);
      const program = await compileProgram('store/steady-process');
      const peakOf = async (options: Omit<SteadyProcessOptions, 'rounds'>): Promise<number> => {
        const args = [program.entry, JSON.stringify({ ...options, rounds })];
        const { stdout } = await promisify(execFile)(process.execPath, args);
        return (JSON.parse(stdout) as { peakMb: number }).peakMb;
      };
      onTestFinished(async () => {
        await program.remove();
        await small.close();
      });
      const peaks = {
        few: await peakOf({ url: small.url, calls: memoryAsAt as number }),
        many: await peakOf({ url: pipeline.url, calls }),
      };
      console.log({ calls, memoryAsAt, rounds, peakMb: peaks });
      // Memory that the collector leaves differs from run to run.
      expect(peaks.many).toBeLessThan(peaks.few * 1.15);
    },
    3_600_000,
  );

  test('a ledger that was set back comes back: no statement comes near its time limit, and the epoch is the first', async () => {
    const [name] = filledWarehouses;
    const { warehouse } = await pipeline.addWarehouse(name);
    await fillWarehouse(pipeline.url, `wh_${name}`, calls);
    const before = await store.epoch();
    const said: string[] = [];
    const startedAt = performance.now();
    const deps = { store, warehouses: [warehouse], say: (text: string) => void said.push(text) };
    await createLedgerCheck(deps).run();
    const slowest = [...costs()].sort((a, b) => b.ms - a.ms).slice(0, 8);
    console.log(
      `Healed in ${Math.round((performance.now() - startedAt) / 1000)} s. Slowest statements:\n${slowest
        .map(({ sql, ms, buffers, times }) => `${ms.toFixed(0)} ms ${buffers} pages ${times} ×  ${sql.slice(0, 110)}`)
        .join('\n')}`,
    );
    expect(await store.epoch()).toBe(before + 1);
    expect(said.join()).toContain('asks the service for');
    expect(slowest.filter(({ ms }) => ms > 12_000)).toEqual([]);
  }, 3_600_000);
};

/** Of the steady state: about as many batches as a busy worker has in some minutes. */
const rounds = 40;
