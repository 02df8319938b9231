/** Going live without a gap: receiver first, then the past, then both held against each other, then the schedules. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Range } from '../../schemas/orchestration.ts';
import { countOf } from '../lib/count-of.ts';
import { transient } from '../lib/errors.ts';
import { beginOfDay, dateOf, dayMicros as day, iso, nowMicros } from '../lib/timestamps.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { readCounters } from '../store/status/counters.ts';
import { listRejections, measureOverlap, type Overlap } from '../store/status/overlap.ts';
import type { Store } from '../store/store.ts';

/** Kept in `meta` under this key. A step that is done has its entry; the next run begins after the last. */
interface GoLiveState {
  readonly from: number;
  readonly receiver?: { readonly at: number; readonly url: string };
  /** `to` is kept as soon as the catch-up has been started, so that a second run joins the same one. */
  readonly catchUp?: { readonly to: number; readonly calls?: number; readonly problems?: number };
  readonly overlap?: Overlap;
  readonly schedules?: { readonly at: number };
}
const goLiveKey = 'go_live';

interface GoLiveInput {
  /** Microseconds; where the past begins. */
  readonly from: number;
  /** Milliseconds that webhooks and polls must have run side by side. */
  readonly parallelRun: number;
  /** Continue although no call ended in the overlap. */
  readonly acceptEmpty?: boolean;
  /** Forget the progress of an earlier run. */
  readonly restart?: boolean;
  readonly signal: AbortSignal;
}

/** Each may be asked again after a failure. */
interface GoLiveDeps {
  readonly store: Store;
  readonly say: (line: string) => void;
  /** Milliseconds after which a call is expected in the list. */
  readonly settle: number;
  /** Milliseconds after which a day is compared; infinite where none is. */
  readonly compareAge: number;
  /** Sends a sample delivery, which never becomes a call; undefined where no webhooks come. @throws CallsyncError GO_LIVE_RECEIVER */
  readonly verifyReceiver: (() => Promise<{ readonly url: string; readonly message: string }>) | undefined;
  /** Reads a range to its end, joining a reading of the same name that is under way. @throws CallsyncError GO_LIVE_STOPPED */
  read(
    name: string,
    range: Range,
    options: { readonly force: boolean },
  ): Promise<{ readonly calls: number; readonly problems: number }>;
  /** Ranges that were read, oldest first. */
  listRead(range: Range): Promise<readonly Range[]>;
  /** Compares a UTC day with the service and the warehouses. Resolves with a description of the verdict. */
  compare(range: Range): Promise<string>;
  /** Merges the waiting deliveries of the inbox. */
  wakeInbox(): Promise<void>;
  ensureSchedules(): Promise<unknown>;
}

/** Stores each finished step; a second run continues after it. @throws CallsyncError GO_LIVE_… where a step fails. */
export const goLive = async (deps: GoLiveDeps, input: GoLiveInput): Promise<GoLiveState> => {
  const { store, say } = deps;
  const known = input.restart === true ? undefined : await readMeta<GoLiveState>(store, goLiveKey);
  let state: GoLiveState = known?.from === input.from ? known : { from: input.from };
  const keep = async (more: Partial<GoLiveState>): Promise<void> => {
    state = { ...state, ...more };
    await writeMeta(store, goLiveKey, state);
  };

  const [receiver, told] = await verifyOnce(deps, state.receiver);
  await keep({ receiver });
  say(`1 receiver   ${told}`);

  if (state.catchUp?.calls === undefined) {
    if (state.catchUp === undefined) await keep({ catchUp: { to: nowMicros() } });
    const range = { from: input.from, to: state.catchUp?.to as number };
    const reading = deps.read(`go-live_${iso(input.from).slice(0, 10)}`, range, { force: false });
    const ended = new AbortController();
    const proving = compareFirstDay(deps, range, ended.signal).catch(() => undefined);
    const { calls, problems } = await reading.finally(() => ended.abort());
    await proving;
    await keep({ catchUp: { to: range.to, calls, problems } });
  }
  const { to, calls, problems } = state.catchUp as Required<NonNullable<GoLiveState['catchUp']>>;
  const unsure = problems > 0 ? `, ${countOf(problems, 'window')} not shown to be complete: callsync status` : '';
  say(`2 catch-up   ${iso(input.from)} … ${iso(to)}: ${countOf(calls, 'call')}${unsure}.`);

  if (state.overlap === undefined && state.receiver !== undefined) {
    const overlap = await compareOverlap(deps, input, { from: state.receiver.at, readFrom: to });
    // The next run verifies the receiver again, and compares from then on: the cause may be mended.
    if (overlap.both === 0 && overlap.pollOnly > 0) await keep({ receiver: undefined });
    refuseBadOverlap(overlap, input, await listRejections(store, overlap.from));
    await keep({ overlap });
  }
  say(`3 overlap    ${describeOverlap(state.overlap)}`);

  await deps.ensureSchedules();
  await keep({ schedules: { at: nowMicros() } });
  say('4 schedules  are on.');
  return state;
};

const verifyOnce = async ({ verifyReceiver }: GoLiveDeps, known: GoLiveState['receiver']) => {
  if (verifyReceiver === undefined) return [undefined, 'none: new calls come from the list alone.'] as const;
  if (known !== undefined) return [known, `was verified at ${iso(known.at)}.`] as const;
  const { url, message } = await verifyReceiver();
  return [{ at: nowMicros(), url }, message] as const;
};

const lookMs = 2_000;

/** Compares the first settled day of a part that was read, while the rest of the past is still read. */
const compareFirstDay = async (deps: GoLiveDeps, { from, to }: Range, ended: AbortSignal): Promise<void> => {
  const settledTo = to - deps.compareAge * 1000;
  for (let isLast = settledTo <= from; !isLast; ) {
    await delay(lookMs, undefined, { signal: ended }).catch(() => undefined);
    isLast = ended.aborted;
    for (const read of (await deps.listRead({ from, to: settledTo })).toReversed()) {
      const end = beginOfDay(Math.min(read.to, settledTo));
      if (end - day < Math.max(read.from, from)) continue;
      const told = await deps.compare({ from: end - day, to: end });
      return deps.say(`  first day  ${dateOf((end - day) / 1000)}, the first that was read: ${told}`);
    }
  }
};

/**
 * Waits until both ways in have run side by side long enough, reads that time again and compares.
 * @param readFrom end of the catch-up; a receiver that was verified anew came later
 */
const compareOverlap = async (
  deps: GoLiveDeps,
  input: GoLiveInput,
  { from, readFrom }: { readonly from: number; readonly readFrom: number },
): Promise<Overlap> => {
  const { store, settle } = deps;
  const ready = from / 1000 + input.parallelRun + settle;
  if (Date.now() < ready) {
    deps.say(`  waiting until ${new Date(ready).toISOString()}, so that webhooks and list can be compared …`);
    await delay(ready - Date.now(), undefined, { signal: input.signal }).catch(() => {
      throw transient('GO_LIVE_STOPPED', 'Stopped while waiting.');
    });
  }
  const to = nowMicros() - settle * 1000;
  await deps.read(`go-live_overlap_${iso(to)}`, { from: Math.min(from, readFrom), to }, { force: true });
  await deps.wakeInbox();
  const countPending = async () => (await readCounters(store)).get('deliveries:pending') ?? 0;
  for (const until = Date.now() + 60_000; (await countPending()) > 0; await delay(200)) {
    if (Date.now() < until) continue;
    throw transient('GO_LIVE_INBOX', 'Deliveries wait in the inbox and are not merged.');
  }
  return measureOverlap(store, { from, to });
};

const describeOverlap = (overlap: Overlap | undefined): string => {
  if (overlap === undefined) return 'none, because no webhooks come.';
  const { from, to, both, webhookOnly, pollOnly } = overlap;
  const lost =
    pollOnly === 0
      ? ''
      : `; ${countOf(pollOnly, 'listed call')} did not come by webhook (campaigns that are not subscribed, or lost deliveries): the schedules bring such calls`;
  return `${iso(from)} … ${iso(to)}: ${countOf(both, 'call')} came both ways, ${webhookOnly} by webhook alone${lost}.`;
};

const refuseBadOverlap = (overlap: Overlap, { acceptEmpty }: GoLiveInput, rejections: readonly string[]): void => {
  if (overlap.webhookOnly > 0)
    throw transient('GO_LIVE_OVERLAP', `The list lacks calls that came by webhook: ${overlap.webhookOnly}.`);
  if (overlap.both + overlap.pollOnly === 0 && acceptEmpty !== true)
    throw transient('GO_LIVE_EMPTY', 'No call ended during the comparison, so callsync could compare nothing.');
  if (overlap.both === 0 && overlap.pollOnly > 0) {
    const calls = countOf(overlap.pollOnly, 'call');
    if (rejections.length === 0) throw transient('GO_LIVE_SILENT', `None of ${calls} came by webhook.`);
    const why = rejections.join(', ');
    throw transient('GO_LIVE_REJECTED', `None of ${calls} came by webhook: deliveries were rejected (${why}).`);
  }
};
