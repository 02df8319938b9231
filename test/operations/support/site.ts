/** One running installation for the tests of what operators see: receiver, workers and operations port in one process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findFreePort } from '../../../src/local/local-process.ts';
import { deleteSchedules, endProcess, type Installation, install } from '../../support/installation.ts';

const program = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));

export interface Site extends Installation {
  /** Address of the operations port. */
  readonly operations: string;
  readonly process: ChildProcess;
  scrape(): Promise<string>;
}

/** `ann` may act, with the token `act`. */
export const openSite = async (): Promise<Site> => {
  const folder = await mkdtemp(join(tmpdir(), 'callsync-token-'));
  const tokenFile = join(folder, 'ann');
  await writeFile(tokenFile, 'act\n', { mode: 0o600 });
  const port = await findFreePort();
  const site = await install({
    simulator: {
      seed: 14,
      calls: { count: 60, utterances: 2 },
      live: { callsPerSecond: 2, processingSeconds: 0.2 },
      rateLimit: { requests: 0 },
      webhooks: { url: `http://127.0.0.1:${port}/webhook`, secret: 'a shared secret' },
    },
    source: { limits: { requests: 400, per_s: 1 } },
    config: {
      webhook: { port, header_prefix: 'X-Service-', secrets: [{ name: 'main', secret: 'a shared secret' }] },
      sync: { settle: '1s', interval: '5s' },
      operations: { port: 0, actors: [{ name: 'ann', token_file: tokenFile }] },
    },
  });
  const process_ = spawn(process.execPath, [program, 'up', '--config', site.configPath, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(process_.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  const address = (JSON.parse(line.toString('utf8')) as { operations: string }).operations;
  return {
    ...site,
    operations: address,
    process: process_,
    scrape: async () => await (await fetch(`${address}/metrics`)).text(),
    dispose: async () => {
      await endProcess(process_, 'SIGKILL');
      await deleteSchedules(site);
      await site.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
