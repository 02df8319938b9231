import { setFlagsFromString } from 'node:v8';
import { mergeTemporalMetrics } from '../health/metrics/temporal-metrics.ts';
import { limitGrowth } from '../lib/bound-memory.ts';
import { transient } from '../lib/errors.ts';
import { withinTime } from '../lib/timing.ts';
import { openPool } from '../postgres/database.ts';
import { listenToInbox } from '../store/delivery/inbox-writer.ts';
import { countUnderOthers } from '../store/ledger/read-ledger.ts';
import { recordOnce } from '../store/status/events.ts';
import type { Store } from '../store/store.ts';
import { connectWorker, installRuntime, startWorkers, type WorkerRole } from '../temporal/worker.ts';
import { wakeMergeInbox } from '../temporal/workflow-client.ts';
import { createWakeUp } from '../webhook/server/wake-up.ts';
import { activityDeps } from './activity-deps.ts';
import { openHealthWatch } from './open-health.ts';
import type { Parts } from './open-operations.ts';
import type { Services } from './services.ts';

/** A wake of the merge that takes longer counts as failed. */
const wakeWithinMs = 5_000;

/** Workers of this process, polling until the services are closed. @param roles without them, they do everything */
export const openWorkers = async (services: Services, parts: Parts, roles?: readonly WorkerRole[]) => {
  const isV20 = process.version.startsWith('v20.');
  // The heap holds some 50 MB, and the pages under way 28: at 40 %, V8 marked all of it again and again. Later versions hold more.
  limitGrowth(isV20 ? 95 : 60);
  // V8 optimizes code that has run for some time. In a load of seconds, eight times that time saves work of the compiler.
  // The V8 of later versions of Node counts calls, and has no such flag.
  if (isV20) setFlagsFromString('--interrupt-budget=600000');
  installRuntime(
    // Activities have already logged these warnings of the SDK.
    (message, isCore) => services.log(message, isCore ? { level: 'warn' } : {}),
    (buffer) => services.defer(mergeTemporalMetrics(parts.registry, () => buffer.retrieveUpdates())),
  );
  const connection = await connectWorker(services.config.temporal, parts.temporal.address);
  services.defer(() => connection.close());
  const deps = activityDeps(services, parts);
  await tellRules(services, parts.store, deps.rulesVersion);
  const workers = await startWorkers({ connection, config: services.config.temporal, deps, roles });
  services.defer(() => workers.stop());
  openHealthWatch(services, parts.store, parts.readings);
  if (roles === undefined || roles.includes('live')) wakeMerges(services, parts);
  return workers;
};

/** Starts the merge as soon as a receiver reports deliveries. The sweep finds deliveries whose notification was lost. */
const wakeMerges = (services: Services, { store: { url, schema }, temporal }: Parts): void => {
  const { config } = services;
  const wakeUp = createWakeUp({
    wake: () =>
      withinTime(wakeMergeInbox(temporal.client, temporal.prefix), wakeWithinMs, () =>
        transient('WAKE_LATE', 'Waking the inbox merge took too long.'),
      ),
    intervalMs: config.webhook.wake_interval_ms,
    log: { warn: (fields, message) => services.log(message, { level: 'warn', ...fields }) },
  });
  const pool = openPool({ url, schema, application: 'callsync listener', purpose: 'store', max: 1 });
  const listener = listenToInbox(pool, wakeUp.notify, (error) =>
    services.log('notifications of new deliveries do not arrive; deliveries wait for the sweep', {
      level: 'warn',
      error,
    }),
  );
  services.defer(async () => {
    await listener.stop();
    await wakeUp.close();
    await pool.end();
  });
};

/** Changed rules act on incoming data. `privacy apply` brings them to stored data; relaxed rules never restore it. */
const tellRules = async (services: Services, store: Store, rules: string | undefined): Promise<void> => {
  if (rules === undefined) return;
  await recordOnce(store, 'privacy', `Privacy rules ${rules} act on what comes in from now on`);
  const calls = await countUnderOthers(store, rules);
  if (calls === 0) return;
  services.log('calls are under other privacy rules; run callsync privacy apply', { rules, calls });
};
