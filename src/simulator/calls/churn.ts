/**
 * Calls that leave and join a range while it is paged, keeping its count: alternately one before the reader's place
 * leaves and one behind it joins (offset paging then skips a call), and the other way round (it sees one twice).
 */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import type { Counters } from '../control/stats.ts';
import type { PageEvent } from '../service/call-api.ts';
import { fraction } from './random.ts';
import type { World } from './world.ts';

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
