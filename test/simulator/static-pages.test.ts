import { afterEach, expect, test } from 'vitest';
import { type Simulator, startSimulator } from '../../src/simulator/start-simulator.ts';
import { clientOf } from './api.ts';

let simulator: Simulator;
afterEach(() => simulator.stop());

test('serves the same records as the changing list, from memory', async () => {
  const options = { calls: { count: 500, utterances: 4, to: '2024-03-08T00:00:00Z', from: '2024-03-01T00:00:00Z' } };
  simulator = await startSimulator({ ...options, rateLimit: { requests: 0 } });
  const queries = [
    { limit: 200 },
    { limit: 200, offset: 200, order: 'qualified' },
    { limit: 100, exclude: 'transcript_json', status: 'void' },
    { offset: 500 },
  ];
  const changing = await clientOf(simulator);
  const expected = await Promise.all(queries.map((query) => changing.list(query as never)));
  await simulator.stop();
  simulator = await startSimulator({ ...options, staticPages: true });
  const { list } = await clientOf(simulator);
  expect(await Promise.all(queries.map((query) => list(query as never)))).toEqual(expected);
});
