/**
 * A whole installation for one test: simulator, store and warehouse in a database of its own, and the shared Temporal
 * server. Workers are processes of the built command, so that they can be killed.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { storeConfigSchema } from '../../schemas/config/store.ts';
import { temporalConfigSchema } from '../../schemas/config/temporal.ts';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { openErasures } from '../../src/app/open-rules.ts';
import type { TruthEntry } from '../../src/simulator/calls/truth.ts';
import { createRemoteControl } from '../../src/simulator/control/remote-control.ts';
import { checkTruth } from '../../src/simulator/demo/check-truth.ts';
import { sourceOf, startSimulatorProcess } from '../../src/simulator/demo/simulator-process.ts';
import { openStore } from '../../src/store/store.ts';
import { connectClient } from '../../src/temporal/connect.ts';
import { schedulesOf } from '../../src/temporal/schedules.ts';
import { startBackfill } from '../../src/temporal/workflow-client.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import type { BackfillProgress } from '../../workflows/messages.ts';
import { openGate } from './gate.ts';
import { useOpened } from './opened.ts';
import { createDatabase } from './postgres.ts';
import { startProgram } from './program.ts';
import { useTemporal } from './temporal.ts';

export type Installation = Awaited<ReturnType<typeof install>>;

export const install = async (input: {
  /** Without a limit of requests unless it has one; then `source.limits` fit it. */
  readonly simulator: SimulatorOptions;
  readonly config?: Record<string, unknown>;
  readonly source?: Record<string, unknown>;
  readonly temporalAddress?: string;
  /** Of an empty database; by default one is made on the shared server. */
  readonly databaseUrl?: string | undefined;
  /** Of store and warehouse `postgres`. */
  readonly schemas?: { readonly store: string; readonly warehouse: string };
}) => {
  const closers: (() => Promise<unknown>)[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'callsync-e2e-'));
  await chmod(folder, 0o711);
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const temporal = await useTemporal();
  const address = input.temporalAddress ?? temporal.address;
  const database = input.databaseUrl === undefined ? await createDatabase() : undefined;
  const databaseUrl = input.databaseUrl ?? database?.url ?? '';
  closers.push(async () => await database?.drop());
  const simulator = await startSimulatorProcess({ rateLimit: { requests: 0 }, ...input.simulator });
  closers.push(() => simulator.stop());
  const gate = await openGate(simulator.url);
  closers.push(() => gate.close());
  const { schemas = { store: 'callsync', warehouse: 'calls' } } = input;
  const limits = { requests: 400, per_s: 1 };
  const config = {
    source: { ...sourceOf(simulator), base_url: gate.url, list: { preset: 'activate' }, limits, ...input.source },
    store: { url: databaseUrl, data_dir: folder, schema: schemas.store },
    temporal: { address, task_queue: temporal.taskQueue },
    webhook: { enabled: false, header_prefix: 'X-Service-' },
    operations: { enabled: false },
    ...input.config,
  };
  const configPath = join(folder, 'callsync.yaml');
  await writeFile(configPath, stringify(config), { mode: 0o600 });
  // biome-ignore lint/suspicious/noExplicitAny: whatever a test configures
  const reconfigure = async (change: (written: any) => unknown, name = 'callsync.yaml'): Promise<string> => {
    const [path, written] = [join(folder, name), parse(await readFile(configPath, 'utf8'))];
    change(written);
    await writeFile(path, stringify(written), { mode: 0o600 });
    return path;
  };
  const { client, connection } = await connectClient(temporalConfigSchema.parse({}), address);
  // A call that was given up while the server was away is tried again by its client for a while, and must find a channel.
  closers.push(async () => void setTimeout(() => void connection.close(), 60_000).unref());
  const storeConfig = storeConfigSchema.parse(config.store);
  const store = await openStore({
    url: databaseUrl,
    schema: schemas.store,
    erasures: () => openErasures({ store: storeConfig, privacy: privacyConfigSchema.parse({}) }),
  });
  closers.push(() => store.close());
  const ofWarehouse = { schema: schemas.warehouse, documents: false };
  const warehouse = createPostgresWarehouse({ name: 'postgres', url: databaseUrl, config: ofWarehouse });
  closers.push(() => warehouse.close());
  const workers: ChildProcess[] = [];
  closers.push(async () => {
    for (const worker of workers) await endProcess(worker, 'SIGKILL');
  });
  closers.push(() => deleteSchedules({ client, prefix: temporal.taskQueue }));
  const control = createRemoteControl(simulator);
  return {
    folder,
    configPath,
    /** Changes the configuration, or a copy under another name, for processes that start from now on. @returns the path */
    reconfigure,
    prefix: temporal.taskQueue,
    simulator,
    control,
    /** Between callsync and the simulated service; open at first. */
    gate,
    client,
    databaseUrl,
    store,
    warehouse,
    /** Resolves once it polls. Killed at the end if it still runs. */
    startWorker: async (args: readonly string[] = [], env: NodeJS.ProcessEnv = process.env) => {
      const { child, first } = startProgram(['worker', '--config', configPath, '--json', ...args], { env });
      workers.push(child);
      return Object.assign(child, { told: await first() });
    },
    /** Starts a backfill over everything the simulator has. */
    backfill: async (name: string, options: Partial<Parameters<typeof startBackfill>[2]> = {}) => {
      const range = { from: Date.parse(simulator.range.from) * 1000, to: Date.now() * 1000 };
      const usual = { axis: 'qualified', range, direction: 'newest_first', concurrency: 3, force: false } as const;
      const handle = await startBackfill(client, temporal.taskQueue, { name, ...usual, ...options });
      const result = handle.result() as Promise<BackfillProgress>;
      // A test that ends the workflow itself does not await it.
      result.catch(() => undefined);
      return { workflowId: handle.workflowId, result };
    },
    checkTruth: () => checkTruth(control, warehouse, isWanted),
    dispose: async () => {
      for (const close of closers.reverse()) await close();
    },
  };
};

/** Calls that callsync must have: those that the list shows, and those that a webhook brought. */
export const isWanted = ({ status, deliveredByWebhook }: Pick<TruthEntry, 'status' | 'deliveredByWebhook'>): boolean =>
  ['qualified', 'void'].includes(status) || deliveredByWebhook;

/** An installation until the end of a test. */
export const installForTest = async (input: Parameters<typeof install>[0]): Promise<Installation> => {
  const site = await install(input);
  onTestFinished(site.dispose);
  return site;
};

/** An installation for the tests of a group; it can be used from `beforeAll` on. */
export const useInstallation = (input: () => Parameters<typeof install>[0]): Installation =>
  useOpened(
    () => install(input()),
    ({ dispose }) => dispose(),
  );

/** Deletes the schedules of an installation; those that are not there are left out. */
export const deleteSchedules = async ({ client, prefix }: Pick<Installation, 'client' | 'prefix'>): Promise<void> => {
  const handles = schedulesOf(prefix).map((id) => client.schedule.getHandle(id));
  await Promise.allSettled(handles.map((handle) => handle.delete()));
};

/** Ends a process by its id and waits until it is gone. */
export const endProcess = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
};
