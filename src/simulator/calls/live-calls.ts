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
export class Churn {
  private pages = 0;
  private readonly world: World;
  private readonly settings: SimulatorSettings;
  private readonly counters: Counters;

  constructor(world: World, settings: SimulatorSettings, counters: Counters) {
    this.world = world;
    this.settings = settings;
    this.counters = counters;
  }

  onPage({ query, page }: PageEvent): void {
    const { everyPages, limit } = this.settings.churn;
    const { churn } = this.counters;
    if (everyPages === 0 || churn.left >= limit || query.axis !== 'timestamp') return;
    const last = page.indices.at(-1);
    if (last === undefined || page.total <= query.offset + page.indices.length) return;
    if (++this.pages % everyPages !== 0) return;
    const forwards = (this.pages / everyPages) % 2 === 1;
    const seen = page.indices[Math.floor(fraction(this.settings.seed, this.pages, 95) * page.indices.length)] as number;
    const beyond = this.beyond(query.ranges.timestamp, last);
    if (beyond === undefined) return;
    const [leaving, joining] = forwards ? [seen, beyond] : [beyond, seen];
    const at = new Date(this.world.placeOf(joining).timestamp).toISOString();
    this.world.remove(leaving);
    this.world.insert({ timestamp: at, webhook: false, status: 'qualified' });
    churn.left++;
    churn.joined++;
  }

  /** A listed call of the range beyond the reader's place. */
  private beyond(range: PageEvent['query']['ranges']['timestamp'], last: number): number | undefined {
    const now = this.world.now();
    const from = this.world.placeOf(last).timestamp + 1;
    let found: number | undefined;
    this.world.axes.timestamp.scan({ ...range, from }, (index) => {
      if (this.world.isListed(index, now)) found = index;
      return found === undefined;
    });
    return found;
  }
}

const tickMs = 25;

export class LiveCalls {
  private readonly timer: NodeJS.Timeout;
  private readonly world: World;
  private readonly settings: SimulatorSettings;
  private lastAt = performance.now();
  private due = 0;
  private ticks = 0;

  constructor(world: World, settings: SimulatorSettings) {
    this.world = world;
    this.settings = settings;
    this.timer = setInterval(() => this.tick(), tickMs);
  }

  private tick(): void {
    const { world, settings } = this;
    if (settings.staticPages) return;
    const now = performance.now();
    const { callsPerSecond, processingSeconds, editShare } = settings.live;
    this.due = callsPerSecond === 0 ? 0 : this.due + (callsPerSecond * (now - this.lastAt)) / 1_000;
    this.lastAt = now;
    world.advance();
    for (; this.due >= 1; this.due--) this.appear(processingSeconds);
    this.ticks++;
    if (editShare > 0 && fraction(settings.seed, this.ticks, 97) < editShare && world.count > 0) this.editOne();
  }

  private appear(processingSeconds: number): void {
    const { world, settings } = this;
    const ended = world.now();
    const timestamp = ended - durationSecondsOf(settings, world.count) * 1_000;
    world.insert({
      timestamp: new Date(timestamp).toISOString(),
      qualified: new Date(ended + processingSeconds * 1_000).toISOString(),
    });
  }

  private editOne(): void {
    const { world, settings } = this;
    const index = hash32(settings.seed, this.ticks, 98) % world.count;
    if (world.isListed(index, world.now())) world.edit(index, {});
  }

  close(): void {
    clearInterval(this.timer);
  }
}
