/**
 * Assistants: the protocol's own conformance suite, where it covers what `callsync mcp` offers. About 1 minute. In the
 * suite, mcp/mcp uses the protocol's client.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../src/store/store.ts';
import { analytics, changeCall } from '../marts/analytics.ts';
import { type FilledPostgres, fillPostgres, readChangedCalls } from '../marts/two-warehouses.ts';
import { type CliFolder, openCliFolder, withoutService } from '../support/cli.ts';
import { recordCase } from '../support/neighbour-results.ts';
import { type Running, startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

/** The last version that runs with Node.js 20. Not a dependency: npx brings it. */
const suite = '@modelcontextprotocol/conformance@0.1.13';
/** The other scenarios need tools, prompts and resources that only the suite's own server has. */
const scenarios = ['server-initialize', 'ping', 'tools-list', 'resources-list', 'dns-rebinding-protection'];

let here: FilledPostgres;
let folder: CliFolder;
let url = '';
let server: Running;
beforeAll(async () => {
  [here, folder] = await Promise.all([readChangedCalls(changeCall).then(fillPostgres), openCliFolder()]);
  await here.postgres.applyMarts(analytics);
  await (await openStore({ url: here.postgresUrl })).close();
  await folder.configure({ ...withoutService(here.postgresUrl), analytics });
  server = startProgram(['mcp', '--config', `${folder.path}/callsync.yaml`, '--http', '0'], { cwd: folder.path });
  await until('it listens', () => server.stderr().includes('/mcp'));
  url = /http:\S+\/mcp/.exec(server.stderr())?.[0] ?? '';
});
afterAll(async () => {
  server?.child.kill('SIGKILL');
  await folder?.remove();
  await here?.close();
});

test.each(scenarios)('%s', async (scenario) => {
  recordCase('MCP conformance suite', suite.split('@').at(-1) ?? '');
  const args = ['--yes', suite, 'server', '--url', url, '--scenario', scenario];
  const { stdout } = await promisify(execFile)('npx', args, { cwd: folder.path, timeout: 120_000 });
  console.log(stdout.trim().split('\n').slice(-4).join('\n'));
  expect(stdout).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed/);
});
