/** Finds the calls of one page. */
import type { Dialect } from '../../../schemas/simulator-dialect.ts';
import { everything } from '../calls/axis-index.ts';
import { fraction } from '../calls/random.ts';
import type { World } from '../calls/world.ts';
import type { ListQuery } from './list-query.ts';

export interface Page {
  readonly indices: readonly number[];
  /** What the service says that matches the query. */
  readonly total: number;
  /** Where a cursor would continue; undefined on the last page. */
  readonly next: readonly [number, number] | undefined;
}

interface PageOptions {
  readonly dialect: Pick<Dialect, 'cap' | 'capTotal' | 'newestFirst' | 'totalPath' | 'totalHeader'>;
  /** Simulated time whose state is shown, and the one whose state is counted. */
  readonly at: number;
  readonly countAt: number;
  /** Shows every call, processed or not. */
  readonly frozen: boolean;
  /** Orders ties by this seed instead of by index. */
  readonly tieSeed: number | undefined;
  /** Calls that are named twice, chosen by `seed`. */
  readonly doubledShare: number;
  readonly seed: number;
}

type Entry = readonly [key: number, index: number];

export const selectPage = (world: World, query: ListQuery, options: PageOptions): Page => {
  const { dialect, at, countAt, tieSeed, doubledShare } = options;
  const plain =
    tieSeed === undefined &&
    doubledShare === 0 &&
    countAt === at &&
    !dialect.newestFirst &&
    (dialect.cap === undefined || (query.after === undefined && dialect.capTotal === 'capped'));
  return plain ? scanPage(world, query, options) : arrangePage(world, query, options);
};

/** A page of the plain order; visits no more calls than it must, so that a million of them cost little. */
const scanPage = (world: World, query: ListQuery, options: PageOptions): Page => {
  const { cap, totalPath, totalHeader } = options.dialect;
  const needsTotal = totalPath !== undefined || totalHeader !== undefined;
  const limit = cap ?? Number.POSITIVE_INFINITY;
  const end = Math.min(query.offset + query.size, limit);
  const found: Entry[] = [];
  let total = 0;
  scanMatches(world, query, options, options.at, (entry) => {
    if (total >= limit) return false;
    if (total >= query.offset && total < end) found.push(entry);
    total++;
    return needsTotal || total <= end;
  });
  const last = found.at(-1);
  return { indices: found.map((entry) => entry[1]), total, next: total > end && last !== undefined ? last : undefined };
};

/** A page of any order: arranges all calls that match, then cuts. */
const arrangePage = (world: World, query: ListQuery, options: PageOptions): Page => {
  const { dialect, at, countAt, tieSeed, doubledShare, seed } = options;
  const { after } = query;
  const whole = { ...query, after: undefined };
  const timesNamed = (index: number): number => (fraction(seed, index, 62) < doubledShare ? 2 : 1);
  const entries: Entry[] = [];
  scanMatches(world, whole, options, at, (entry) => {
    for (let n = timesNamed(entry[1]); n > 0; n--) entries.push(entry);
    return true;
  });
  if (tieSeed !== undefined)
    entries.sort((a, b) => a[0] - b[0] || fraction(tieSeed, a[1], 70) - fraction(tieSeed, b[1], 70));
  if (dialect.newestFirst) entries.reverse();
  let counted = entries.length;
  if (countAt !== at) {
    counted = 0;
    scanMatches(world, whole, options, countAt, ([, index]) => {
      counted += timesNamed(index);
      return true;
    });
  }
  const reachable = entries.slice(0, dialect.cap);
  const isLater = ([key, index]: Entry): boolean => {
    if (after === undefined) return true;
    const distance = key - after[0] || index - after[1];
    return dialect.newestFirst ? distance < 0 : distance > 0;
  };
  const first = after === undefined ? query.offset : reachable.findIndex(isLater);
  const page = first < 0 ? [] : reachable.slice(first, first + query.size);
  const last = page.at(-1);
  return {
    indices: page.map((entry) => entry[1]),
    total: dialect.capTotal === 'capped' ? Math.min(counted, dialect.cap ?? counted) : counted,
    next: first >= 0 && first + page.length < reachable.length ? last : undefined,
  };
};

const otherAxis = { timestamp: 'qualified', qualified: 'timestamp' } as const;

/** Visits the calls of a query in ascending order, as they were listed at a simulated time, until `visit` is false. */
const scanMatches = (
  world: World,
  query: ListQuery,
  { frozen }: PageOptions,
  at: number,
  visit: (entry: Entry) => boolean,
): void => {
  const other = otherAxis[query.axis];
  const within = query.ranges[other];
  const restricted = within !== everything;
  const { after, statuses } = query;
  const range = query.ranges[query.axis];
  const start = after === undefined ? range : { ...range, from: Math.max(range.from, after[0]) };
  world.axes[query.axis].scan(start, (index, key) => {
    if (after !== undefined && key === after[0] && index <= after[1]) return true;
    if (!frozen && !world.isListed(index, at)) return true;
    if (restricted || statuses !== undefined) {
      const place = world.placeOf(index);
      const time = place[other];
      if (time < within.from || (within.toInclusive ? time > within.to : time >= within.to)) return true;
      if (statuses !== undefined && !statuses.has(place.status)) return true;
    }
    return visit([key, index]);
  });
};
