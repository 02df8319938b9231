/** What tells a cap from a list that grew while it was asked. */
import { expect, test } from 'vitest';
import { findCap } from '../../src/source/probe/find-cap.ts';
import type { Look, Params, ProbeSession } from '../../src/source/probe/session.ts';

const axis = { name: 'timestamp', from_param: 'from', to_param: 'to', record_field: 'timestamp' } as const;
const start = Date.UTC(2024, 6, 1);
const record = (second: number) => ({
  unique_id: `c${second}`,
  timestamp: new Date(start + second * 1000).toISOString(),
});

/** A list without pages over records of these seconds, ascending; `cap` are given. `lateAt` comes with the second question. */
const probe = async (seconds: readonly number[], cap: number, lateAt?: number) => {
  const asked: Params[] = [];
  const look = async (params: Params): Promise<Look> => {
    asked.push(params);
    const all = lateAt === undefined || asked.length < 2 ? seconds : [...seconds, lateAt].sort((a, b) => a - b);
    const [from, to] = [params.from, params.to].map((bound) => (bound === undefined ? undefined : Date.parse(bound)));
    const records = all
      .filter((at) => start + at * 1000 >= (from ?? 0) && start + at * 1000 <= (to ?? Number.POSITIVE_INFINITY))
      .slice(0, cap)
      .map(record);
    const ids = records.map(({ unique_id }) => unique_id);
    return { status: 200, records, ids, body: records, headers: {}, url: new URL('http://list'), bytes: 0 };
  };
  const session = { look } as Pick<ProbeSession, 'look'> as ProbeSession;
  const pagination = { style: 'none', size: 100 } as const;
  return await findCap({ session, pagination, axis: { ...axis, end_of_processing: false }, format: 'iso', sized: {} });
};

const forty = Array.from({ length: 40 }, (_, second) => second);

test('a list that gives the same calls again, and has others beside them, is capped', async () => {
  expect(await probe(forty, 37)).toMatchObject({ maxResults: 37, finding: { confidence: 'sure' } });
});

test('a list that has grown by a late call since it was counted is not capped', async () => {
  // The call of second 50 is beyond the last one that was counted.
  const { maxResults, finding } = await probe(forty, 1_000, 50);
  expect(maxResults).toBeUndefined();
  expect(finding).toMatchObject({ found: 'none seen', evidence: expect.stringContaining('came late') });
});
