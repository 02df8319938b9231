import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Megabytes of young objects after a start with garbage, after `growYoung`, after a rest, and after work again. */
const program = (isLongIdle: boolean) => `
import { setImmediate as turn } from 'node:timers/promises';
import { getHeapSnapshot, getHeapSpaceStatistics } from 'node:v8';
import { boundMemory, growYoung } from './dist/src/lib/bound-memory.js';
const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20;
boundMemory(${isLongIdle});
const kept = [];
for (let round = 0; round < 200; round += 1) kept.push(new Array(5_000).fill(0));
const sizes = [young()];
growYoung();
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
