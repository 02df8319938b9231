/** The demo: everything real but the service, which is simulated in a process of its own. */

import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { Range } from '../../../schemas/orchestration.ts';
import { openPage, openParts } from '../../app/open-operations.ts';
import { openReceiver } from '../../app/open-receiver.ts';
import { openWorkers } from '../../app/open-workers.ts';
import { openOperations } from '../../app/operations-port.ts';
import { type CommonOptions, psqlLine, type Services, servicesFor } from '../../app/services.ts';
import { beginBackfill, ensureConfiguredSchedules } from '../../app/temporal.ts';
import { watchBackfill } from '../../cli/shell/follow.ts';
import { makeDataDir, resolveDataDir } from '../../config/data-dir.ts';
import { checkConfig } from '../../config/load.ts';
import { readHealth } from '../../health/read-health.ts';
import { CallsyncError, terminal, transient } from '../../lib/errors.ts';
import { mergeRaw, type Raw } from '../../lib/parse-json.ts';
import { say } from '../../lib/say.ts';
import { openOwnSecret } from '../../lib/secret.ts';
import { beginOfDay } from '../../lib/timestamps.ts';
import { startBigQueryEmulator } from '../../local/bigquery-emulator.ts';
import { applyPreset } from '../../source/presets/presets.ts';
import { findTombstones } from '../../store/ledger/read-ledger.ts';
import type { Store } from '../../store/store.ts';
import { unloadedVerdicts } from '../../store/windows/verdicts.ts';
import { countRows } from '../../warehouse/content-hash.ts';
import { lockSpool, type SpoolLock } from '../../webhook/spool/spool-files.ts';
import type { SimulatorControl } from '../control/local-control.ts';
import { createRemoteControl } from '../control/remote-control.ts';
import { checkTruth } from './check-truth.ts';
import { breakRows, brokenRows, readProof, reconcileDays } from './prove-days.ts';
import * as simulated from './simulator-process.ts';

interface DemoOptions extends CommonOptions {
  readonly calls: number;
  readonly warehouse: 'postgres' | 'bigquery';
  readonly dataDir?: string;
  /** Alters and deletes rows, for a comparison to find and heal. */
  readonly break?: boolean;
  /** Ends after the summary, so nobody needs a status page. */
  readonly exit?: boolean;
}

const catchUpDeadlineMs = 300_000;
const pollMs = 250;

/** The simulated calls keep their identity and time from run to run, so that a second start finds its data again. */
const readOrMakeSetting = async (dir: string): Promise<{ to: string }> => {
  const file = join(dir, 'demo.json');
  try {
    const setting = JSON.parse(await readFile(file, 'utf8')) as { to: string };
    say(`This demo continues the earlier one in ${dir}. For a new one, delete that folder.`);
    return setting;
  } catch {
    const setting = { to: new Date(Math.floor(Date.now() / 60_000) * 60_000).toISOString() };
    await writeFile(file, JSON.stringify(setting));
    return setting;
  }
};

/** The configuration with the ports that were to be had. */
const withPorts = (raw: Raw, webhook: string, operations: string | undefined): Raw => {
  const on = (address: string) => ({ port: Number(new URL(address).port) });
  return mergeRaw(raw, { webhook: on(webhook), ...(operations && { operations: on(operations) }) });
};

const warehousesFor = async (options: DemoOptions, dir: string, closers: (() => Promise<unknown>)[]): Promise<Raw> => {
  if (options.warehouse === 'postgres') return { postgres: { type: 'postgres' } };
  const emulator = await startBigQueryEmulator({ dataDir: join(dir, 'bigquery'), log: say });
  closers.push(() => emulator.stop());
  const { project, restUrl } = emulator;
  return { bigquery: { type: 'bigquery', project, api_endpoint: restUrl, commit_interval_s: 5 } };
};

/** Preferred ports; another program, even another demo, may use them. */
const wishedPorts = { webhook: 8780, operations: 9464 } as const;

/** For a demo that keeps running: anyone who can read the password's file may act on its status page. */
const operationsFor = (options: DemoOptions, passwordFile: string): Raw => {
  if (options.exit === true) return { enabled: false };
  openOwnSecret('operations.users.token', passwordFile);
  return { port: wishedPorts.operations, users: [{ name: 'demo', token_file: passwordFile }] };
};

/** This check comes before any start. The receiver would notice another demo only after seconds, with another message. */
const lockFolder = (dir: string): Promise<SpoolLock> =>
  lockSpool(dir, { waitMs: 0 }).catch((cause: unknown) => {
    if (!(cause instanceof CallsyncError) || cause.code !== 'SPOOL_IN_USE') throw cause;
    throw terminal('DEMO_RUNS', `A demo already runs in the folder ${dir}.`, { cause });
  });

const folders = { postgres: 'demo', bigquery: 'demo-bigquery' } as const;

const settleVerdicts = async (store: Store, warehouse: string): Promise<void> => {
  const until = Date.now() + catchUpDeadlineMs;
  while (Date.now() < until && (await unloadedVerdicts(store, warehouse, 1)).length > 0) await delay(pollMs);
};

/** Runs the main job to its truth check. All its servers keep running until `services` are closed. */
export const runDemo = async (options: DemoOptions) => {
  const dir = join(resolveDataDir(options.dataDir), folders[options.warehouse]);
  const seconds: Record<string, number> = {};
  let phaseStart = performance.now();
  const endPhase = (name: string): void => {
    seconds[name] = Number(((performance.now() - phaseStart) / 1000).toFixed(2));
    phaseStart = performance.now();
  };

  if (options.break === true) requirePostgresDemo(options, dir);
  await makeDataDir(dir);
  const lock = await lockFolder(dir);
  const { to } = await readOrMakeSetting(dir);
  say('Starting the simulated service, PostgreSQL, Temporal, receiver and worker …');
  const startedAt = new Date();
  const passwordFile = join(dir, 'status-page.password');
  const closers: (() => Promise<unknown>)[] = [() => lock.release()];
  const simulator = await simulated.startSimulatorProcess({
    ...simulated.demoCalls({ count: options.calls, to }),
    keep: join(dir, `calls-${options.calls}.json`),
  });
  closers.push(() => simulator.stop());
  const raw: Raw = {
    source: { ...simulated.sourceOf(simulator), list: { preset: 'activate' }, limits: simulated.demoLimits },
    webhook: {
      port: wishedPorts.webhook,
      header_prefix: 'X-Service-',
      secrets: [{ name: 'demo', secret: simulator.signingSecret ?? '' }],
    },
    operations: operationsFor(options, passwordFile),
    store: { data_dir: dir },
    warehouses: await warehousesFor(options, dir, closers),
    analytics: simulated.demoAnalytics,
    sync: { start_from: startedAt.toISOString(), interval: '5s', settle: '1s', lookback: '30s', inbox_sweep: '5s' },
  };
  const config = checkConfig(await applyPreset(raw), 'the demo');
  const services = servicesFor(config, options);
  for (const close of closers) services.defer(close);
  try {
    const control = createRemoteControl(simulator);
    // The simulated service has another port each time.
    const parts = await openParts(services, { acceptSource: true });
    const { registry, store, targets, temporal } = parts;
    const [{ warehouse }] = targets as [(typeof targets)[number]];
    const before = await readHealth(store);
    await openWorkers(services, parts);
    const receiver = await openReceiver(services, {
      storeUrl: store.url,
      registry,
      logLevel: options.logLevel,
      orAnyPort: true,
    });
    const page = openPage(services, parts, receiver);
    const address = await openOperations(services, { registry, ready: receiver.ready, page, orAnyPort: true });
    if (address !== undefined) say(`Status page: ${address}`);
    const configFile = join(dir, 'callsync.yaml');
    await writeFile(configFile, stringify(withPorts(raw, receiver.address, address)), { mode: 0o600 });
    await ensureConfiguredSchedules(services, temporal);
    // A later run would repeat the edits of the first to the byte, which rightly counts as a replay of its webhooks.
    const editShare = before.calls === 0 ? 0.05 : 0;
    await control.startWebhooks({ url: `${receiver.address}${config.webhook.path}` });
    await control.configure({ live: { callsPerSecond: 4, editShare, processingSeconds: 1 } });
    endPhase('start');

    const range = settledDays(simulator.range.from, startedAt);
    const handle = await beginBackfill(services, temporal, {
      name: `demo-${startedAt.getTime()}`,
      range: { from: Date.parse(simulator.range.from) * 1000, to: startedAt.getTime() * 1000 },
      force: true,
    });
    const backfill = await watchBackfill(handle, 'backfill');
    endPhase('backfill');

    say('Waiting for the live webhooks and continuous sync to catch up …');
    await control.configure({ live: { callsPerSecond: 0, editShare: 0 } });
    await settleLive(services, { store, control });
    endPhase('live');

    const days = { services, store, range, level: options.warehouse === 'postgres' ? 'rows' : 'guards' } as const;
    say('Comparing the settled days with the service …');
    await reconcileDays(days);
    let broken: (typeof brokenRows & { readonly found: number; readonly healed: number }) | undefined;
    if (options.break === true) {
      const countHealed = await breakRows(days);
      say(`Altered ${brokenRows.altered} rows and deleted ${brokenRows.deleted} in table calls. Comparing again …`);
      const { missing, different } = await reconcileDays(days);
      const healed = await countHealed();
      broken = { ...brokenRows, found: Math.max(missing + different, healed), healed };
    }
    const proof = await readProof(days, warehouse.name);
    await settleVerdicts(store, warehouse.name);
    endPhase('prove');

    const rows = await countRows(warehouse, config.warehouses[warehouse.name]?.documents);
    const statuses = new Set((config.source.list.status ?? '').split(','));
    const truth = await checkTruth(
      control,
      warehouse,
      (entry) => statuses.has(entry.status) || entry.deliveredByWebhook,
      { findErased: (callIds) => findTombstones(store, callIds) },
    );
    endPhase('check');
    const psql = options.warehouse === 'bigquery' ? undefined : psqlLine(config, store.url);
    const summary = await readHealth(store);
    const result = {
      calls: summary.calls,
      rows,
      truth,
      proof,
      /** Of `--break`: rows that were broken, and calls that the comparison found and healed. */
      broken,
      deliveries: summary.inbox.outcomes,
      /** Calls that this run wrote, without calls of an earlier run. */
      written: backfill.totals.changed + Math.max(0, summary.calls - before.calls - backfill.totals.changed),
      seconds: {
        ...seconds,
        total: Math.round(100 * Object.values(seconds).reduce((sum, value) => sum + value, 0)) / 100,
      },
    };
    // An idle service leaves the page empty.
    if (options.exit !== true) await control.configure({ live: { callsPerSecond: 1 } });
    return {
      services,
      result,
      warehouse,
      /** The command that opens the database. */
      psql,
      /** Configuration of the demo, for other commands. */
      configFile,
      webhookAddress: `${receiver.address}${config.webhook.path}`,
      temporalUi: temporal.uiUrl,
      /** The status page, and where the password of its actor `demo` is; only of a demo that stays up. */
      statusPage: address === undefined ? undefined : { address, passwordFile },
    };
  } catch (error) {
    await services.close();
    throw error;
  }
};

/** @throws terminal USAGE_DEMO */
const requirePostgresDemo = ({ warehouse }: DemoOptions, dir: string): void => {
  if (warehouse !== 'postgres')
    throw terminal('USAGE_DEMO', '--break works only with --warehouse postgres.', { hint: 'callsync demo --break' });
  if (!existsSync(join(dir, 'postgres')))
    throw terminal('USAGE_DEMO', `There is no demo in the folder ${dir}.`, {
      hint: `callsync demo --exit --data-dir ${dir}`,
    });
};

/** The UTC days to which the service adds no call any more. */
const settledDays = (from: string, now: Date): Range => {
  const startOf = (ms: number): number => beginOfDay(ms * 1_000);
  return { from: startOf(Date.parse(from)), to: startOf(now.getTime() - simulated.lateMaxDays * 86_400_000) };
};

/**
 * Deliveries that some warehouse does not have yet, and milliseconds since the epoch up to the progress of continuous sync,
 * windows with open problems included. callsync reads those again minutes later; the truth check finds their missing calls.
 */
const readUnsettled = (store: Store) =>
  store.row<{ unloaded: number; watermark: number | null }>`
    SELECT (SELECT count(*) FROM unloaded_deliveries WHERE NOT rejected) AS unloaded,
           (SELECT (extract(epoch FROM watermark) * 1000)::float8 FROM watermarks WHERE name = 'sync') AS watermark`;

/** Waits until no webhook is on its way, the inbox is empty, the watermark has passed the present, and every call is loaded. */
const settleLive = async (services: Services, input: { store: Store; control: SimulatorControl }): Promise<void> => {
  // The last live call is processed a second after it appeared; then all that will be sent has been queued.
  const quietFrom = Date.now() + 2_000;
  const deadline = Date.now() + catchUpDeadlineMs;
  for (;;) {
    await input.control.drainWebhooks();
    const { inbox, warehouses, rereads } = await readHealth(input.store);
    const pending = warehouses.reduce((sum, state) => sum + state.pending, 0);
    const { unloaded, watermark } = await readUnsettled(input.store);
    const left = inbox.count + pending + unloaded + rereads.count;
    if (Date.now() > quietFrom && left === 0 && Number(watermark) >= quietFrom) return;
    if (Date.now() > deadline)
      throw transient(
        'DEMO_NOT_SETTLED',
        `Live calls did not settle in ${catchUpDeadlineMs / 1000} s: ${inbox.count} deliveries and ${pending} calls wait, watermark ${new Date(Number(watermark)).toISOString()}.`,
        { hint: `Look at the workflows in Temporal's interface${services.config.temporal.ui_url ?? ''}.` },
      );
    await delay(pollMs);
  }
};
