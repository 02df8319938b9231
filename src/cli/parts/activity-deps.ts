import type { ActivityDeps } from '../../../activities/create-activities.ts';
import { resolveStart } from '../../../schemas/config/sync.ts';
import type { Config } from '../../../schemas/config.ts';
import { type Ages, createAges } from '../../calls/age.ts';
import type { IngestDeps, WarehouseTarget } from '../../pipeline/deps.ts';
import { versionOfRules } from '../../privacy/rules.ts';
import { defaultAxis, endOfProcessingAxis } from '../../source/list/list-query.ts';
import { createDriftWatch } from '../../store/status/drift.ts';
import type { Store } from '../../store/store.ts';
import { readVersion } from '../shell/output.ts';
import { openPrivacy } from './keys.ts';
import type { Parts } from './open-parts.ts';
import { openWarehouses } from './open-warehouses.ts';
import type { Services } from './services.ts';

const micros = (ms: number): number => Math.round(ms * 1000);

/** The field of a record that holds the end of processing. */
export const processedFieldOf = ({ source }: Pick<Config, 'source'>): string =>
  endOfProcessingAxis(source.list)?.record_field ?? 'qualified';

/** Dependencies of folding and loading, without access to the service. */
export const ingestDeps = <P extends { store: Store; targets: readonly WarehouseTarget[] }>(
  services: Services,
  parts: P,
) => ({
  ...parts,
  ...privacyDeps(services.config),
  log: services.log,
  clockSkew: micros(services.config.sync.clock_skew),
  confirmWebhooks: services.config.sync.confirm_webhooks,
  drift: createDriftWatch(parts.store, services.log),
  processedField: processedFieldOf(services.config),
});

/** The same for a command, with all configured warehouses open. */
export const openIngest = async (services: Services, store: Store): Promise<IngestDeps> =>
  ingestDeps(services, { store, targets: await openWarehouses(services, store) });

const privacyDeps = (config: Config) => {
  const privacy = openPrivacy(config);
  return {
    ages: openAges(config),
    sanitize: privacy?.sanitize,
    isForeign: privacy?.isForeign,
    ...(privacy && { seal: privacy.seal, rulesVersion: versionOfRules(config.privacy) ?? '' }),
  };
};

/** The configured limits of age; undefined where there are none. */
export const openAges = ({ privacy: { retention } }: Pick<Config, 'privacy'>): Ages | undefined =>
  Object.values(retention).every((limit) => limit === undefined)
    ? undefined
    : createAges({ ...retention, freeFields: retention.free_fields });

/** Everything that activities need. */
export const activityDeps = (
  services: Services,
  parts: Pick<Parts, 'store' | 'targets' | 'source'> & Partial<Pick<Parts, 'observer'>>,
): ActivityDeps => {
  const { sync, store: storeConfig, source } = services.config;
  const axis = defaultAxis(source.list);
  return {
    ...ingestDeps(services, parts),
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
      lookback: micros(sync.lookback),
      start: micros(resolveStart(sync.start_from, new Date()).getTime()),
      interval: micros(sync.interval),
      direction: sync.order,
    },
    retention: {
      bodies: storeConfig.inbox_retention,
      deliveries: storeConfig.delivery_retention,
      quarantine: storeConfig.quarantine_retention,
      websocketFrames: storeConfig.frame_retention,
      loads: storeConfig.load_retention,
      verdicts: storeConfig.verdict_retention,
    },
    logRetention: {
      deliveries: storeConfig.warehouse_log_retention,
      loads: storeConfig.warehouse_log_retention,
      verdicts: storeConfig.verdict_retention,
    },
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
      backlogDays: sync.reconcile.backlog_days,
      rowsDays: sync.reconcile.rows_days,
      interval: micros(sync.reconcile.interval),
    },
    version: readVersion(),
  };
};
