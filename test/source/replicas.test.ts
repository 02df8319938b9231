/** Replicas of a list that names calls twice answer in turn, each without calls of the other: no clock decides. */
import { expect, test } from 'vitest';
import { hash32 } from '../../src/simulator/calls/random.ts';
import { openMemoryList } from './memory-list.ts';
import { readSimulated } from './simulated.ts';

const start = Date.UTC(2024, 6, 1);
const everyMs = 7_000;
const hour = 3_600_000;
/** The replicas never agree, so most readings would cut the window down to single seconds. */
const mostRequests = 120;

const openReplicas = (seed: number) => {
  const draw = (salt: number, n = 0): number => hash32(seed, n, salt) / 0x1_0000_0000;
  const size = 8 + Math.floor(draw(1) * 8);
  const [twice, joins, leaves] = [0.5 + draw(3) / 2, 0.04 + draw(4) * 0.1, 0.04 + draw(5) * 0.1];
  const calls = Array.from({ length: 3 + Math.floor(draw(2) * 2 * size) }, (_, n) => ({
    unique_id: `c${n}`,
    at: start + n * everyMs,
    rows: draw(6, n) < twice ? 2 : 1,
    isIn: [draw(8, n) >= leaves, draw(7, n) >= joins] as const,
  }));
  const axis = { name: 'timestamp', record_field: 'timestamp', from_param: 'from', to_param: 'to' };
  const list = {
    ...{ records: 'data', total_path: 'total', cursor_fields: [axis], exclude_param: 'without', exclude: ['tags'] },
    pagination: { style: 'offset', offset_param: 'offset', size_param: 'size', size } as const,
  };
  let requests = 0;
  const client = openMemoryList({ list }, (url) => {
    const { from = '', to = '', offset, size: asked } = Object.fromEntries(url.searchParams);
    const replica = requests++ % 2;
    if (requests > mostRequests) throw new Error('enough');
    const rows = calls
      .filter(({ at, isIn }) => isIn[replica] && at >= Date.parse(from) && at <= Date.parse(to))
      .flatMap(({ unique_id, at, rows: times }) =>
        Array(times).fill({ unique_id, timestamp: new Date(at).toISOString() }),
      );
    return [200, { total: rows.length, data: rows.slice(Number(offset)).slice(0, Number(asked)) }];
  });
  return { client, shown: calls.filter(({ isIn }) => isIn[0] && isIn[1]) };
};

/** Some were lost by passes over the same pages, others by pages one shorter, or half as long. */
test.each([445, 596, 1725, 4394])(
  'a list that names calls twice, of replicas that answer in turn, is not complete without a call (%i)',
  async (seed) => {
    const { client, shown } = openReplicas(seed);
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
