/** One installation for the tests of what operators see: receiver, workers and operations port in one process. */
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../../src/local/local-process.ts';
import { deleteSchedules, endProcess, install } from '../../support/installation.ts';
import { connect, runOnServer } from '../../support/postgres.ts';
import { startProgram } from '../../support/program.ts';

const signingSecret = 'a shared secret';

export type Site = Awaited<ReturnType<typeof openSite>>;

const daysAgo = (days: number) => new Date((Math.floor(Date.now() / 86_400_000) - days) * 86_400_000).toISOString();
/** Whole days that continuous sync does not read any more. */
const sixDays = { from: daysAgo(14), to: daysAgo(8) };
/** A running `callsync up`; `ann` may act, with the token `act`. @param config more of its configuration */
export const openSite = async (config: Record<string, unknown> = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'callsync-token-'));
  const tokenFile = join(folder, 'ann');
  await writeFile(tokenFile, 'act\n', { mode: 0o600 });
  const port = await findFreePort();
  const webhook = `http://127.0.0.1:${port}/webhook`;
  const site = await install({
    simulator: {
      seed: 14,
      // Ten calls in each of them, and live ones.
      calls: { count: 60, utterances: 2, ...sixDays, density: 'even', otherShare: 0, lateShare: 0 },
      live: { callsPerSecond: 2, processingSeconds: 0.2 },
      webhooks: { url: webhook, secret: signingSecret },
    },
    config: {
      webhook: { port, header_prefix: 'X-Service-', secrets: [{ name: 'main', secret: signingSecret }] },
      sync: { settle: '1s', interval: '5s' },
      operations: { port: 0, users: [{ name: 'ann', token_file: tokenFile }] },
      ...config,
    },
  });
  let running: ChildProcess;
  let address = '';
  const start = async (): Promise<void> => {
    const up = startProgram(['up', '--config', site.configPath, '--json']);
    running = up.child;
    address = ((await up.first()) as { operations: string }).operations;
  };
  await start();
  return {
    ...site,
    /** Where the receiver takes deliveries. */
    webhook,
    /** Address of the operations port of the process that runs now. */
    operations: () => address,
    /** The process that was started last. */
    process: () => running,
    /** Starts `callsync up` anew after its process has ended. */
    start,
    scrape: async () => await (await fetch(`${address}/metrics`)).text(),
    dispose: async () => {
      await endProcess(running, 'SIGKILL');
      await deleteSchedules(site);
      await site.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

/** The database takes no new connection, and the receiver loses its own, until the returned function is called. */
export const awayDatabase = async ({ databaseUrl }: Site): Promise<() => Promise<void>> => {
  const name = new URL(databaseUrl).pathname.slice(1);
  // A database that is used cannot be closed from within.
  const run = (sql: string) => runOnServer(new URL('/postgres', databaseUrl).href, sql);
  await run(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = '${name}' AND application_name = 'callsync receiver'`);
  return async () => void (await run(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`));
};

/** Nobody writes to a table until the returned function is called. */
export const lockTable = async ({ databaseUrl }: Site, table: string): Promise<() => Promise<void>> => {
  const client = await connect(databaseUrl);
  await client.query(`BEGIN; LOCK TABLE ${table} IN EXCLUSIVE MODE`);
  return () => client.end();
};
