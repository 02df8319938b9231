import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Megabytes of young objects after a start with garbage, after a load of 20 calls, after a rest, and after work again. */
const program = (isLongIdle: boolean) => `
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSnapshot, getHeapSpaceStatistics } from 'node:v8';
import { flattenCall } from './dist/src/calls/flatten.js';
import { boundMemory } from './dist/src/lib/bound-memory.js';
import { createEncoder } from './dist/src/warehouse/postgres/encoder.js';
const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20;
boundMemory(${isLongIdle});
const kept = [];
for (let round = 0; round < 200; round += 1) kept.push(new Array(5_000).fill(0));
const sizes = [young()];
const flatten = () => flattenCall({ callId: 'c', document: null }).rows;
await createEncoder({ schema: 'calls', documents: false })({}, Array(20).fill({ revision: 1, flatten }));
sizes.push(young());
// V8 makes its heap small for it, as it does while a process rests.
getHeapSnapshot().destroy();
sizes.push(young());
for (let round = 0; young() < 8 && round < 100_000; round += 1, await turn()) kept[round % 100] = new Array(5_000).fill(0);
process.stdout.write(JSON.stringify([...sizes, young()]));`;

test('a process holds little room for young objects until work comes, and again until more comes', async () => {
  const run = async (isLongIdle: boolean): Promise<readonly number[]> => {
    const args = ['--input-type=module', '--eval', program(isLongIdle)];
    return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout) as readonly number[];
  };
  const [[idle, busy, rested, again], [atOnce]] = [await run(true), await run(false)];
  for (const little of [idle, rested]) expect(little).toBeLessThanOrEqual(4);
  expect([busy, atOnce, again]).toEqual([8, 8, 8]);
});
