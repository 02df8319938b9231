/** Opens what a command needs, from the configuration, and closes it in reverse order. */
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { ActivityDeps } from '../../activities/create-activities.ts';
import { resolveStart } from '../../schemas/config/sync.ts';
import type { Config } from '../../schemas/config.ts';
import { flattenVersion } from '../calls/flatten.ts';
import { sanitize } from '../calls/sanitize.ts';
import { resolveDataDir } from '../config/data-dir.ts';
import { CallsyncError } from '../errors.ts';
import { startEmbeddedPostgres } from '../local/postgres/embedded-postgres.ts';
import { startTemporalDevServer } from '../local/temporal/dev-server.ts';
import type { IngestDeps, WarehouseTarget } from '../pipeline/deps.ts';
import { createDriftWatch } from '../pipeline/load/watch-drift.ts';
import { openSecret } from '../secret.ts';
import { budgetMarginMs, createBudget } from '../source/http/limiter.ts';
import { defaultAxis } from '../source/list/list-query.ts';
import { budgetRules, createSource, type Source } from '../source/source.ts';
import { registerWarehouse, requestRebuild } from '../store/loads/loads.ts';
import { createSharedSlots } from '../store/request-limit.ts';
import { issueEpoch, openStore, type Store } from '../store/store.ts';
import { connectClient, connectWorker } from '../temporal/connect.ts';
import { installRuntime, startWorkers, type WorkerGroup, type WorkerRole } from '../temporal/worker.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { createWarehouse } from './create-warehouse.ts';
import type { Log } from './log.ts';
import { readVersion } from './version.ts';

export interface Services {
  readonly config: Config;
  readonly log: Log;
  /** Tells a person what is happening, on standard error. */
  readonly say: (message: string) => void;
  /** Closes what was opened, last first; errors of one do not keep the others open. */
  defer(close: () => Promise<unknown>): void;
  close(): Promise<void>;
}

export const createServices = (config: Config, log: Log, say: (message: string) => void): Services => {
  const closers: (() => Promise<unknown>)[] = [];
  return {
    config,
    log,
    say,
    defer: (close) => {
      closers.push(close);
    },
    close: async () => {
      for (const close of closers.splice(0).reverse()) {
        await close().catch((error: unknown) => log('closing failed', { error }));
      }
    },
  };
};

const dataDirOf = (config: Config): string => resolveDataDir(config.store.data_dir);

/** The operational store: the configured server, or the embedded one, which is started where it does not run. */
export const openStoreService = async (services: Services): Promise<Store> => {
  const { config } = services;
  const configured = openSecret({ key: 'store.url', value: config.store.url, file: config.store.url_file });
  let url = configured?.read();
  if (url === undefined) {
    const server = await startEmbeddedPostgres({
      dataDir: join(dataDirOf(config), 'postgres'),
      port: config.store.port,
      log: services.say,
    });
    services.defer(() => server.stop());
    url = server.url;
  }
  const store = await openStore({ url, max: config.store.pool_size });
  services.defer(() => store.close());
  return store;
};

/**
 * All configured warehouses, migrated and known to the ledger. A warehouse that is away is reported and stays
 * configured: what it misses stays pending.
 */
export const openWarehouses = async (services: Services, store: Store): Promise<readonly WarehouseTarget[]> => {
  const targets: WarehouseTarget[] = [];
  const unasked = new Set<string>();
  for (const [name, config] of Object.entries(services.config.warehouses)) {
    const warehouse: Warehouse = prepareBeforeLoad(createWarehouse(name, config, store), async () => {
      if (unasked.has(name)) await ensureEpoch(services, store, [warehouse]);
      unasked.delete(name);
    });
    services.defer(() => warehouse.close());
    await warehouse.migrate().catch((error: unknown) => {
      if (!(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
      services.say(`Warehouse ${name} does not answer; what it misses stays pending. ${error.message}`);
    });
    await registerWarehouse(store, name);
    await requestRebuild(store, name, flattenVersion);
    targets.push({ warehouse, documents: config.documents });
  }
  await ensureEpoch(
    services,
    store,
    targets.map((target) => target.warehouse),
    unasked,
  );
  return targets;
};

/**
 * A warehouse that was away at the start is migrated, and asked for its last load, before its first load: a load of a
 * ledger that was restored meanwhile would stay mute there, and would hide from the next start that it is unknown.
 */
const prepareBeforeLoad = (warehouse: Warehouse, ask: () => Promise<void>): Warehouse => {
  const migrate = onceItSucceeds(() => warehouse.migrate());
  const prepare = onceItSucceeds(() => migrate().then(ask));
  return {
    ...warehouse,
    migrate,
    load: async (batch) => {
      await prepare();
      return await warehouse.load(batch);
    },
  };
};

const onceItSucceeds = (work: () => Promise<void>): (() => Promise<void>) => {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
};

/**
 * A ledger without an epoch is new; one that does not know the last load of a warehouse was restored from a backup.
 * Both get an epoch above everything that the warehouses have seen, so that nothing stays mute.
 */
const ensureEpoch = async (
  services: Services,
  store: Store,
  warehouses: readonly Warehouse[],
  unasked?: Set<string>,
): Promise<void> => {
  const present = await store.epoch();
  let highest = 0;
  let unknown = false;
  for (const warehouse of warehouses) {
    const [last] = await warehouse
      .query('SELECT load_id, ledger_epoch FROM loads ORDER BY ledger_epoch DESC, loaded_at DESC LIMIT 1')
      .catch((error: unknown) => {
        // A new ledger must know every warehouse's epoch, or it could stay mute there; an old one can ask later.
        if (!unasked || present === 0 || !(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
        unasked.add(warehouse.name);
        return [];
      });
    if (last === undefined) continue;
    highest = Math.max(highest, Number(last.ledger_epoch));
    const { rowCount } = await store.pool.query('SELECT 1 FROM loads WHERE load_id = $1', [last.load_id]);
    unknown ||= rowCount === 0;
  }
  if (present > 0 && !unknown) return;
  const reason = present === 0 ? 'created' : 'restored: a warehouse has a load that this ledger does not know';
  const epoch = await issueEpoch(store, reason, highest);
  if (present > 0)
    services.say(`The ledger is older than a warehouse: epoch ${epoch} was issued, all calls are sent again.`);
};

/** The service, with the request budget that all workers share. */
export const openSource = (services: Services, store?: Store): Source => {
  const { source, sync } = services.config;
  const rules = budgetRules(source);
  const budget = store === undefined ? undefined : createBudget(slotsOf(store, rules), rules);
  const opened = createSource(source, { budget, clockSkewMs: sync.clock_skew });
  services.defer(() => opened.close());
  return opened;
};

const slotsOf = (store: Store, rules: ReturnType<typeof budgetRules>) =>
  createSharedSlots(store, {
    name: 'source',
    requests: rules.requests,
    spanMs: rules.perMs + budgetMarginMs(rules),
  });

export interface TemporalService {
  readonly client: Client;
  readonly address: string;
  readonly uiUrl: string | undefined;
}

/** The configured cluster, or the development server, which is started where it does not run. */
export const openTemporal = async (services: Services): Promise<TemporalService> => {
  const { temporal } = services.config;
  installRuntime((level, message) => services.log(message, { level }));
  let address = temporal.address;
  let uiUrl = temporal.ui_url;
  if (address === undefined) {
    const server = await startTemporalDevServer({
      dataDir: join(dataDirOf(services.config), 'temporal'),
      port: temporal.port,
      uiPort: temporal.ui_port,
      cliPath: temporal.cli,
      namespaces: temporal.namespace === 'default' ? [] : [temporal.namespace],
      log: services.say,
    });
    services.defer(() => server.stop());
    address = server.address;
    uiUrl ??= server.uiUrl;
  }
  const { client, connection } = await connectClient(temporal, address);
  services.defer(() => connection.close());
  return { client, address, uiUrl };
};

const micros = (ms: number): number => Math.round(ms * 1000);

/** What folding and loading need, whatever brings the observations; no access to the service. */
export const ingestDeps = (
  services: Services,
  parts: { readonly store: Store; readonly targets: readonly WarehouseTarget[] },
): IngestDeps => ({
  ...parts,
  sanitize,
  log: services.log,
  clockSkew: micros(services.config.sync.clock_skew),
  drift: createDriftWatch(parts.store, services.log),
  processedField:
    services.config.source.list.axes.find((candidate) => candidate.end_of_processing)?.record_field ?? 'qualified',
});

/** Everything that activities need. */
export const activityDeps = (
  services: Services,
  parts: { readonly store: Store; readonly targets: readonly WarehouseTarget[]; readonly source: Source },
): ActivityDeps => {
  const { sync, store: storeConfig, source } = services.config;
  const axis = defaultAxis(source.list);
  return {
    ...ingestDeps(services, parts),
    source: parts.source,
    now: () => new Date(),
    windows: {
      initial: micros(sync.window.initial),
      min: micros(sync.window.min),
      max: micros(sync.window.max),
      targetCalls: sync.window.target_calls,
    },
    sync: {
      axis: axis.name,
      settle: micros(sync.settle),
      overlap: micros(sync.overlap),
      start: micros(resolveStart(sync.start_from, new Date()).getTime()),
      direction: sync.order,
    },
    retentionDays: storeConfig.inbox_retention / 86_400_000,
    reread: {
      horizon: sync.reread.horizon === 'learned' ? undefined : micros(sync.reread.horizon),
      share: sync.reread.share,
      delay: micros(sync.reread.delay),
      maxHorizon: micros(sync.reread.max_horizon),
      sample: sync.reread.sample,
    },
    reconcile: {
      age: micros(sync.reconcile.age),
      span: micros(sync.reconcile.span),
      level: sync.reconcile.level,
    },
    version: readVersion(),
  };
};

/** Workers of this process, polling until the services are closed. */
export const openWorkers = async (
  services: Services,
  temporal: TemporalService,
  deps: ActivityDeps,
  roles?: readonly WorkerRole[],
): Promise<WorkerGroup> => {
  const connection = await connectWorker(services.config.temporal, temporal.address);
  services.defer(() => connection.close());
  const workers = await startWorkers({
    connection,
    config: services.config.temporal,
    deps,
    ...(roles === undefined ? {} : { roles }),
  });
  services.defer(() => workers.stop());
  return workers;
};
