/** Replicas of a list answer in turn, each without calls of the other: no clock decides. Many lists name calls twice. */
import { expect, test } from 'vitest';
import { hash32 } from '../../src/simulator/calls/random.ts';
import { openMemoryList } from './memory-list.ts';
import { readSimulated } from './simulated.ts';

const start = Date.UTC(2024, 6, 1);
const everyMs = 7_000;
const window = { axis: 'timestamp', from: start * 1000, to: (start + 3_600_000) * 1000 };
/** The replicas never agree, so most readings would cut the window down to single seconds. */
const mostRequests = 120;
/** A reading ends by itself after 500 requests, and 20 for each call that it knows. */
const mostOfAll = 1_500;

/** @param cap of a query; the list is then led on by cursors, each of which names the call behind it. */
const openReplicas = (seed: number, hasTotal: boolean, cap = 0, most = mostRequests) => {
  const draw = (salt: number, n = 0): number => hash32(seed, n, salt) / 0x1_0000_0000;
  const isLong = most === mostOfAll;
  const size = isLong ? 2 : 8 + Math.floor(draw(1) * 8);
  const shares = [0.5 + draw(3) / 2, 0.04 + draw(4) * 0.1, 0.04 + draw(5) * 0.1] as const;
  const [twice, joins, leaves] = cap > 0 ? [0.05, 0.3 * draw(4), 0.02] : shares;
  const [least, more] = cap > 0 ? [20, 20] : [3, isLong ? 10 : size];
  const calls = Array.from({ length: least + Math.floor(draw(2) * 2 * more) }, (_, n) => ({
    unique_id: `c${n}`,
    at: start + n * everyMs,
    rows: draw(6, n) < twice ? 2 : 1,
    isIn: [draw(8, n) >= leaves, draw(7, n) >= joins] as const,
  }));
  const axis = { name: 'timestamp', record_field: 'timestamp', from_param: 'from', to_param: 'to' };
  const style: 'offset' | 'page' = hasTotal || draw(9) < 0.5 ? 'offset' : 'page';
  const sized = { size_param: 'size', size };
  const list = {
    ...{ records: 'data', cursor_fields: [axis], ...(hasTotal && { total_path: 'total' }) },
    ...((hasTotal || draw(10) < 0.5) && { exclude_param: 'without', exclude: ['tags'] }),
    pagination: cap > 0 ? { style: 'cursor' as const, cursor_param: 'offset', ...sized } : { style, ...sized },
  };
  let requests = 0;
  const client = openMemoryList({ list }, (url) => {
    const query = Object.fromEntries(url.searchParams);
    const { from = '', to = '', page = '1', size: asked } = query;
    const offset = query.offset ?? (Number(page) - 1) * Number(asked);
    const replica = isLong ? Math.round(draw(11, requests)) : requests % 2;
    requests++;
    if (requests > most) throw new Error('enough');
    const rows = calls
      .filter(({ at, isIn }) => isIn[replica] && at >= Date.parse(from) && at <= Date.parse(to))
      .flatMap(({ unique_id, at, rows: times }) =>
        Array(times).fill({ unique_id, timestamp: new Date(at).toISOString() }),
      );
    const left = rows.filter(({ unique_id }, n) => n < cap && Number(unique_id.slice(1)) >= Number(offset));
    const data = (cap > 0 ? left : rows.slice(Number(offset))).slice(0, Number(asked));
    const next_cursor = data.length < left.length ? `${Number(data.at(-1)?.unique_id.slice(1)) + 1}` : null;
    return [200, { ...(hasTotal && { total: rows.length }), next_cursor, data }];
  });
  return { client, shown: calls.filter(({ isIn }) => isIn[0] && isIn[1]) };
};

/** Some were lost by passes over the same pages, others by pages one shorter, or half as long. */
test.each<[number, boolean, number?]>([
  ...[445, 596, 1725, 4394].map((seed): [number, boolean] => [seed, true]),
  [248, false],
  [12, false, 11],
  [44, false, 11],
])('replicas in turn are not complete without a call (%i, total: %s, cap: %s)', async (seed, hasTotal, cap = 0) => {
  const { client, shown } = openReplicas(seed, hasTotal, cap, cap > 0 ? 300 : mostRequests);
  const reading = await readSimulated({ list: client }, window).catch((error: Error) => error.message);
  if (typeof reading === 'string') return expect(reading).toBe('enough');
  const { seen, result } = reading;
  const lost = shown.filter(({ unique_id }) => !seen.has(unique_id)).map(({ at }) => at * 1000);
  const unproven = result.parts.filter(({ shown: by }) => by === 'none');
  const named = [...result.problems.map((problem) => problem.window), ...unproven];
  expect(lost.filter((at) => !named.some(({ from, to }) => from <= at && at < to))).toEqual([]);
});

test('a list of replicas that never agree is read once after many requests, and reported', async () => {
  const { client } = openReplicas(4, false, 0, mostOfAll);
  const { result } = await readSimulated({ list: client }, window);
  expect(result.problems.map(({ detail }) => detail).join()).toContain('disagrees with itself');
});
