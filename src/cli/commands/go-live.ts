/** Going live without a gap: receiver first, then the past, then both held against each other, then the schedules. */

import { setTimeout as delay } from 'node:timers/promises';
import { countOf } from '../../lib/count-of.ts';
import { terminal, transient } from '../../lib/errors.ts';
import { nowMicros } from '../../lib/timestamps.ts';
import { readCounters } from '../../store/status/counters.ts';
import {
  type GoLiveState,
  listRejections,
  measureOverlap,
  type Overlap,
  readGoLive,
  saveGoLive,
} from '../../store/status/progress.ts';
import type { Store } from '../../store/store.ts';
import { wakeMergeInbox } from '../../temporal/workflow-client.ts';
import { watchBackfill } from '../parts/follow.ts';
import type { Services } from '../parts/services.ts';
import {
  beginBackfill,
  ensureConfiguredSchedules,
  openTemporal,
  type TemporalService,
  unpolledQueues,
} from '../parts/temporal.ts';
import { withStore } from '../parts/with-services.ts';
import { flag, type Given, leaf, option, required } from '../shell/define.ts';
import { iso, print, tellTimes } from '../shell/output.ts';
import { duration, instant } from '../shell/parsers.ts';
import { untilStopped } from '../shell/signals.ts';
import { roundTrip } from './doctor/check-webhook.ts';
import { checkPublicUrl } from './webhook/check-public-url.ts';

type GoLiveOptions = Given<typeof options>;

type GoLiveInput = GoLiveOptions & { readonly signal: AbortSignal };

interface Deps {
  readonly services: Services;
  readonly store: Store;
  readonly temporal: TemporalService;
}

/** Each step is kept once it is done; a second run goes on after it. @throws CallsyncError GO_LIVE_… where a step fails. */
const goLive = async (deps: Deps, input: GoLiveInput): Promise<GoLiveState> => {
  const { store } = deps;
  const known = input.restart === true ? undefined : await readGoLive(store);
  let state: GoLiveState = known?.from === input.from ? known : { from: input.from };
  const keep = async (more: Partial<GoLiveState>): Promise<void> => {
    state = { ...state, ...more };
    await saveGoLive(store, state);
  };
  const { say } = deps.services;

  if (state.receiver === undefined) {
    const { url, message } = await verifyReceiver(deps, input);
    await keep({ receiver: { at: nowMicros(), url } });
    say(`1 receiver   ${message}`);
  } else say(`1 receiver   was verified at ${iso(state.receiver.at)}.`);

  if (state.catchUp?.calls === undefined) {
    if (state.catchUp === undefined) await keep({ catchUp: { to: nowMicros() } });
    const { to } = state.catchUp as { to: number };
    const { calls, problems } = await read(deps, input, { name: `go-live_${iso(input.from).slice(0, 10)}`, to });
    await keep({ catchUp: { to, calls, problems } });
  }
  const { to, calls = 0, problems = 0 } = state.catchUp as NonNullable<GoLiveState['catchUp']>;
  const unsure = problems > 0 ? `, ${countOf(problems, 'window')} not shown to be complete: callsync status` : '';
  say(`2 catch-up   ${iso(input.from)} … ${iso(to)}: ${countOf(calls, 'call')}${unsure}.`);

  if (state.overlap === undefined) {
    const overlap = await compareOverlap(deps, input, state.receiver?.at as number);
    refuseBadOverlap(overlap, input, await listRejections(store, overlap.from));
    await keep({ overlap });
  }
  say(`3 overlap    ${describeOverlap(state.overlap as Overlap)}`);

  await ensureConfiguredSchedules(deps.services, deps.temporal);
  await keep({ schedules: { at: nowMicros() } });
  say('4 schedules  are on.');
  return state;
};

const verifyReceiver = async (
  { services, store }: Deps,
  input: GoLiveInput,
): Promise<{ readonly url: string; readonly message: string }> => {
  const url = input.url ?? services.config.webhook.public_url;
  if (url === undefined) {
    throw terminal('CONFIG_INVALID', 'webhook.public_url is needed: the address that the service sends to.', {
      hint: 'Set it to the address given to the account manager.',
    });
  }
  const found = input.url === undefined ? await checkPublicUrl(new URL(url)) : [];
  const trip = await roundTrip(services, store, url);
  for (const { outcome, message, hint } of [...found, trip]) {
    if (outcome === 'failed') {
      throw terminal('GO_LIVE_RECEIVER', `The receiver is not ready: ${message}`, hint === undefined ? {} : { hint });
    }
    if (outcome === 'warning') services.say(`  note: ${message} ${hint ?? ''}`);
  }
  return { url, message: trip.message };
};

/** Reads a range to its end, joining a reading that is under way. */
const read = async (
  { services, temporal }: Deps,
  { from, signal }: Pick<GoLiveInput, 'from' | 'signal'>,
  { name, to, force = false }: { readonly name: string; readonly to: number; readonly force?: boolean },
): Promise<{ calls: number; problems: number }> => {
  const handle = await beginBackfill(services, temporal, { name, range: { from, to }, force });
  const progress = await watchBackfill(handle, name, signal);
  if (progress.state !== 'done') {
    throw transient('GO_LIVE_STOPPED', 'The reading goes on without being watched.', {
      hint: 'The same command joins it again.',
    });
  }
  return { calls: progress.totals.calls, problems: progress.totals.problems };
};

/** Waits until both ways in have run side by side long enough, reads that time again and compares. */
const compareOverlap = async (deps: Deps, input: GoLiveInput, from: number): Promise<Overlap> => {
  const { services, store, temporal } = deps;
  const { settle } = services.config.sync;
  const ready = from / 1000 + input.overlap + settle;
  if (Date.now() < ready) {
    services.say(`  waiting until ${new Date(ready).toISOString()}, so that webhooks and list can be compared …`);
    await delay(ready - Date.now(), undefined, { signal: input.signal }).catch(() => {
      throw transient('GO_LIVE_STOPPED', 'Stopped while waiting.', { hint: 'The same command goes on.' });
    });
  }
  const to = nowMicros() - settle * 1000;
  await read(deps, { from, signal: input.signal }, { name: `go-live_overlap_${iso(to)}`, to, force: true });
  await wakeMergeInbox(temporal.client, services.config.temporal.task_queue);
  for (
    const until = Date.now() + 60_000;
    ((await readCounters(store)).get('deliveries:pending') ?? 0) > 0;
    await delay(200)
  ) {
    if (Date.now() < until) continue;
    throw transient('GO_LIVE_INBOX', 'Deliveries wait in the inbox and are not merged.', {
      hint: 'Check that a worker runs (callsync doctor), then run the same command again.',
    });
  }
  return measureOverlap(store, { from, to });
};

const describeOverlap = ({ from, to, both, webhookOnly, pollOnly }: Overlap): string => {
  const span = `${iso(from)} … ${iso(to)}`;
  const lost =
    pollOnly === 0
      ? ''
      : `; ${countOf(pollOnly, 'listed call')} did not come by webhook (campaigns that are not subscribed, or lost deliveries): the schedules bring such calls`;
  return `${span}: ${countOf(both, 'call')} came both ways, ${webhookOnly} by webhook alone${lost}.`;
};

const refuseBadOverlap = (overlap: Overlap, { acceptEmpty }: GoLiveInput, rejections: readonly string[]): void => {
  if (overlap.webhookOnly > 0) {
    throw transient('GO_LIVE_OVERLAP', `The list lacks calls that came by webhook: ${overlap.webhookOnly}.`, {
      hint: 'Check source.list.params and what the credentials may see (callsync probe), then run the same command again.',
    });
  }
  if (overlap.both + overlap.pollOnly === 0 && acceptEmpty !== true) {
    throw transient('GO_LIVE_EMPTY', 'No call ended while webhooks and list ran side by side, so nothing is shown.', {
      hint: 'Run the same command again once calls have come, or give --accept-empty.',
    });
  }
  if (overlap.both === 0 && overlap.pollOnly > 0) {
    const message = `None of ${countOf(overlap.pollOnly, 'call')} came by webhook`;
    if (rejections.length > 0) {
      throw transient('GO_LIVE_REJECTED', `${message}: deliveries were rejected (${rejections.join(', ')}).`, {
        hint: 'Check webhook.secrets and webhook.header_prefix against what the service sends, then run the same command again.',
      });
    }
    throw transient('GO_LIVE_SILENT', `${message}.`, {
      hint: 'Ask the account manager whether the webhook is active for this address and these campaigns, then run the same command again.',
    });
  }
};

const run = (options: GoLiveOptions): Promise<void> =>
  withStore(options, async (store, services) => {
    const { signal } = untilStopped();
    const temporal = await openTemporal(services);
    const { namespace, task_queue: prefix } = services.config.temporal;
    if ((await unpolledQueues(temporal.client.workflow, namespace, prefix)).length > 0) {
      throw transient('GO_LIVE_WORKER', 'No worker is running.', {
        hint: 'Start callsync up --no-schedules (or worker and serve) and run the same command again.',
      });
    }
    const state = await goLive({ services, store, temporal }, { ...options, signal });
    print(options, tellTimes(state), 'Live: webhooks are taken, the past is read, and continuous sync runs.');
  });

const options = {
  from: required('--from <instant>', 'where the past begins (UTC)', { parse: instant }),
  url: option('--url <url>', 'try this address instead of webhook.public_url; it need not be public'),
  overlap: option('--overlap <duration>', 'how long webhooks and list must have run side by side', {
    parse: duration,
    standard: 600_000,
    shown: '10m',
  }),
  acceptEmpty: flag('--accept-empty', 'go on although no call ended in that time'),
  restart: flag('--restart', 'begin again, whatever an earlier run has done'),
};

export const command = leaf({
  options,
  examples: ['callsync up --no-schedules &', 'callsync go-live --from 2024-01-01'],
  remarks: `Each step is kept: after Ctrl-C or a failure, the same command goes on with the first step that is not done. The sample
delivery that verifies the receiver is removed again and never becomes a call. Exit code 5: everything answered, but it
is not live yet; 4: something does not answer. In both cases, run it again.`,
  run,
});
