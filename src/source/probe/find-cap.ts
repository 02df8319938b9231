/** Finds the most records that one query of the list can reach, of any number. */
import type { AxisConfig, PaginationConfig } from '../../../schemas/config/list.ts';
import { formatTimestamp, type Micros, parseTimestamp, type TimeFormat } from '../list/timestamps.ts';
import { createPagination } from '../pagination/create-pagination.ts';
import type { Finding } from './finding.ts';
import { isRefusal, type Look, type Params, type ProbeSession } from './session.ts';

export interface Cap {
  readonly maxResults: number | undefined;
  /** Records that can be reached, where that could be counted. */
  readonly reachable: number | undefined;
  readonly finding: Finding;
}

interface CapQuestion {
  readonly session: ProbeSession;
  readonly pagination: PaginationConfig;
  /** Axis by which the list can be cut, with the form of its bounds; undefined where there is none. */
  readonly axis: AxisConfig | undefined;
  readonly format: TimeFormat;
  /** Largest page, as parameters. */
  readonly sized: Params;
}

const second = 1_000_000;
/** Calls younger than this are left out, so that the list holds still. */
const stillMs = 60_000;
/** Offsets that services are known to refuse beyond. */
const usualLimits = [1_000, 10_000];
const farthest = 100_000;
/** Pages followed where the style cannot jump. */
const mostPages = 8;

/**
 * A query that gives `n` records and no more is capped when two ranges of time that do not overlap hold more than that
 * together. The largest range there is decides: all times up to a minute ago.
 */
export const findCap = async (question: CapQuestion): Promise<Cap> => {
  const { pagination } = question;
  const jump = jumpOf(question);
  for (const limit of jump === undefined ? [] : usualLimits) {
    const beyond = await jump?.({}, limit + (pagination.style === 'offset' ? 1 : 0));
    if (beyond !== undefined && isRefusal(beyond) && beyond.status < 500)
      return found(limit, undefined, 'likely', `record ${limit + 1} is refused`);
  }
  const { axis } = question;
  if (axis?.to_param === undefined || axis.from_param === undefined) {
    const what = 'the list cannot be cut by time, so nothing can be compared: state source.list.max_results yourself';
    return found(undefined, undefined, 'unknown', what);
  }
  const still = { to: Math.floor((Date.now() - stillMs) / 1_000) * second };
  const whole = await reach(question, boundsOf(question, still));
  if (whole === undefined) {
    return found(undefined, undefined, 'unknown', `more than ${farthest} records or ${mostPages} pages can be reached`);
  }
  const { count, first, last } = whole;
  const [start, end] = [timeOf(axis, first), timeOf(axis, last)];
  if (count < 2 || start === undefined || end === undefined) {
    return found(undefined, count, 'guess', `${count} records are too few to tell`);
  }
  const isAscending = end >= start;
  const near = isAscending ? { to: end } : { from: end, to: still.to };
  const far = isAscending ? { from: end + second, to: still.to } : { to: end - second };
  const beyond = await question.session.look({ ...question.sized, ...boundsOf(question, far) });
  if (isRefusal(beyond) || beyond.records.length === 0) {
    return found(undefined, count, 'likely', `all ${count} records can be reached`);
  }
  // A list that only grew meanwhile, by a call that came late, reaches one more now.
  const again = await reach(question, boundsOf(question, still), count + 1);
  if (again === undefined || again.count > count) {
    return found(undefined, count, 'likely', `all records can be reached; there were ${count} before one came late`);
  }
  const nearby = await reach(question, boundsOf(question, near), count);
  return nearby !== undefined && nearby.count >= count
    ? found(count, count, 'sure', `${count} records can be reached, and calls of other times exist beside them`)
    : found(undefined, count, 'guess', 'the order of the list is not that of its times');
};

const found = (
  maxResults: number | undefined,
  reachable: number | undefined,
  confidence: Finding['confidence'],
  evidence: string,
): Cap => ({
  maxResults,
  reachable,
  finding: {
    key: 'max_results',
    found: maxResults === undefined ? 'none seen' : String(maxResults),
    confidence,
    evidence,
  },
});

const boundsOf = ({ axis, format }: CapQuestion, { from, to }: { from?: Micros; to?: Micros }): Params => ({
  ...(from === undefined ? {} : { [axis?.from_param ?? '']: formatTimestamp(from, format) }),
  ...(to === undefined ? {} : { [axis?.to_param ?? '']: formatTimestamp(to, format) }),
});

const timeOf = ({ record_field }: AxisConfig, record: Record<string, unknown> | undefined): Micros | undefined => {
  const time = parseTimestamp(record?.[record_field]);
  return time === undefined ? undefined : Math.floor(time / second) * second;
};

/** Asks for the one record of an index, counted from 0; undefined where the style cannot jump. */
const jumpOf = ({
  session,
  pagination,
}: CapQuestion): ((bounds: Params, index: number) => Promise<Look>) | undefined => {
  const { size_param } = pagination;
  if (size_param === undefined) return undefined;
  if (pagination.style === 'offset') {
    return (bounds, index) => session.look({ ...bounds, [size_param]: '1', [pagination.offset_param]: String(index) });
  }
  if (pagination.style !== 'page') return undefined;
  return (bounds, index) =>
    session.look({ ...bounds, [size_param]: '1', [pagination.page_param]: String(pagination.first + index) });
};

interface Reach {
  readonly count: number;
  readonly first: Record<string, unknown> | undefined;
  readonly last: Record<string, unknown> | undefined;
}

/**
 * How many records a query reaches; undefined where that takes too many requests.
 * @param atLeast only whether there are at least this many is asked.
 */
const reach = async (question: CapQuestion, bounds: Params, atLeast?: number): Promise<Reach | undefined> => {
  const { session, pagination, sized } = question;
  const jump = jumpOf(question);
  const page = await session.look({ ...sized, ...bounds });
  const [first] = page.records;
  const reached = (count: number, last: Record<string, unknown> | undefined): Reach => ({ count, first, last });
  if (pagination.style === 'none') return reached(page.records.length, page.records.at(-1));
  if (jump === undefined) return await followPages(question, page, reached);
  if (first === undefined) return reached(0, undefined);
  const at = async (index: number): Promise<Record<string, unknown> | undefined> => {
    const look = await jump(bounds, index);
    return isRefusal(look) ? undefined : look.records[0];
  };
  if (atLeast !== undefined) {
    const last = await at(atLeast - 1);
    return reached(last === undefined ? 0 : atLeast, last);
  }
  let [low, high] = [page.records.length - 1, farthest];
  let last = page.records.at(-1);
  for (let step = page.records.length * 2; low + step < high; step *= 4) {
    const record = await at(low + step);
    if (record === undefined) high = low + step;
    else [low, last] = [low + step, record];
  }
  if (high === farthest && (await at(farthest)) !== undefined) return undefined;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const record = await at(middle);
    if (record === undefined) high = middle;
    else [low, last] = [middle, record];
  }
  return reached(low + 1, last);
};

const followPages = async (
  { session, pagination }: CapQuestion,
  start: Look,
  reached: (count: number, last: Record<string, unknown> | undefined) => Reach,
): Promise<Reach | undefined> => {
  const style = createPagination(pagination);
  let count = 0;
  let page = start;
  let request = style.first();
  for (let index = 0; index < mostPages; index++) {
    count += page.records.length;
    const { headers, url } = page;
    const next = style.next(
      {
        request,
        records: page.records.length,
        total: undefined,
        totalIsProven: false,
        envelope: page.body,
        headers,
        url,
      },
      0,
    );
    if (next === undefined) return reached(count, page.records.at(-1));
    const params = { ...Object.fromEntries(start.url.searchParams), ...next.params };
    page = next.url === undefined ? await session.look(params) : await session.follow(next.url);
    if (isRefusal(page) || page.records.length === 0) return undefined;
    request = next;
  }
  return undefined;
};
