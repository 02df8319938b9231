/**
 * Lists that refuse pages at random places, by a seed: behind their end, at one place for ever, or a few requests in a
 * row. Every call is read, or the reading fails, or it reports a problem. Never "complete" and lost.
 */
import { expect, test } from 'vitest';
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import { CallsyncError } from '../../src/lib/errors.ts';
import { randomStream } from '../../src/simulator/calls/random.ts';
import { type MemoryAnswer, openMemoryList } from './memory-list.ts';
import { readSimulated } from './simulated.ts';

const start = Date.UTC(2024, 6, 1);
const bounds = { from_param: 'from', to_param: 'to' };
const refusals = [404, 400, 416, 422, 429, 500, 503] as const;

/** The behaviour of one list; all of it follows from the seed. */
const makeRefusedList = (seed: number) => {
  const random = randomStream(seed * 7_919 + 3);
  const below = (n: number): number => Math.floor(random() * n);
  const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T;
  const size = pick([5, 10, 20, 50]);
  const sized = random() < 0.7;
  const count = below(9) * size + pick([0, 0, 1, below(size)]);
  const status = pick(refusals);
  const at = pick([1, 2, 3, 4]) * size;
  return {
    count,
    /** Several calls of one instant, some of them of all. */
    everyMs: pick([1000, 1000, 200, 0]),
    style: pick(['offset', 'page'] as const),
    size,
    sized,
    /** Most records that the service gives a page, whatever was asked for. */
    most: random() < 0.2 ? Math.max(3, size - below(size)) : size * 2,
    total: random() < 0.25,
    single: random() < 0.5,
    excludes: random() < 0.3,
    cuttable: random() < 0.8,
    /** How it answers behind its end. */
    beyond: pick([200, 200, 404, 400, 416, 422]),
    status,
    /** Pages that hold one of these rows are refused for ever. */
    place: pick([undefined, undefined, [at, at + pick([1, size, 1e6])]] as const),
    /** These requests for a page behind the first are refused, by their number. */
    requests: pick([undefined, [below(12), 1 + below(5)]] as const),
  };
};

type RefusedList = ReturnType<typeof makeRefusedList>;

/** Answers as the list does; counts requests. */
const answerOf = (list: RefusedList): ((url: URL) => MemoryAnswer) => {
  const calls = Array.from({ length: list.count }, (_, index) => start + index * list.everyMs);
  let number = 0;
  const refused = (from: number, to: number): boolean => {
    const [first, last] = list.place ?? [0, 0];
    if (from > 0 && from < last && to > first) return true;
    const [skip, many] = list.requests ?? [0, 0];
    if (from > 0) number++;
    return from > 0 && number > skip && number <= skip + many;
  };
  return (url) => {
    const { from, to, page = '1', limit, offset: given } = Object.fromEntries(url.searchParams);
    const size = Math.min(list.most, Number(limit ?? list.size));
    const bounds = list.cuttable ? [Date.parse(from ?? ''), Date.parse(to ?? '')] : [0, Number.POSITIVE_INFINITY];
    const inside = calls
      .map((at, id) => ({ at, id }))
      .filter(({ at }) => at >= Number(bounds[0]) && at <= Number(bounds[1]));
    const offset = given === undefined ? (Number(page) - 1) * size : Number(given);
    const shown = inside.slice(offset, offset + size);
    const isBeyond = offset > 0 && shown.length === 0;
    const status = refused(offset, offset + Math.max(1, shown.length)) ? list.status : isBeyond ? list.beyond : 200;
    const data = shown.map(({ at, id }) => ({ unique_id: `c${id}`, timestamp: new Date(at).toISOString() }));
    return [status, status === 200 ? { data, ...(list.total ? { total: inside.length } : {}) } : { detail: 'no' }];
  };
};

const readRefused = async (list: RefusedList) => {
  const { style, size, sized, total, excludes, cuttable } = list;
  const section: Partial<SourceConfigInput> = {
    limits: { retries: 2, retry_base_ms: 1, retry_max_ms: 1 },
    list: {
      records: 'data',
      time_format: 'iso',
      ...(total && { total_path: 'total' }),
      ...(excludes && { exclude_param: 'exclude', exclude: ['transcript_json'] }),
      pagination: { style, size, ...((sized || style === 'offset') && { size_param: 'limit' }) },
      cursor_fields: [{ name: 'timestamp', record_field: 'timestamp', ...(cuttable && bounds) }],
    },
  };
  const window = { axis: 'timestamp', from: start * 1000, to: (start + 1_000_000) * 1000 };
  try {
    const { result, seen } = await readSimulated({ list: openMemoryList(section, answerOf(list)) }, window);
    const problems = result.problems.map(({ problem }) => problem);
    return { lost: list.count - seen.size, problems, shown: result.shown, failed: undefined };
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
    return { lost: undefined, problems: [], shown: 'none', failed: error.code };
  }
};

/** The fault that breaks the promise; undefined if the promise holds. */
const violationOf = (list: RefusedList, read: Awaited<ReturnType<typeof readRefused>>): string | undefined => {
  const isComplete = read.problems.length === 0 && read.failed === undefined;
  if (read.lost !== 0 && isComplete) return `complete (${read.shown}), and ${read.lost} of ${list.count} lost`;
  const isHonest = list.place === undefined && list.requests === undefined && list.cuttable;
  // All calls of one instant leave nothing to compare a full page with.
  if (isHonest && !isComplete && list.everyMs > 0) return `an undisturbed list is not read: ${JSON.stringify(read)}`;
  return undefined;
};

export const testRefusedLists = (seeds: readonly number[]): void => {
  test(`${seeds.length} lists that refuse pages: none is called complete while a call is lost`, async () => {
    const broken: string[] = [];
    const counts = { complete: 0, reported: 0, failed: 0 };
    for (const seed of seeds) {
      const list = makeRefusedList(seed);
      const read = await readRefused(list);
      counts[read.failed !== undefined ? 'failed' : read.problems.length > 0 ? 'reported' : 'complete']++;
      const violation = violationOf(list, read);
      if (violation !== undefined) broken.push(`seed ${seed}: ${violation} ${JSON.stringify(list)}`);
    }
    expect(broken).toEqual([]);
    expect(counts.complete).toBeGreaterThan(seeds.length / 3);
  });
};
