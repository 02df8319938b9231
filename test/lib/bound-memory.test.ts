import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Megabytes of young objects after a start with garbage, after `work`, after a rest, and after work again. */
const program = (isLongIdle: boolean, work: string) => `
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSnapshot, getHeapSpaceStatistics } from 'node:v8';
import { boundMemory } from './dist/src/lib/bound-memory.js';
import { commitLoad, ingest } from './dist/src/pipeline/load/ingest.js';
const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20;
boundMemory(${isLongIdle});
const kept = [];
for (let round = 0; round < 200; round += 1) kept.push(new Array(5_000).fill(0));
const sizes = [young()];
await ${work}.catch(() => undefined);
sizes.push(young());
// V8 makes its heap small for it, as it does while a process rests.
getHeapSnapshot().destroy();
sizes.push(young());
for (let round = 0; young() < 8 && round < 100_000; round += 1, await turn()) kept[round % 100] = new Array(5_000).fill(0);
process.stdout.write(JSON.stringify([...sizes, young()]));`;

test.each([
  ['fold', 'ingest({ store: { transaction: (work) => work() } }, { observations: Array(20).fill({}) })'],
  ['load', 'commitLoad({ store: {} }, {}, { plan: {}, rows: Array(20).fill({}) })'],
])('a process holds little room for young objects until a %s comes, and again until more', async (_, work) => {
  const run = async (isLongIdle: boolean): Promise<readonly number[]> => {
    const args = ['--input-type=module', '--eval', program(isLongIdle, work)];
    return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout) as readonly number[];
  };
  const [[idle, busy, rested, again], [atOnce]] = [await run(true), await run(false)];
  for (const little of [idle, rested]) expect(little).toBeLessThanOrEqual(4);
  expect([busy, atOnce, again]).toEqual([8, 8, 8]);
});
