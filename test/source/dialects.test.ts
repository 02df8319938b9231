import { describe, expect, test } from 'vitest';
import { dialectOf } from '../../src/simulator/service/dialects.ts';
import { settledRange } from '../support/settled-range.ts';
import { dialectLists } from './dialect-lists.ts';
import { useClosers } from './local-server.ts';
import { listedIds, missingFrom, readSimulated, wholeRange } from './simulated.ts';
import { useSimulated } from './use-simulated.ts';

const closers = useClosers();

/** Several pages in each window; where the dialect has a cap of 1,000, more than that. */
const countOf = (dialect: string): number => (dialectOf(dialect, {}).cap === undefined ? 645 : 1_745);

describe.each(Object.entries(dialectLists))('dialect %s', (dialect, { list, shown, ...rest }) => {
  test('is read completely, each call in one of two neighbouring windows', async () => {
    const calls = { count: countOf(dialect), utterances: 1, words: 2, otherShare: 0, ...settledRange };
    const section = { ...rest, list, limits: { requests: 1_000_000 } };
    const { simulator, source } = await useSimulated({ dialect, calls }, section, closers);
    const axis = list.preset === 'activate' ? 'qualified' : 'timestamp';
    const { from, to } = wholeRange(simulator, axis);
    const expected = await listedIds(simulator);
    const middle = Math.round((from + (Date.parse(simulator.range.to) * 1000 - from) * 0.6) / 1_000_000) * 1_000_000;
    const first = await readSimulated(source, { axis, from, to: middle });
    const second = await readSimulated(source, { axis, from: middle, to });
    const seen = new Map([...first.seen, ...second.seen]);
    expect(missingFrom(expected, seen)).toEqual([]);
    expect(first.inside.size + second.inside.size).toBe(expected.size);
    expect(seen.size).toBe(expected.size);
    expect([...first.result.problems, ...second.result.problems]).toEqual([]);
    expect(first.result.shown).toBe(shown);
    expect(first.result.calls + second.result.calls).toBe(expected.size);
  });
});
