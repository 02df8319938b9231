/** Warehouses of a process, and what folding, loading and activities depend on. */
import type { ActivityDeps } from '../../activities/create-activities.ts';
import { readSettings } from '../../schemas/config/sync.ts';
import type { WarehouseConfig } from '../../schemas/config/warehouses.ts';
import type { Config } from '../../schemas/config.ts';
import { type Ages, createAges } from '../calls/age.ts';
import { flattenVersion } from '../calls/flatten.ts';
import { CallsyncError, terminal } from '../lib/errors.ts';
import { readVersion } from '../lib/find-built.ts';
import { startOfDay } from '../lib/timestamps.ts';
import { repeatEvery } from '../lib/timing.ts';
import { martSettings } from '../marts/mart.ts';
import { openMartColumns, renderViews } from '../marts/render-views.ts';
import type { IngestDeps, WarehouseTarget } from '../pipeline/deps.ts';
import { checkBeforeLoad, createLedgerCheck } from '../pipeline/load/check-ledger.ts';
import { versionOfRules } from '../privacy/rules.ts';
import { endOfProcessingAxis } from '../source/list/list-query.ts';
import { beginWalk } from '../store/loads/walk.ts';
import { registerWarehouse } from '../store/loads/warehouses.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { createDriftWatch } from '../store/status/drift.ts';
import type { Store } from '../store/store.ts';
import type { Readers } from '../warehouse/grants.ts';
import type { Place } from '../warehouse/kind.ts';
import { kindOf, kinds } from '../warehouse/kinds.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { openPrivacy } from './open-rules.ts';
import type { Services } from './services.ts';

const hourMs = 3_600_000;

/** Path of the field of a record that holds the end of processing. */
export const processedFieldOf = ({ source }: Pick<Config, 'source'>): string =>
  endOfProcessingAxis(source.list)?.record_field ?? 'qualified';

/** Dependencies of folding and loading, without access to the service. */
const ingestDeps = <P extends { store: Store; targets: readonly WarehouseTarget[] }>(
  { config, log }: Services,
  parts: P,
) => {
  const privacy = openPrivacy(config);
  return {
    ...parts,
    ages: openAges(config),
    sanitize: privacy?.sanitize,
    isForeign: privacy?.isForeign,
    ...(privacy && { seal: privacy.seal, rulesVersion: versionOfRules(config.privacy) ?? '' }),
    log,
    clockSkew: Math.round(config.sync.clock_skew * 1000),
    confirmWebhooks: config.sync.confirm_webhooks,
    drift: createDriftWatch(parts.store, log),
    processedField: processedFieldOf(config),
  };
};

/** The same for a command, with all configured warehouses open. */
export const openIngest = async (services: Services, store: Store): Promise<IngestDeps> =>
  ingestDeps(services, { store, targets: await openWarehouses(services, store) });

/**
 * The configured limits of age; undefined where there are none. The clock goes in steps of an hour at most: with each
 * step, the days at the limits lose their proof and are compared again.
 */
export const openAges = ({ privacy: { retention }, source }: Pick<Config, 'privacy' | 'source'>): Ages | undefined => {
  const limits = Object.values(retention).filter((limit) => limit !== undefined);
  if (limits.length === 0) return undefined;
  const step = Math.min(hourMs, ...limits.map((limit) => limit / 24));
  return createAges(
    { ...retention, freeFields: retention.free_fields },
    () => Math.floor(Date.now() / step) * step,
    source.list.cursor_fields.map(({ record_field }) => record_field),
  );
};

/** Everything that activities need. */
export const activityDeps = (
  services: Services,
  parts: Pick<ActivityDeps, 'store' | 'targets' | 'source' | 'observer'>,
): ActivityDeps => ({
  ...ingestDeps(services, parts),
  ...readSettings(services.config.sync),
  now: () => new Date(),
  retention: services.config.store,
  version: readVersion(),
});

/** The adapter of one configured warehouse. @param warn gets failures of background work */
export const createWarehouse = (name: string, config: WarehouseConfig, store: Store, warn?: (error: unknown) => void) =>
  kindOf(config).create({
    name,
    config,
    storeUrl: store.url,
    lease: store.lease,
    memory: <T>() => ({
      read: async () => (await readMeta<T[]>(store, `quota:${name}`)) ?? [],
      write: (records: readonly T[]) => writeMeta(store, `quota:${name}`, records),
    }),
    warn,
  });

/** The settings of a warehouse by its name, and where its tables and marts are. @throws CallsyncError USAGE_WAREHOUSE */
export const settingsOf = (config: Config, name: string) => {
  const settings = Object.hasOwn(config.warehouses, name) ? config.warehouses[name] : undefined;
  if (settings !== undefined) return { settings, place: kindOf(settings).place(settings) };
  throw terminal('USAGE_WAREHOUSE', `There is no warehouse “${name}” in the configuration.`, {
    hint: `Use one of: ${Object.keys(config.warehouses).join(', ')}.`,
  });
};

/** The groups of readers, under the names that PostgreSQL gives them unless an operator chooses others. */
export const readersOf = ({ settings, place }: ReturnType<typeof settingsOf>): Readers => ({
  analyst: 'callsync_analyst',
  restricted: 'callsync_restricted',
  marts: place.marts,
  openMarts: settings.marts ? openMartColumns : {},
});

/** A warehouse by its name; without a name, the first of the kind that is listed first. @throws CallsyncError USAGE_WAREHOUSE */
export const chooseWarehouse = (config: Config, name?: string) => {
  const { warehouses } = config;
  const names = kinds.flatMap(({ type }) => Object.keys(warehouses).filter((one) => warehouses[one]?.type === type));
  const chosen = name ?? names[0] ?? '';
  return { name: chosen, ...settingsOf(config, chosen) };
};

/** A warehouse to ask something; nothing is migrated. */
export const openWarehouse = (services: Services, store: Store, name?: string): Warehouse => {
  const { name: chosen, settings } = chooseWarehouse(services.config, name);
  const warehouse = createWarehouse(chosen, settings, store);
  services.defer(() => warehouse.close());
  return warehouse;
};

/** All configured warehouses, to ask something: none is migrated, and the ledger is not compared. */
export const warehousesToAsk = (services: Services, store: Store) =>
  Object.keys(services.config.warehouses).map((name) => ({ warehouse: openWarehouse(services, store, name) }));

/** A warehouse may know another zone under the name of ours. @throws terminal CONFIG_TIME_ZONE */
export const checkTimeZone = async (warehouse: Pick<Warehouse, 'name' | 'query'>, place: Place, zone: string) => {
  const { day_start, seconds_between } = place.fragments;
  for (const day of ['2026-01-15', '2026-07-15']) {
    const date = `DATE '${day}'`;
    const [row] = await warehouse.query(
      `SELECT ${seconds_between(day_start(date, 'UTC'), day_start(date, zone))} AS seconds`,
    );
    if (startOfDay(day, 'UTC') + Number(row?.seconds) * 1000 === startOfDay(day, zone)) continue;
    throw terminal(
      'CONFIG_TIME_ZONE',
      `Days of ${zone} begin at another time in warehouse ${warehouse.name} than here.`,
    );
  }
};

/** Creates the marts of a warehouse, or replaces those that have changed. Loads never wait for them, nor fail with them. */
export const openMarts = async (
  { config, say }: Pick<Services, 'config' | 'say'>,
  warehouse: Pick<Warehouse, 'name' | 'marts' | 'query'>,
): Promise<void> => {
  const { settings, place } = settingsOf(config, warehouse.name);
  const { marts } = warehouse;
  if (!settings.marts || marts === undefined) return;
  try {
    await checkTimeZone(warehouse, place, config.analytics.time_zone);
    await marts.ensure(place.marts, renderViews(place, martSettings(config.analytics)));
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
    say(
      `The marts of warehouse ${warehouse.name} were not created or replaced; the next start tries again. ${error.message} ${error.hint ?? ''}`,
    );
  }
};

const watchMs = 5_000;

/**
 * All configured warehouses: migrated, registered in the ledger and compared with it, now and while the services are
 * open. A warehouse that does not answer stays configured, and its calls stay pending.
 */
export const openWarehouses = async (services: Services, store: Store): Promise<readonly WarehouseTarget[]> => {
  const targets: WarehouseTarget[] = [];
  const warehouses: Warehouse[] = [];
  const ledgerCheck = createLedgerCheck({ store, warehouses, say: services.say });
  for (const [name, config] of Object.entries(services.config.warehouses)) {
    const tables = createWarehouse(name, config, store, (error) =>
      services.log('loaded calls could not be indexed for search', { warehouse: name, error }),
    );
    services.defer(() => tables.close());
    // Also when a running process makes lost tables anew: their marts went with them.
    const migrate = () => tables.migrate().then(() => openMarts(services, tables));
    const warehouse = checkBeforeLoad({ ...tables, migrate }, ledgerCheck);
    await warehouse.migrate().catch((error: unknown) => {
      if (!(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
      services.say(`Warehouse ${name} is not ready; its calls stay pending. ${error.message}`);
    });
    await registerWarehouse(store, name, flattenVersion);
    warehouses.push({ ...tables, migrate });
    targets.push({ warehouse, documents: config.documents });
  }
  await ledgerCheck.run();
  for (const { name } of warehouses) await beginWalk(store, name);
  const look = () =>
    ledgerCheck.watch().catch((error: unknown) => services.log('the ledger could not be checked', { error }));
  services.defer(repeatEvery(watchMs, look));
  return targets;
};
