/** Advances the simulated time: adds new calls and announces due ones. */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import type { Counters } from '../control/stats.ts';
import type { PageEvent } from '../service/call-api.ts';
import { durationSecondsOf } from './population.ts';
import { fraction, hash32 } from './random.ts';
import type { World } from './world.ts';

/**
 * Calls that leave and join a range during paging, without a change of its count. First, one before the reader's
 * place leaves and one after it joins, so that offset paging skips a call. Then the other way round: paging sees one
 * twice.
 */
export const createChurn = (world: World, settings: SimulatorSettings, { churn }: Pick<Counters, 'churn'>) => {
  let pages = 0;
  /** A listed call of the range beyond the reader's place. */
  const findBeyond = (range: PageEvent['query']['ranges']['timestamp'], last: number): number | undefined => {
    const now = world.now();
    const from = world.placeOf(last).timestamp + 1;
    let found: number | undefined;
    world.axes.timestamp.scan({ ...range, from }, (index) => {
      if (world.isListed(index, now)) found = index;
      return found === undefined;
    });
    return found;
  };
  return ({ query, page }: PageEvent): void => {
    const { everyPages, limit } = settings.churn;
    if (everyPages === 0 || churn.left >= limit || query.axis !== 'timestamp') return;
    const last = page.indices.at(-1);
    if (last === undefined || page.total <= query.offset + page.indices.length) return;
    if (++pages % everyPages !== 0) return;
    const forwards = (pages / everyPages) % 2 === 1;
    const seen = page.indices[Math.floor(fraction(settings.seed, pages, 95) * page.indices.length)] as number;
    const beyond = findBeyond(query.ranges.timestamp, last);
    if (beyond === undefined) return;
    const [leaving, joining] = forwards ? [seen, beyond] : [beyond, seen];
    const at = new Date(world.placeOf(joining).timestamp).toISOString();
    world.remove(leaving);
    world.insert({ timestamp: at, webhook: false, status: 'qualified' });
    churn.left++;
    churn.joined++;
  };
};

const tickMs = 25;

/** Runs until the returned function is called. */
export const startLiveCalls = (world: World, settings: SimulatorSettings) => {
  let lastAt = performance.now();
  let due = 0;
  let ticks = 0;
  const appear = (processingSeconds: number): void => {
    const ended = world.now();
    const timestamp = ended - durationSecondsOf(settings, world.count) * 1_000;
    world.insert({
      timestamp: new Date(timestamp).toISOString(),
      qualified: new Date(ended + processingSeconds * 1_000).toISOString(),
    });
  };
  const editOne = (): void => {
    const index = hash32(settings.seed, ticks, 98) % world.count;
    if (world.isListed(index, world.now())) world.edit(index, {});
  };
  const tick = (): void => {
    if (settings.staticPages) return;
    const now = performance.now();
    const { callsPerSecond, processingSeconds, editShare } = settings.live;
    due = callsPerSecond === 0 ? 0 : due + (callsPerSecond * (now - lastAt)) / 1_000;
    lastAt = now;
    world.advance();
    for (; due >= 1; due--) appear(processingSeconds);
    ticks++;
    if (editShare > 0 && fraction(settings.seed, ticks, 97) < editShare && world.count > 0) editOne();
  };
  const timer = setInterval(tick, tickMs);
  return () => clearInterval(timer);
};
