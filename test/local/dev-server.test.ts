import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive } from '../../src/local/local-process.ts';
import { startTemporalDevServer, type TemporalDevServer } from '../../src/local/temporal/dev-server.ts';
import { locateTemporalCli } from '../../src/local/temporal/locate-cli.ts';
import { beQuickToPort } from '../support/quick-to-port.ts';
import { useTemporal } from '../support/temporal.ts';
import { until } from '../webhook/support/until.ts';

let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'callsync-dev-server-'));
});
afterAll(async () => {
  await rm(dataDir, { recursive: true, force: true });
});

const withClient = async <Result>(address: string, use: (client: Client) => Promise<Result>): Promise<Result> => {
  const connection = await Connection.connect({ address });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
};

const isRunning = (server: TemporalDevServer, workflowId: string) =>
  withClient(server.address, async (client) => (await client.workflow.getHandle(workflowId).describe()).status.name);

describe('startTemporalDevServer', () => {
  test('serves the web interface, is joined, and keeps workflows and addresses over stop and kill', async () => {
    const options = { dataDir };
    const first = await startTemporalDevServer(options);
    for (const name of ['.', 'temporal.db']) expect((await stat(join(dataDir, name))).mode & 0o077).toBe(0);
    const page = await fetch(first.uiUrl as string);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('<!doctype html>');
    await withClient(first.address, (client) =>
      client.workflow.start('nobodyRunsThis', {
        taskQueue: 'none',
        workflowId: 'survivor',
      }),
    );

    const joined = await startTemporalDevServer(options);
    expect(joined).toMatchObject({ pid: first.pid, address: first.address, uiUrl: first.uiUrl, started: false });
    await first.stop();
    expect(await isRunning(joined, 'survivor')).toBe('RUNNING');
    await joined.stop();
    expect(isAlive(first.pid)).toBe(false);

    const second = await startTemporalDevServer(options);
    expect(second.address).toBe(first.address);
    expect(await isRunning(second, 'survivor')).toBe('RUNNING');
    process.kill(second.pid, 'SIGKILL');
    await until('it is gone', () => !isAlive(second.pid));

    const third = await startTemporalDevServer(options);
    expect(third.pid).not.toBe(second.pid);
    expect(await isRunning(third, 'survivor')).toBe('RUNNING');
    await third.stop();
  });

  test('takes another port where one that nobody asked for is taken before it listens', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'callsync-quick-'));
    const quick = await beQuickToPort(folder, await locateTemporalCli({ log: () => undefined }), '--port');
    const home = join(folder, 'home');
    const options = { dataDir: home, cliPath: quick.path, headless: true };
    const [server, taken] = await Promise.all([startTemporalDevServer(options), quick.taken]);
    expect(server.address).not.toBe(`127.0.0.1:${taken.port}`);
    await server.stop();
    const asked = startTemporalDevServer({ ...options, port: taken.port });
    await expect(asked).rejects.toMatchObject({ code: 'TEMPORAL_START', message: expect.stringMatching(/in use/) });
    taken.close();
    await rm(folder, { recursive: true });
  });

  test('starts again where the server found no port for itself, and tells of another panic before its stack', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'callsync-no-port-'));
    const cliPath = join(folder, 'temporal');
    const panic = (reason: string) =>
      `echo "panic: ${reason}"; echo; echo "goroutine 1 [running]:"; echo "main.go:18 +0x96"; exit 2`;
    const first = `if mkdir '${folder}/ran'; then ${panic('failed assigning ephemeral port: taken')}; fi`;
    await writeFile(cliPath, `#!/bin/sh\n${first}\n${panic('out of luck')}\n`, { mode: 0o755 });
    await expect(startTemporalDevServer({ dataDir: folder, cliPath })).rejects.toMatchObject({
      message: 'The Temporal development server did not start: panic: out of luck',
    });
    await rm(folder, { recursive: true });
  });

  test('says why it did not start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'callsync-no-server-'));
    const cliPath = join(folder, 'temporal');
    await writeFile(cliPath, '#!/bin/sh\necho "no server in here"\nexit 3\n', { mode: 0o755 });
    await expect(startTemporalDevServer({ dataDir: folder, cliPath })).rejects.toMatchObject({
      code: 'TEMPORAL_START',
      message: 'The Temporal development server did not start: no server in here',
    });
    await rm(folder, { recursive: true });
  });
});

describe('locateTemporalCli', () => {
  const log = () => undefined;

  test('prefers the configured path, then the environment, then PATH, then the cache', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'callsync-cli-'));
    const cli = join(folder, 'temporal');
    await writeFile(cli, '', { mode: 0o755 });
    const node = process.execPath;
    expect(await locateTemporalCli({ configured: cli, env: { CALLSYNC_TEMPORAL_CLI: node }, log })).toBe(cli);
    expect(await locateTemporalCli({ env: { CALLSYNC_TEMPORAL_CLI: cli, PATH: '' }, log })).toBe(cli);
    expect(await locateTemporalCli({ env: { PATH: folder }, log })).toBe(cli);
    await rm(folder, { recursive: true });
  });

  test('refuses a configured path that is not there, and says what is missing without Go', async () => {
    await expect(locateTemporalCli({ configured: '/nowhere/temporal', log })).rejects.toMatchObject({
      code: 'TEMPORAL_CLI',
      kind: 'terminal',
    });
    const emptyCache = await mkdtemp(join(tmpdir(), 'callsync-cache-'));
    const env = { PATH: '', XDG_CACHE_HOME: emptyCache, CALLSYNC_TEMPORAL_RELEASES: 'http://127.0.0.1:1' };
    await expect(locateTemporalCli({ env, log })).rejects.toMatchObject({
      message: 'The Temporal CLI was not found, could not be downloaded, and Go is not installed to build it.',
    });
    await rm(emptyCache, { recursive: true });
  });
});

describe('useTemporal', () => {
  test('gives the shared server', async () => {
    const [one, two] = await Promise.all([useTemporal(), useTemporal()]);
    expect(one.address).toBe(two.address);
    expect(one.taskQueue).not.toBe(two.taskQueue);
    await withClient(one.address, (client) => client.workflowService.describeNamespace({ namespace: one.namespace }));
  });
});
