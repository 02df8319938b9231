/** Finds the calls of one page. */
import { everything } from '../calls/axis-index.ts';
import { fraction } from '../calls/random.ts';
import type { World } from '../calls/world.ts';
import type { ListQuery } from './list-query.ts';

export interface Page {
  readonly indices: readonly number[];
  /** Calls that match the query, as far as the service shows them. */
  readonly total: number;
  /** Where a cursor would continue; undefined on the last page. */
  readonly next: readonly [number, number] | undefined;
}

interface PageOptions {
  readonly cap: number | undefined;
  readonly needsTotal: boolean;
  /** Shows every call, processed or not. */
  readonly frozen: boolean;
  /** Orders ties by this seed instead of by index. */
  readonly tieSeed: number | undefined;
}

type Entry = readonly [key: number, index: number];

const otherAxis = { timestamp: 'qualified', qualified: 'timestamp' } as const;

const scanMatches = (world: World, query: ListQuery, frozen: boolean, visit: (entry: Entry) => boolean): void => {
  const now = world.now();
  const other = otherAxis[query.axis];
  const within = query.ranges[other];
  const restricted = within !== everything;
  const { after, statuses } = query;
  const range = query.ranges[query.axis];
  const start = after === undefined ? range : { ...range, from: Math.max(range.from, after[0]) };
  world.axes[query.axis].scan(start, (index, key) => {
    if (after !== undefined && key === after[0] && index <= after[1]) return true;
    if (!frozen && !world.isListed(index, now)) return true;
    if (restricted || statuses !== undefined) {
      const place = world.placeOf(index);
      const at = place[other];
      if (at < within.from || (within.toInclusive ? at > within.to : at >= within.to)) return true;
      if (statuses !== undefined && !statuses.has(place.status)) return true;
    }
    return visit([key, index]);
  });
};

export const selectPage = (world: World, query: ListQuery, options: PageOptions): Page => {
  const limit = options.cap ?? Number.POSITIVE_INFINITY;
  const end = Math.min(query.offset + query.size, limit);
  const { tieSeed } = options;
  const collectAll = tieSeed !== undefined && query.after === undefined;
  const found: Entry[] = [];
  let total = 0;
  scanMatches(world, query, options.frozen, (entry) => {
    if (total >= limit) return false;
    if (collectAll || (total >= query.offset && total < end)) found.push(entry);
    total++;
    return options.needsTotal || collectAll || total <= end;
  });
  let page = found;
  if (collectAll) {
    found.sort((a, b) => a[0] - b[0] || fraction(tieSeed, a[1], 70) - fraction(tieSeed, b[1], 70));
    page = found.slice(query.offset, end);
  }
  const last = page.at(-1);
  return { indices: page.map((entry) => entry[1]), total, next: total > end && last !== undefined ? last : undefined };
};
