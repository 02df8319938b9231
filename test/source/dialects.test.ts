import { describe, expect, test } from 'vitest';
import { dialectOf } from '../../src/simulator/service/dialects.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { settledRange } from '../support/settled-range.ts';
import { dialectLists } from './dialect-lists.ts';
import { useClosers } from './local-server.ts';
import { listedIds, missingFrom, readSimulated, simulatedSource, wholeRange } from './simulated.ts';

const closers = useClosers();

/** Several pages in each window; where the dialect has a cap of 1,000, more than that. */
const countOf = (dialect: string): number => (dialectOf(dialect, {}).cap === undefined ? 645 : 1_745);

const start = async (
  dialect: string,
  options: Parameters<typeof startSimulator>[0] = {},
): Promise<Awaited<ReturnType<typeof startSimulator>>> => {
  const simulator = await startSimulator({
    dialect,
    calls: { count: countOf(dialect), utterances: 1, words: 2, otherShare: 0, ...settledRange },
    rateLimit: { requests: 0 },
    ...options,
  });
  closers.push(() => simulator.stop());
  return simulator;
};

describe.each(Object.entries(dialectLists))('dialect %s', (dialect, { list, shown, ...rest }) => {
  test('is read completely, each call in one of two neighbouring windows', async () => {
    const simulator = await start(dialect);
    const source = await simulatedSource(simulator, { ...rest, list, limits: { requests: 1_000_000 } });
    closers.push(source.close);
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
