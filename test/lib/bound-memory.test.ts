import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Megabytes of young objects after a start with garbage, and after `growYoung`. */
const program = (isLongIdle: boolean) => `
import { getHeapSpaceStatistics } from 'node:v8';
import { boundMemory, growYoung } from './dist/src/lib/bound-memory.js';
const young = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20;
boundMemory(${isLongIdle});
const kept = [];
for (let round = 0; round < 200; round += 1) kept.push(new Array(5_000).fill(0));
const idle = young();
growYoung(8);
process.stdout.write(JSON.stringify([idle, young()]));`;

test('a process that waits for work holds little room for young objects until the work comes', async () => {
  const run = async (isLongIdle: boolean): Promise<readonly number[]> => {
    const args = ['--input-type=module', '--eval', program(isLongIdle)];
    return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout) as readonly number[];
  };
  const [[idle, busy], [atOnce]] = [await run(true), await run(false)];
  expect(idle).toBeLessThanOrEqual(4);
  expect([busy, atOnce]).toEqual([8, 16]);
});
