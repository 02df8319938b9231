import type { ReconcileProgress } from '../../../workflows/messages.ts';
import { type Services, withStore } from '../../app/services.ts';
import { beginBackfill, ensureConfiguredSchedules, openTemporal, unpolledQueues } from '../../app/temporal.ts';
import { terminal, transient } from '../../lib/errors.ts';
import { goLive } from '../../pipeline/go-live.ts';
import type { Store } from '../../store/store.ts';
import { listReadRanges } from '../../store/windows/windows.ts';
import { startReconcile, wakeMergeInbox } from '../../temporal/workflow-client.ts';
import { flag, instant, leaf, option, parsed, required } from '../shell/define.ts';
import { watchBackfill } from '../shell/follow.ts';
import { tellTimes, untilStopped } from '../shell/output.ts';
import { duration } from '../shell/range.ts';
import { checkPublicUrl, roundTrip } from './doctor/check-webhook.ts';

const verifyReceiver = async (services: Services, store: Store, given: string | undefined) => {
  const url = given ?? services.config.webhook.public_url;
  if (url === undefined)
    throw terminal('CONFIG_INVALID', 'webhook.public_url is needed: the address that the service sends to.', {
      hint: 'Set it to the address given to the account manager. If the service sends no webhooks, set webhook.enabled to false.',
    });
  const found = given === undefined ? await checkPublicUrl(new URL(url)) : [];
  const trip = await roundTrip(services, store, url);
  for (const { outcome, message, hint } of [...found, trip]) {
    if (outcome === 'failed')
      throw terminal('GO_LIVE_RECEIVER', `The receiver is not ready: ${message}`, hint === undefined ? {} : { hint });
    if (outcome === 'warning') services.say(`  note: ${message} ${hint ?? ''}`);
  }
  return { url, message: trip.message };
};

export default leaf({
  options: {
    from: required(parsed('--from <instant>', 'time of the oldest calls to read (UTC)', instant)),
    url: option('--url <url>', 'send the sample delivery to this address instead of webhook.public_url'),
    parallelRun: parsed(
      '--parallel-run <duration>',
      'time for which callsync compares webhooks with the list',
      duration,
      '10m',
    ),
    acceptEmpty: flag('--accept-empty', 'continue even if no call ended during the comparison'),
    restart: flag('--restart', 'start from the first step, even if earlier steps are done'),
  },
  examples: ['callsync up --no-schedules &', 'callsync go-live --from 2024-01-01'],
  remarks: `After Ctrl-C or a failure, run the same command again; it continues with the first unfinished step. callsync
deletes the sample delivery that verifies the receiver. If webhook.enabled is false, go-live omits receiver and
comparison. Exit code 5: not live yet. Exit code 4: a server or the service does not
answer. In both cases, run the command again.`,
  within: withStore,
  run: async (options, store, services) => {
    const { signal } = untilStopped();
    const temporal = await openTemporal(services);
    if ((await unpolledQueues(temporal.client.workflow, temporal.prefix)).length > 0)
      throw transient('GO_LIVE_WORKER', 'No worker is running.');
    const { settle, reconcile } = services.config.sync;
    const receives = services.config.webhook.enabled || options.url !== undefined;
    const state = await goLive(
      {
        store,
        say: services.say,
        settle,
        compareAge: reconcile.enabled ? reconcile.age : Number.POSITIVE_INFINITY,
        verifyReceiver: receives ? () => verifyReceiver(services, store, options.url) : undefined,
        read: async (name, range, { force }) => {
          const handle = await beginBackfill(services, temporal, { name, range, force });
          const { state: reached, totals } = await watchBackfill(handle, name, signal);
          if (reached === 'done') return totals;
          throw transient('GO_LIVE_STOPPED', 'You stopped the display; the backfill continues.');
        },
        listRead: (range) => listReadRanges(store, range),
        compare: async (range) => {
          const request = { name: `${range.from}-${range.to}`, request: { range } };
          const handle = await startReconcile(temporal.client, temporal.prefix, request);
          const { totals } = (await handle.result()) as ReconcileProgress;
          // None is compared where all have their verdict, such as in a second run.
          if (totals.proven + totals.healed === totals.windows) return 'proven';
          return 'not proven yet: callsync coverage has the reason';
        },
        wakeInbox: () => wakeMergeInbox(temporal.client, temporal.prefix),
        ensureSchedules: () => ensureConfiguredSchedules(services, temporal),
      },
      { ...options, signal },
    );
    return [tellTimes(state), 'Live: the past is read, and continuous sync runs. Next: callsync status'];
  },
});
