/** Reads the query of a call-list request in any dialect. */
import { callFields } from '../../../schemas/call.ts';
import type { Dialect } from '../../../schemas/simulator-dialect.ts';
import { parseQuietly } from '../../lib/parse-json.ts';
import { type AxisRange, everything } from '../calls/axis-index.ts';
import type { Axis } from '../calls/world.ts';

export type ListQuery = ReturnType<typeof parseListQuery>;

/** Requests that the API answers with 400. */
export class BadQuery extends Error {}

const excludable = [...callFields.keys()].filter((name) => name !== 'unique_id');

const parseInteger = (name: string, text: string | null, fallback: number): number => {
  if (text === null) return fallback;
  if (!/^\d{1,9}$/.test(text)) throw new BadQuery(`${name}: not a non-negative integer`);
  return Number(text);
};

const parseTimestamp = (name: string, text: string, format: Dialect['format']): number => {
  if (format !== 'iso') {
    if (!/^\d+(\.\d+)?$/.test(text)) throw new BadQuery(`${name}: not a number of ${format.slice(6)}`);
    return Number(text) * (format === 'epoch_seconds' ? 1_000 : 1);
  }
  const shape = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/.exec(text);
  const at =
    shape === null ? Number.NaN : Date.parse(shape[1] === undefined || shape[4] !== undefined ? text : `${text}Z`);
  if (Number.isNaN(at)) throw new BadQuery(`${name}: not an ISO 8601 date-time`);
  return at;
};

const parseRange = (dialect: Dialect, axis: Axis, parameters: URLSearchParams): AxisRange => {
  const window = dialect.windows.find((candidate) => candidate.axis === axis);
  if (window === undefined) return everything;
  const { boundStepMs: step, boundZoneMinutes, bounds, boundThrough, longestMs = Number.POSITIVE_INFINITY } = dialect;
  const { longestEnd } = dialect;
  const read = (name: string): number | undefined => {
    const text = parameters.get(name);
    if (text === null) return undefined;
    return Math.floor(parseTimestamp(name, text, dialect.format) / step) * step - boundZoneMinutes * 60_000;
  };
  let from = read(window.from);
  let to = read(window.to);
  if (from !== undefined && to !== undefined && to - from > longestMs)
    if (longestEnd) from = to - longestMs;
    else to = from + longestMs;
  return {
    from: from === undefined ? everything.from : from + (bounds === 'open' ? 1 : 0),
    to: to === undefined ? everything.to : to + (boundThrough ? step - 1 : 0),
    toInclusive: bounds === 'inclusive',
  };
};

const parseAxis = (dialect: Dialect, parameters: URLSearchParams): Axis => {
  const order = dialect.order === undefined ? null : parameters.get(dialect.order);
  if (order === null || order === 'timestamp') return 'timestamp';
  if (order === 'qualified') return 'qualified';
  throw new BadQuery(`${dialect.order}: timestamp or qualified`);
};

const parseNames = (name: string | undefined, parameters: URLSearchParams, known: readonly string[]): Set<string> => {
  const names = new Set(
    (name === undefined ? '' : (parameters.get(name) ?? '')).split(',').filter((part) => part !== ''),
  );
  for (const each of names)
    if (!known.includes(each)) throw new BadQuery(`${name}: unknown value ${each.slice(0, 40)}`);
  return names;
};

const parseSize = (dialect: Dialect, parameters: URLSearchParams): number => {
  const { paging } = dialect;
  if (paging.style === 'none') return Number.POSITIVE_INFINITY;
  const size = parseInteger(paging.size, parameters.get(paging.size), paging.defaultSize);
  if (size > paging.maxSize && dialect.overMax === 'refuse')
    throw new BadQuery(`${paging.size}: at most ${paging.maxSize}`);
  if (size === 0) throw new BadQuery(`${paging.size}: at least 1`);
  return Math.min(size, paging.maxSize);
};

const parseOffset = ({ paging }: Dialect, parameters: URLSearchParams, size: number): number => {
  if (paging.style === 'offset') {
    const offset = parseInteger(paging.offset, parameters.get(paging.offset), 0);
    const { maxOffset = offset, beyondMax } = paging;
    if (offset > maxOffset && beyondMax === 'clamp') return maxOffset;
    if (offset > maxOffset) throw new BadQuery(`${paging.offset}: at most ${paging.maxOffset}`);
    return offset;
  }
  if (paging.style !== 'page') return 0;
  const page = parseInteger(paging.page, parameters.get(paging.page), paging.first);
  if (page < paging.first) throw new BadQuery(`${paging.page}: at least ${paging.first}`);
  return (page - paging.first) * size;
};

type Cursor = { readonly after: readonly [number, number]; readonly query: string };

export const formatCursor = (query: ListQuery, after: readonly [number, number]): string =>
  Buffer.from(JSON.stringify({ after, query: query.parameters.toString() } satisfies Cursor)).toString('base64url');

const parseCursor = (name: string, text: string): Cursor => {
  const cursor = parseQuietly(Buffer.from(text, 'base64url')) as Cursor | undefined | null;
  if (Array.isArray(cursor?.after) && typeof cursor.query === 'string') return cursor;
  throw new BadQuery(`${name}: not a cursor`);
};

/** A cursor carries the whole query it continues, so other parameters beside it have no effect. */
export const parseListQuery = (dialect: Dialect, given: URLSearchParams) => {
  const { paging } = dialect;
  const text = paging.style === 'cursor' || paging.style === 'link' ? given.get(paging.cursor) : null;
  const cursor = text === null ? undefined : parseCursor('cursor', text);
  const parameters = cursor === undefined ? given : new URLSearchParams(cursor.query);
  const size = parseSize(dialect, parameters);
  const statuses = parseNames(dialect.status, parameters, ['qualified', 'void']);
  return {
    /** Axis of the order. */
    axis: parseAxis(dialect, parameters),
    ranges: {
      timestamp: parseRange(dialect, 'timestamp', parameters),
      qualified: parseRange(dialect, 'qualified', parameters),
    },
    statuses: statuses.size === 0 ? undefined : statuses,
    exclude: parseNames(dialect.exclude, parameters, excludable),
    /** Records a page; Infinity where nothing paginates. */
    size,
    offset: parseOffset(dialect, parameters, size),
    /** Position (key, index) after which a cursor continues. */
    after: cursor?.after,
    /** The parameters without the cursor, for the next one. */
    parameters,
  };
};
