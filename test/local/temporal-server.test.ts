import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { isAlive } from '../../src/local/local-process.ts';
import { locateTemporalCli, startTemporalDevServer } from '../../src/local/temporal-server.ts';
import { useFolder } from '../support/folder.ts';
import { listenOn } from '../support/listen.ts';
import { beQuickToPort } from '../support/quick-to-port.ts';
import { refusal } from '../support/refusal.ts';
import { until } from '../support/until.ts';

const dataDir = useFolder('dev-server');

const withClient = async <Result>(address: string, use: (client: Client) => Promise<Result>): Promise<Result> => {
  const connection = await Connection.connect({ address });
  return await use(new Client({ connection })).finally(() => connection.close());
};

const isRunning = (server: Awaited<ReturnType<typeof startTemporalDevServer>>, workflowId: string) =>
  withClient(server.address, async (client) => (await client.workflow.getHandle(workflowId).describe()).status.name);

test('serves the web interface, is joined, and keeps workflows and addresses over stop and kill', async () => {
  const start = () => startTemporalDevServer({ dataDir });
  const first = await start();
  for (const name of ['.', 'temporal.db']) expect((await stat(join(dataDir, name))).mode & 0o077).toBe(0);
  const page = await fetch(first.uiUrl as string);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<!doctype html>')]);
  await withClient(first.address, (client) =>
    client.workflow.start('nobodyRunsThis', { taskQueue: 'none', workflowId: 'survivor' }),
  );

  const joined = await start();
  expect(joined).toMatchObject({ pid: first.pid, address: first.address, uiUrl: first.uiUrl, started: false });
  await first.stop();
  expect(await isRunning(joined, 'survivor')).toBe('RUNNING');
  await joined.stop();
  expect(isAlive(first.pid)).toBe(false);

  const second = await start();
  expect(second.address).toBe(first.address);
  expect(await isRunning(second, 'survivor')).toBe('RUNNING');
  process.kill(second.pid, 'SIGKILL');
  await until('it is gone', () => !isAlive(second.pid));

  const third = await start();
  expect(third.pid).not.toBe(second.pid);
  expect(await isRunning(third, 'survivor')).toBe('RUNNING');
  await Promise.all([second.stop(), third.stop()]);
  expect(isAlive(third.pid)).toBe(false);
});

test('begins no second server on the data of one that lives and is too slow to answer', async () => {
  const home = join(dataDir, 'slow');
  await mkdir(home);
  let asked = 0;
  const slow = createServer((socket) => {
    asked += 1;
    socket.destroy();
  });
  await writeFile(join(home, 'temporal.json'), JSON.stringify({ pid: process.pid, port: await listenOn(slow) }));
  const starting = startTemporalDevServer({ dataDir: home, headless: true });
  await Promise.race([starting, until('it is asked again and again', () => asked > 2)]);
  expect(await readdir(home)).not.toContain('temporal.log');
  slow.close();
  const server = await starting;
  expect(server.started).toBe(true);
  await server.stop();
});

test('takes another port where one that nobody asked for is taken before it listens', async () => {
  const folder = join(dataDir, 'quick');
  await mkdir(folder);
  const quick = await beQuickToPort(folder, await locateTemporalCli({ log: () => undefined }), '--port');
  const options = { dataDir: join(folder, 'home'), cliPath: quick.path, headless: true };
  const server = await startTemporalDevServer(options);
  expect(server.address).not.toBe(`127.0.0.1:${quick.port}`);
  await server.stop();
  expect(await refusal(startTemporalDevServer({ ...options, port: quick.port }))).toMatch(/ TEMPORAL_START: .*in use/);
  quick.close();
});

test('starts again where the server found no port for itself, and tells of another panic before its stack', async () => {
  const folder = join(dataDir, 'no-port');
  await mkdir(folder);
  const cliPath = join(folder, 'temporal');
  const panic = (reason: string) =>
    `echo "panic: ${reason}"; echo; echo "goroutine 1 [running]:"; echo "main.go:18 +0x96"; exit 2`;
  const first = `if mkdir '${folder}/ran'; then ${panic('failed assigning ephemeral port: taken')}; fi`;
  await writeFile(cliPath, `#!/bin/sh\n${first}\n${panic('out of luck')}\n`, { mode: 0o755 });
  const said = ' TEMPORAL_START: The Temporal development server did not start: panic: out of luck ';
  expect(await refusal(startTemporalDevServer({ dataDir: folder, cliPath }))).toContain(said);
});
