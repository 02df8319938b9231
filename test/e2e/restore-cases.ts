/** The installation that restores are tried on: two workers, a receiver with live webhooks, and warehouses that can be set back. */

import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { createWarehouse } from '../../src/app/activity-deps.ts';
import { readHealth } from '../../src/health/read-health.ts';
import { CallsyncError } from '../../src/lib/errors.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { randomStream } from '../../src/simulator/calls/random.ts';
import type { TruthEntry } from '../../src/simulator/calls/truth.ts';
import { checkTruth, type TruthReport, type Wrong } from '../../src/simulator/demo/check-truth.ts';
import { eraseCalls } from '../../src/store/persons/calls.ts';
import { migrateStore } from '../../src/store/store.ts';
import { startReconcile } from '../../src/temporal/workflow-client.ts';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { countRows } from '../../src/warehouse/content-hash.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { localBigquery, tablesOf } from '../pipeline/persons/bigquery-target.ts';
import { backUp } from '../support/backup.ts';
import { endProcess, type Installation, installForTest } from '../support/installation.ts';
import { type InstalledPostgres, startInstalledPostgres } from '../support/installed-postgres.ts';
import { startReceiver } from '../support/receiver-process.ts';
import { column } from '../support/rows.ts';
import { until } from '../support/until.ts';

type Site = Awaited<ReturnType<typeof openSite>>;

const pace = { interval: '2s', settle: '1s', lookback: '1m', inbox_sweep: '2s' };
const sync = { ...pace, start_from: '2h', reread: { horizon: '2h' } };

const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

interface SiteOptions {
  /** Programs of a PostgreSQL server of its own; undefined = the shared one. */
  readonly programs?: string | undefined;
  /** One worker, and no BigQuery. */
  readonly isSmall?: boolean | undefined;
  /** Of an empty database on the shared server. */
  readonly databaseUrl?: string;
}

const openSite = async ({ programs, isSmall = false, databaseUrl }: SiteOptions) => {
  const server = programs === undefined ? undefined : await startInstalledPostgres(programs);
  onTestFinished(() => server?.dispose());
  const place = isSmall ? undefined : { ...(await localBigquery()), documents: false, commit_interval_s: 2 };
  const bigquery = place && bigqueryWarehouseSchema.parse(place);
  const tables = bigquery && tablesOf(bigquery);
  const range = { from: minutesAgo(110), to: minutesAgo(40) };
  const installation = await installForTest({
    databaseUrl: server?.url ?? databaseUrl,
    simulator: {
      seed: 71,
      // All of them have ended and are processed when it begins: none appears while warehouses are compared.
      calls: { ...range, count: 150, utterances: 2, lateShare: 0, processingSeconds: 1 },
      live: { callsPerSecond: 2, processingSeconds: 1, editShare: 0.05 },
      // Fields that only webhooks carry cannot be read again, so the list carries everything.
      listOmits: [],
      edits: { requalifyShare: 0.5, webhookShare: 1 },
    },
    config: { sync, warehouses: { postgres: { type: 'postgres' }, ...(bigquery && { bigquery }) } },
  });
  const { store, warehouse } = installation;
  const warehouses = [warehouse, ...(bigquery ? [createWarehouse('bigquery', bigquery, store)] : [])];
  onTestFinished(async () => void (await warehouses[1]?.close()));
  // No commit is half in a backup.
  const alone = <T>(work: () => Promise<T>): Promise<T> => store.lease.run('bigquery bigquery', work);
  const port = await findFreePort();
  let receiver = await startReceiver(installation, port);
  onTestFinished(() => endProcess(receiver, 'SIGKILL'));
  await installation.control.startWebhooks({ url: `http://127.0.0.1:${port}/webhook` });
  if (!isSmall) await installation.startWorker();
  let worker = await installation.startWorker(['--schedules']);
  return {
    installation,
    warehouses,
    /** Of its own, with programs that dump and restore; undefined on the shared server. */
    server,
    /** Sets all warehouses back to now, later. */
    backUpWarehouses: async () => {
      const restorePostgres = await backUp(store.pool, 'calls');
      const restoreBigquery = await alone(async () => await tables?.backUp());
      return () =>
        alone(async () => {
          await retryDeadlock(restorePostgres);
          await restoreBigquery?.();
        });
    },
    dropWarehouses: () =>
      alone(async () => {
        await store.pool.query('DROP SCHEMA calls CASCADE');
        await tables?.drop();
      }),
    /** Kills it (SIGKILL) and starts another in its place. */
    replaceWorker: async () => {
      await endProcess(worker, 'SIGKILL');
      worker = await installation.startWorker();
    },
    replaceReceiver: async () => {
      await endProcess(receiver, 'SIGKILL');
      receiver = await startReceiver(installation, port);
    },
  };
};

/** Workers hold locks in an order of their own. */
const retryDeadlock = (work: () => Promise<void>): Promise<void> =>
  work().catch((error: { code?: unknown }) => {
    if (error.code !== '40P01') throw error;
    return retryDeadlock(work);
  });

/** Ledger and warehouses set back or lost under running workers and live webhooks, while the driver keeps the truth. */
export type Incident = keyof typeof incidentsOf;

/**
 * `auditRows` are rows of deliveries, loads and verdicts that were compared, `auditOverwritten` those that later had other
 * values. `answeredLost`: before the reconcile wrong in a warehouse, although their last version was answered 2XX.
 * `wrong`: what truth, ledger and warehouse say of calls that were not as they should be after it.
 */
type WrongCall = { readonly entry: TruthEntry; readonly wrong: Wrong; readonly warehouse: Warehouse };
/** More than the calls of the site need until they are processed. */
const processingMs = 3_000;
const awayMs = 60_000;
const listed = ['qualified', 'void'];

/** One incident after another, at random moments; then the traffic ends, and what is left is compared with the truth. */
export const restoreUnderLoad = async ({
  incidents,
  seed,
  ...options
}: SiteOptions & { readonly incidents: readonly Incident[]; readonly seed: number }) => {
  const site = await openSite(options);
  const random = randomStream(seed);
  /** At most so long. */
  const pause = (ms: number): Promise<void> => delay(random() * ms * (options.isSmall ? 0.25 : 1));
  const { control, store } = site.installation;
  const erased = new Set<string>();
  const audit = { rows: 0, overwritten: 0, examples: [] as string[] };
  await until('the first calls are here', () => hasAtLeast(site, 100));
  for (const incident of incidents) {
    const setBack = await incidentsOf[incident](site);
    const planned = new Set(await column<string>(store, 'SELECT load_id FROM loads'));
    await pause(4_000);
    await eraseSome(site, erased, random);
    await pause(2_000);
    // Otherwise nothing is set back: a ledger that was copied knows the loads that were planned before.
    await until('more is loaded', () => unlessMissing(() => hasOtherLoads(site, planned)));
    const before = await readAudit(site);
    await setBack();
    await pause(3_000);
    await until('the ledger has an epoch', () => unlessMissing(async () => (await store.epoch()) > 0));
    await until('the warehouses have their tables', () => hasAtLeast(site, 0));
    const after = await readAudit(site);
    for (const [key, row] of before) {
      const now = after.get(key);
      // Deliveries of an erased call get a keyed hash in place of its id; a copy that was put back has the id until then.
      if (now === undefined || [...erased].some((callId) => row.includes(callId) || now.includes(callId))) continue;
      audit.rows += 1;
      if (now === row) continue;
      audit.overwritten += 1;
      if (audit.examples.length < 5) audit.examples.push(`${incident}: ${key}: ${row} -> ${now}`);
    }
  }
  await control.configure({ live: { callsPerSecond: 0, editShare: 0 } });
  // The last calls are processed after they have ended, and delivered then.
  await settle(site.installation);
  await control.drainWebhooks();
  await settle(site.installation);
  let answeredLost = 0;
  const beforeReconcile = await compareTruth(site, erased, ({ entry: { version, deliveredVersion } }) => {
    if (deliveredVersion === version) answeredLost += 1;
  });
  await reconcileAll(site.installation);
  const found: WrongCall[] = [];
  await settle(site.installation);
  const figures = {
    erased: erased.size,
    erasedBack: await countBack(site, erased),
    auditRows: audit.rows,
    auditOverwritten: audit.overwritten,
    auditExamples: audit.examples,
    epochs: await store.epoch(),
    beforeReconcile,
    answeredLost,
    afterReconcile: await compareTruth(site, erased, (wrong) => void found.push(wrong)),
    wrong: await Promise.all(found.map((wrong) => describeWrong(site, wrong))),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures).toMatchObject({ erasedBack: 0, auditOverwritten: 0, wrong: [] });
  for (const report of Object.values(figures.afterReconcile))
    expect(report).toMatchObject({ lost: 0, stale: 0, mismatched: 0, duplicated: 0 });
  return figures;
};

/** As docs/guides/backup-restore.md says: without a range, nothing that is younger than `sync.reconcile.age` is compared. */
export const reconcileAll = async ({ client, prefix }: Installation, name = 'at-the-end', range = lastHours()) => {
  const request = { range, level: 'records', force: true } as const;
  await (await startReconcile(client, prefix, { name, request })).result();
};
const lastHours = () => ({ from: (Date.now() - 3 * 3_600_000) * 1000, to: Date.now() * 1000 });

const backUpLedger = async ({ installation: { store } }: Site, anew = false): Promise<() => Promise<void>> => {
  const restore = await backUp(store.pool, 'callsync');
  return () => retryDeadlock(() => restore(anew ? () => migrateStore(store) : undefined));
};

const loseLedger = async ({ installation: { store } }: Site): Promise<void> =>
  void (await store.pool.query('DROP SCHEMA callsync CASCADE'));

/** Each makes the backups that it needs, and returns what makes it happen. Those of a server need a server of the site's own. */
const incidentsOf = {
  ledger: (site) => backUpLedger(site),
  'ledger anew': (site) => backUpLedger(site, true),
  'ledger lost': (site) => () => retryDeadlock(() => loseLedger(site)),
  'ledger from a dump': (site) => serverOf(site).dump('callsync'),
  warehouses: (site) => site.backUpWarehouses(),
  'warehouses lost': (site) => () => retryDeadlock(site.dropWarehouses),
  both: async (site) => {
    const [ledger, warehouses] = [await backUpLedger(site), await site.backUpWarehouses()];
    return () => ledger().then(warehouses);
  },
  'server from its files': (site) => serverOf(site).copyData(),
  'server killed': (site) => () => serverOf(site).restart('SIGKILL', 0),
  'server away': (site) => () => serverOf(site).restart('SIGINT', awayMs),
  'worker killed': (site) => site.replaceWorker,
  'receiver killed': (site) => site.replaceReceiver,
} satisfies Record<string, (site: Site) => (() => Promise<void>) | Promise<() => Promise<void>>>;

const serverOf = ({ server }: Site): InstalledPostgres => {
  if (server === undefined) throw new Error('the site has no server of its own');
  return server;
};

/** Tables may be missing for a while, and a server away. */
const unlessMissing = (ask: () => Promise<boolean>): Promise<boolean> =>
  ask().catch((error: unknown) => {
    if (error instanceof CallsyncError) return false;
    throw error;
  });

const hasAtLeast = (site: Site, calls: number): Promise<boolean> =>
  unlessMissing(async () => {
    for (const warehouse of site.warehouses) if (Number((await countRows(warehouse)).calls) < calls) return false;
    return true;
  });

const hasOtherLoads = async ({ warehouses }: Site, planned: ReadonlySet<string>): Promise<boolean> => {
  const loads = await Promise.all(warehouses.map((one) => column<string>(one, 'SELECT load_id FROM loads')));
  return loads.flat().some((id) => !planned.has(id));
};

/** Calls that the service has, two at a time; some that callsync does not know yet. */
const eraseSome = async ({ installation: { control, store } }: Site, erased: Set<string>, random: () => number) => {
  const known: string[] = [];
  for await (const { callId } of control.truth({ light: true })) if (!erased.has(callId)) known.push(callId);
  const chosen = [known[Math.floor(random() * known.length)], known.at(-1)].filter((id) => id !== undefined);
  await eraseCalls(store, [...new Set(chosen)]);
  for (const id of chosen) erased.add(id);
};

const auditTables = {
  deliveries: ['arrival_id', 'seq', 'delivery_id', 'call_id'],
  loads: ['load_id', 'ledger_epoch', 'origin', 'calls_sent', 'calls_changed'],
  verdicts: ['digest', 'verdict_id', 'window_from', 'window_to', 'outcome'],
};

/** Audit rows of all warehouses by their key. */
const readAudit = async ({ warehouses }: Site): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>();
  for (const warehouse of warehouses) {
    for (const [table, columns] of Object.entries(auditTables)) {
      for (const row of await warehouse.query(`SELECT ${columns.join(', ')} FROM ${table}`)) {
        const values = columns.map((column) => String(row[column]));
        const key = `${warehouse.name} ${table} ${values[0]}`;
        // Twice under one key is as bad as another value.
        found.set(key, `${found.get(key) ?? ''}${values.join(' ')}`);
      }
    }
  }
  return found;
};

/** Everything that was delivered, listed or asked for again is in all warehouses. */
export const settle = async ({ store }: Installation): Promise<void> => {
  const now = Date.now() + processingMs;
  let waiting: unknown;
  const isSettled = async (): Promise<boolean> => {
    const { at, inbox, warehouses, sync, rereads } = await readHealth(store);
    const watermark = at - (sync?.watermarkAge ?? Infinity) * 1000;
    const pending = warehouses.map(({ pending: calls }) => calls);
    waiting = { inbox: inbox.count, rereads: rereads.count, pending, watermark, now };
    return watermark >= now && inbox.count === 0 && rereads.count === 0 && pending.every((calls) => calls === 0);
  };
  await until('nothing waits', () => unlessMissing(isSettled)).catch((cause: Error) => {
    throw new Error(`${cause.message}: ${JSON.stringify(waiting)}`, { cause });
  });
};

const compareTruth = async (
  { installation: { control }, warehouses }: Site,
  erased: ReadonlySet<string>,
  tell: (wrong: WrongCall) => void,
): Promise<Record<string, TruthReport>> => {
  const reports: Record<string, TruthReport> = {};
  const isWanted = ({ callId, status }: TruthEntry): boolean => listed.includes(status) && !erased.has(callId);
  for (const warehouse of warehouses) {
    const told = (entry: TruthEntry, wrong: Wrong) => tell({ entry, wrong, warehouse });
    reports[warehouse.name] = await checkTruth(control, warehouse, isWanted, { tell: told });
  }
  return reports;
};

const describeWrong = async ({ installation: { store } }: Site, { entry, wrong, warehouse }: WrongCall) => {
  const rowsOf = async (sql: string) => (await store.pool.query(sql, [entry.callId])).rows;
  return {
    ...{ warehouse: warehouse.name, wrong, truth: { ...entry, document: undefined } },
    ledger: await rowsOf('SELECT revision, changed_at, webhook_at, poll_at FROM ledger WHERE call_id = $1'),
    loaded: await rowsOf('SELECT * FROM warehouse_calls WHERE call_id = $1'),
    rows: await warehouse.query(`SELECT ledger_epoch, revision, load_id FROM calls WHERE call_id = '${entry.callId}'`),
  };
};

/** Erased calls of which ledger or warehouses have anything but the tombstone. */
const countBack = async ({ installation: { store }, warehouses }: Site, erased: ReadonlySet<string>) => {
  const held = new Set(await column(store, 'SELECT call_id FROM ledger_documents'));
  for (const warehouse of warehouses)
    for (const table of ['calls', 'utterances', 'tags', 'metadata', 'udfs', 'contacts', 'deliveries'])
      for (const id of await column(warehouse, `SELECT DISTINCT call_id FROM ${table}`)) held.add(id);
  return [...erased].filter((id) => held.has(id)).length;
};
