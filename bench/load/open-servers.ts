/**
 * Servers for a measurement of the whole path: the simulated service, PostgreSQL and Temporal, each a process of its
 * own.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startEmbeddedPostgres } from '../../src/local/embedded-postgres.ts';
import { startTemporalDevServer } from '../../src/local/temporal-server.ts';
import { startSimulatorProcess } from '../../src/simulator/demo/simulator-process.ts';

export interface BenchServers {
  readonly folder: string;
  readonly postgresUrl: string;
  readonly postgresPid: number;
  /** A service with `calls.count` calls, all of them on the list; none changes. */
  startSimulator(
    seed: number,
    calls: SimulatorOptions['calls'] & { readonly count: number },
  ): Promise<Awaited<ReturnType<typeof startSimulatorProcess>>>;
  startTemporal(): Promise<{ readonly address: string; readonly pid: number }>;
  /** Stops all servers, the last first, and deletes the folder. */
  close(): Promise<void>;
}

export const note = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

/** Starts PostgreSQL in a new folder; the others when they are asked for. */
export const openServers = async (): Promise<BenchServers> => {
  const folder = await mkdtemp(join(tmpdir(), 'callsync-bench-'));
  // As root, PostgreSQL runs as another account, which must reach its data.
  await chmod(folder, 0o711);
  const closers: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const stop of closers.reverse()) await stop().catch((error: unknown) => note(String(error)));
  };
  const started = async <T extends { stop(): Promise<unknown> }>(starting: Promise<T>): Promise<T> => {
    const server = await starting;
    closers.push(() => server.stop());
    return server;
  };
  try {
    const postgres = await started(startEmbeddedPostgres({ dataDir: join(folder, 'postgres') }));
    const admin = new pg.Client({ connectionString: postgres.adminUrl });
    await admin.connect();
    // Contenders take turns in databases of their own, and each begins at a checkpoint. Autovacuum may be at work in one that ends.
    await admin
      .query('ALTER ROLE callsync CREATEDB; GRANT pg_checkpoint, pg_signal_backend TO callsync')
      .finally(() => admin.end());
    return {
      folder,
      postgresUrl: postgres.url,
      postgresPid: postgres.pid,
      startSimulator: (seed, calls) =>
        started(
          startSimulatorProcess({
            seed,
            calls: { to: '2026-01-31T00:00:00Z', lateShare: 0, otherShare: 0, ...calls },
            staticPages: true,
            rateLimit: { requests: 0 },
          }),
        ),
      startTemporal: () => started(startTemporalDevServer({ dataDir: join(folder, 'temporal'), headless: true })),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};
