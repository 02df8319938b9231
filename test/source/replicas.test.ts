/** Replicas of a list answer in turn, each without calls of the other: no clock decides. Many lists name calls twice. */
import { expect, test } from 'vitest';
import { hash32 } from '../../src/simulator/calls/random.ts';
import { openMemoryList } from './memory-list.ts';
import { readSimulated } from './simulated.ts';

const start = Date.UTC(2024, 6, 1);
const everyMs = 7_000;
const hour = 3_600_000;
/** The replicas never agree, so most readings would cut the window down to single seconds. */
const mostRequests = 120;
/** A reading ends by itself after 500 requests, and 20 for each call that it knows. */
const mostOfAll = 1_500;

const openReplicas = (seed: number, hasTotal: boolean, most = mostRequests) => {
  const draw = (salt: number, n = 0): number => hash32(seed, n, salt) / 0x1_0000_0000;
  const isLong = most > mostRequests;
  const size = isLong ? 2 : 8 + Math.floor(draw(1) * 8);
  const [twice, joins, leaves] = [0.5 + draw(3) / 2, 0.04 + draw(4) * 0.1, 0.04 + draw(5) * 0.1];
  const calls = Array.from({ length: 3 + Math.floor(draw(2) * 2 * (isLong ? 10 : size)) }, (_, n) => ({
    unique_id: `c${n}`,
    at: start + n * everyMs,
    rows: draw(6, n) < twice ? 2 : 1,
    isIn: [draw(8, n) >= leaves, draw(7, n) >= joins] as const,
  }));
  const axis = { name: 'timestamp', record_field: 'timestamp', from_param: 'from', to_param: 'to' };
  const style: 'offset' | 'page' = hasTotal || draw(9) < 0.5 ? 'offset' : 'page';
  const list = {
    ...{ records: 'data', cursor_fields: [axis], ...(hasTotal && { total_path: 'total' }) },
    ...((hasTotal || draw(10) < 0.5) && { exclude_param: 'without', exclude: ['tags'] }),
    pagination: { style, size_param: 'size', size },
  };
  let requests = 0;
  const client = openMemoryList({ list }, (url) => {
    const {
      from = '',
      to = '',
      page = '1',
      size: asked,
      offset = (Number(page) - 1) * Number(asked),
    } = Object.fromEntries(url.searchParams);
    const replica = isLong ? Math.round(draw(11, requests)) : requests % 2;
    requests++;
    if (requests > most) throw new Error('enough');
    const rows = calls
      .filter(({ at, isIn }) => isIn[replica] && at >= Date.parse(from) && at <= Date.parse(to))
      .flatMap(({ unique_id, at, rows: times }) =>
        Array(times).fill({ unique_id, timestamp: new Date(at).toISOString() }),
      );
    return [200, { ...(hasTotal && { total: rows.length }), data: rows.slice(Number(offset)).slice(0, Number(asked)) }];
  });
  return { client, shown: calls.filter(({ isIn }) => isIn[0] && isIn[1]) };
};

/** Some were lost by passes over the same pages, others by pages one shorter, or half as long. */
test.each([
  [445, true],
  [596, true],
  [1725, true],
  [4394, true],
  [248, false],
])(
  'a list of replicas that answer in turn is not complete without a call (%i, with a total: %s)',
  async (seed, hasTotal) => {
    const { client, shown } = openReplicas(seed, hasTotal);
    const window = { axis: 'timestamp', from: start * 1000, to: (start + hour) * 1000 };
    const reading = await readSimulated({ list: client }, window).catch((error: Error) => error.message);
    if (typeof reading === 'string') return expect(reading).toBe('enough');
    const { seen, result } = reading;
    const lost = shown.filter(({ unique_id }) => !seen.has(unique_id)).map(({ at }) => at * 1000);
    const isNamed = (at: number): boolean =>
      [
        ...result.problems.map(({ window: named }) => named),
        ...result.parts.filter(({ shown: by }) => by === 'none'),
      ].some(({ from, to }) => from <= at && at < to);
    expect(lost.filter((at) => !isNamed(at))).toEqual([]);
  },
);

test('a list of replicas that never agree is read once after many requests, and reported', async () => {
  const { client } = openReplicas(4, false, mostOfAll);
  const window = { axis: 'timestamp', from: start * 1000, to: (start + hour) * 1000 };
  const { result } = await readSimulated({ list: client }, window);
  expect(result.problems.map(({ detail }) => detail).join()).toContain('disagrees with itself');
});
