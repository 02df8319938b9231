/**
 * Fast tests and demo on the newest release of every Node that package.json names, and all tests on Node 24. About 20
 * minutes in all, and half a minute to fetch Node first. Too expensive for the suite, which runs on one Node.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useFolder } from '../support/folder.ts';
import { cleanEnvironment, installNode, root, run, supportedNodes } from '../support/tools.ts';

const folder = useFolder('nodes');

/** Runs a line of shell whose `node`, and that of its children, is this one. */
const runOn = async (major: number, line: string): Promise<string> => {
  const PATH = `${await installNode(major)}:${process.env.PATH}`;
  return await run(line, { env: { ...cleanEnvironment, PATH, NO_COLOR: '1' } });
};

test.each(supportedNodes)('fast: tests that need no server pass on Node %i', async (major) => {
  const said = await runOn(major, 'node node_modules/vitest/vitest.mjs run --project fast');
  console.log(`Node ${major}:${/^ +Tests .*$/m.exec(said)?.[0]}`);
  expect(said).toMatch(/^ +Tests +\d+ passed/m);
});

test.each(supportedNodes)('demo: ends with the truth intact on Node %i', async (major) => {
  const said = await runOn(major, `node dist/src/cli/main.js demo --exit --json --data-dir "${folder}/${major}"`);
  const { truth, seconds } = JSON.parse(said.trim().split('\n').at(-1) ?? '');
  console.log(`Node ${major}: ${JSON.stringify({ truth, seconds })}`);
  expect(truth).toMatchObject({ lost: 0, duplicated: 0, stale: 0, mismatched: 0 });
});

/** The one that follows Node 20, the Node of the suite. */
test('suite: all tests pass on Node 24', async () => {
  const said = await runOn(24, 'node node_modules/vitest/vitest.mjs run');
  console.log(/^ +Tests .*$/m.exec(said)?.[0]);
  expect(said).toMatch(/^ +Tests +\d+ passed/m);
});

test('image: has the newest Node with long-term support', async () => {
  const names = await Promise.all(supportedNodes.map((major) => runOn(major, 'node -p "process.release.lts"')));
  const supported = supportedNodes.filter((_, index) => names[index]?.trim() !== 'undefined');
  const dockerfile = await readFile(join(root, 'deploy/Dockerfile'), 'utf8');
  const used = [...dockerfile.matchAll(/^FROM node:(\d+)-/gm)].map(([, major]) => Number(major));
  expect([...new Set(used)]).toEqual([Math.max(...supported)]);
});
