/** The official release of the Temporal CLI, played by a local server with a real archive. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { locateTemporalCli } from '../../src/local/temporal-server.ts';
import { useFolder } from '../support/folder.ts';
import { listen as listenTo } from '../support/listen.ts';
import { openProxy } from '../support/proxy.ts';
import { refusal } from '../support/refusal.ts';

const run = promisify(execFile);
const version = '1.5.1';
const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
const archive = `temporal_cli_${version}_${process.platform}_${architecture}.tar.gz`;

const folder = useFolder('download');
await writeFile(join(folder, 'temporal'), '#!/bin/sh\necho temporal version 1.5.1\n', { mode: 0o755 });
await writeFile(join(folder, 'LICENSE'), 'MIT');
await run('tar', ['-czf', join(folder, archive), '-C', folder, 'LICENSE', 'temporal']);
const bytes = await readFile(join(folder, archive));
const checksum = createHash('sha256').update(bytes).digest('hex');

/** Until the end of the test. */
const listen = async (answer: RequestListener) => {
  const { url, close } = await listenTo(answer);
  onTestFinished(close);
  return url;
};
const serve =
  (files: Readonly<Record<string, string | Buffer>>): RequestListener =>
  (request, response) => {
    const found = files[request.url ?? ''];
    response.writeHead(found === undefined ? 404 : 200).end(found);
  };
const release = (sums = `${'0'.repeat(64)}  other.tar.gz\n${checksum}  ${archive}\n`) => ({
  [`/v${version}/checksums.txt`]: sums,
  [`/v${version}/${archive}`]: bytes,
});

let caches = 0;
const log = () => undefined;
/** Into a cache of its own; without Go, so that nothing is built where the download fails. */
const locate = async (env: NodeJS.ProcessEnv) => {
  caches += 1;
  const cache = join(folder, `cache-${caches}`);
  const locating = locateTemporalCli({ env: { PATH: '/nowhere', XDG_CACHE_HOME: cache, ...env }, log });
  const outcome = await locating.then(() => 'found').catch((error: Error) => error.message);
  return { outcome, kept: await readdir(join(cache, 'callsync', `temporal-${version}`)) };
};
/** From a host that answers so. */
const download = async (answer: RequestListener) => locate({ CALLSYNC_TEMPORAL_RELEASES: await listen(answer) });
const notFound = 'The Temporal CLI was not found, could not be downloaded, and Go is not installed to build it.';

test('an archive with its published checksum becomes the program, and nothing else is left', async () => {
  const url = await listen(serve(release()));
  const cache = join(folder, 'cache');
  const env = { PATH: '/nowhere', XDG_CACHE_HOME: cache, CALLSYNC_TEMPORAL_RELEASES: `${url}/` };
  const said: string[] = [];
  const path = await locateTemporalCli({ env, log: (message) => said.push(message) });
  expect((await run(path)).stdout).toBe('temporal version 1.5.1\n');
  expect(await readdir(join(path, '..'))).toEqual(['temporal']);
  expect(said).toEqual([expect.stringMatching(/^Downloading the Temporal CLI 1.5.1/)]);
  // From the cache, without any request.
  const offline = { ...env, CALLSYNC_TEMPORAL_RELEASES: 'http://127.0.0.1:1' };
  expect(await locateTemporalCli({ env: offline, log })).toBe(path);
});

test('a cache that cannot be made is an error with a next step', async () => {
  const env = { PATH: '/nowhere', XDG_CACHE_HOME: join(folder, 'LICENSE') };
  expect(await refusal(locateTemporalCli({ env, log }))).toMatch(/^terminal CACHE_FOLDER: .*XDG_CACHE_HOME/);
});

test('another checksum is refused, and nothing is kept', async () => {
  const refused = { outcome: expect.stringContaining('checksum'), kept: [] };
  expect(await download(serve(release(`${'0'.repeat(64)}  ${archive}\n`)))).toEqual(refused);
});

test('a silent host is given up after five seconds; no release or a broken transfer at once', async () => {
  const silent: RequestListener = () => undefined;
  const began = performance.now();
  const broken: RequestListener = (request, response) => {
    if (request.url?.endsWith('.txt')) return void serve(release())(request, response);
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, 10), () => response.destroy());
  };
  const sums = `/v${version}/checksums.txt`;
  const hosts = [silent, serve({}), serve(release('\n')), serve({ [sums]: release()[sums] ?? '' }), broken];
  expect(await Promise.all(hosts.map(download))).toEqual(Array(5).fill({ outcome: notFound, kept: [] }));
  expect(performance.now() - began).toBeGreaterThan(4_900);
  // Not after the 30 seconds that a transfer may be silent.
  expect(performance.now() - began).toBeLessThan(29_000);
});

test('goes through the configured proxy, and past it where NO_PROXY says so', async () => {
  const url = await listen(serve(release()));
  const proxy = await openProxy(url);
  const env = { CALLSYNC_TEMPORAL_RELEASES: url, HTTP_PROXY: proxy.url };
  expect(await locate(env)).toEqual({ outcome: 'found', kept: ['temporal'] });
  expect(new Set(proxy.hosts.splice(0))).toEqual(new Set([new URL(url).host]));
  await locate({ ...env, NO_PROXY: '127.0.0.1' });
  expect(proxy.hosts).toEqual([]);
});

test('prefers the configured path, then the environment, then PATH; refuses a missing configured one', async () => {
  const cli = join(folder, 'temporal');
  expect(await locateTemporalCli({ configured: cli, env: { CALLSYNC_TEMPORAL_CLI: process.execPath }, log })).toBe(cli);
  expect(await locateTemporalCli({ env: { CALLSYNC_TEMPORAL_CLI: cli, PATH: '' }, log })).toBe(cli);
  expect(await locateTemporalCli({ env: { PATH: folder }, log })).toBe(cli);
  const refused = locateTemporalCli({ configured: '/nowhere/temporal', log });
  expect(await refusal(refused)).toMatch(/^terminal TEMPORAL_CLI: /);
});
