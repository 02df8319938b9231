/** Finds the calls of one page. */
import type { Dialect } from '../../../schemas/simulator-dialect.ts';
import type { Quirks } from '../../../schemas/simulator-quirks.ts';
import { everything } from '../calls/axis-index.ts';
import { fraction } from '../calls/random.ts';
import type { World } from '../calls/world.ts';
import type { ListQuery } from './list-query.ts';

export interface Page {
  readonly indices: readonly number[];
  /** Number of matches that the service reports. */
  readonly total: number;
  /** Where a cursor would continue; undefined on the last page. */
  readonly next: readonly [number, number] | undefined;
  /** The cursor that led here has expired. */
  readonly hasExpired?: boolean;
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
  /** `seed`, or the number of the request, chooses the affected records. */
  readonly quirks: Quirks;
  readonly seed: number;
  readonly number: number;
}

type Entry = readonly [key: number, index: number];

export const selectPage = (world: World, query: ListQuery, options: PageOptions): Page => {
  const { dialect, at, countAt, tieSeed, quirks } = options;
  const { doubledShare, gaps, pageMost, pageVaries, pageRepeats, totals, order, cursors } = quirks;
  const isTrue = totals === 'true' && order === 'steady' && cursors === 'good' && pageMost === undefined;
  const plain =
    isTrue &&
    tieSeed === undefined &&
    doubledShare + gaps.share + pageVaries + pageRepeats === 0 &&
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
  const { dialect, at, countAt, tieSeed, quirks, seed, number } = options;
  const { doubledShare, gaps, order, cursors } = quirks;
  const { after } = query;
  const whole = { ...query, after: undefined };
  const timesNamed = (index: number): number => (fraction(seed, index, 62) < doubledShare ? 2 : 1);
  const entries: Entry[] = [];
  scanMatches(world, whole, options, at, (entry) => {
    for (let n = timesNamed(entry[1]); n > 0; n--) entries.push(entry);
    return true;
  });
  const tie = (entry: Entry): number => fraction(tieSeed ?? number, entry[1], 70);
  if (order === 'random') entries.sort((a, b) => tie(a) - tie(b));
  else if (tieSeed !== undefined) entries.sort((a, b) => a[0] - b[0] || tie(a) - tie(b));
  if (dialect.newestFirst) entries.reverse();
  let counted = entries.length;
  if (countAt !== at) {
    counted = 0;
    scanMatches(world, whole, options, countAt, ([, index]) => {
      counted += timesNamed(index);
      return true;
    });
  }
  // An omitted record still takes its place on the page.
  const placed = entries.flatMap((entry): (Entry | undefined)[] =>
    fraction(seed, entry[1], 63) < gaps.share ? [entry, ...Array<undefined>(gaps.records)] : [entry],
  );
  const reachable = placed.slice(0, dialect.cap);
  const isLater = ([key, index]: Entry): boolean => {
    if (after === undefined) return true;
    const distance = key - after[0] || index - after[1];
    return dialect.newestFirst ? distance < 0 : distance > 0;
  };
  const first =
    after === undefined
      ? Math.max(0, query.offset - quirks.pageRepeats)
      : reachable.findIndex((one) => one && isLater(one));
  const asked = fraction(seed, number, 64) < quirks.pageVaries ? Math.ceil(query.size / 2) : query.size;
  const size = Math.min(asked, quirks.pageMost ?? asked);
  const page = first < 0 ? [] : reachable.slice(first, first + size);
  const shown = page.filter((entry) => entry !== undefined);
  const isTrouble = after !== undefined && cursors !== 'good' && fraction(seed, after[1], 65) < 0.1;
  const last = isTrouble && cursors === 'same' ? after : shown.at(-1);
  const matching = dialect.capTotal === 'capped' ? Math.min(counted, dialect.cap ?? counted) : counted;
  return {
    indices: shown.map((entry) => entry[1]),
    total: { true: matching, half: Math.ceil(matching / 2), double: 2 * matching, page: shown.length }[quirks.totals],
    next: first >= 0 && first + page.length < reachable.length ? last : undefined,
    hasExpired: isTrouble && cursors === 'expired',
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
