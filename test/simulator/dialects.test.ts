import { afterEach, describe, expect, test } from 'vitest';
import type { Dialect } from '../../schemas/simulator-dialect.ts';
import { dialectOf } from '../../src/simulator/service/dialects.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { clientOf } from './api.ts';

let simulator: Awaited<ReturnType<typeof startSimulator>>;
afterEach(() => simulator.stop());

const calls = {
  count: 1_230,
  utterances: 0,
  lateShare: 0,
  from: '2024-03-01T00:00:00Z',
  to: '2024-03-08T00:00:00Z',
} as const;
const start = async (dialect: string, overrides: Partial<Dialect> = {}) => {
  simulator = await startSimulator({ calls, dialect, dialectOverrides: overrides, rateLimit: { requests: 0 } });
  return clientOf(simulator, dialectOf(dialect, overrides).scheme);
};

describe('dialects', () => {
  test('selects the version by path, header or query, and refuses otherwise', async () => {
    for (const name of ['version_path', 'version_header', 'version_query']) {
      const { token } = await start(name);
      const headers = { Authorization: `bearer ${token}` };
      expect((await fetch(`${simulator.origin}/calls`, { headers })).status).toBe(400);
      if (name !== 'version_query') await simulator.stop();
    }
  });

  test('takes Authorization: Token and lists errors in the older version', async () => {
    const { token, get } = await start('activate-v1');
    expect((await get('/calls?limit=1')).status).toBe(200);
    const refused = await fetch(`${simulator.url}/calls`, { headers: { Authorization: `bearer ${token}` } });
    expect(refused.status).toBe(401);
    expect(await refused.json()).toEqual({
      errors: [{ id: '401', title: 'Unauthorized', detail: expect.any(String) }],
    });
  });

  test('can shuffle ties', async () => {
    simulator = await startSimulator({
      calls: { ...calls, count: 200, to: '2024-03-01T00:00:20Z' },
      unstableTies: true,
      rateLimit: { requests: 0 },
    });
    const { list } = await clientOf(simulator);
    const orders = new Set<string>();
    for (let i = 0; i < 3; i++) orders.add((await list({ limit: 50 })).data.map((call) => call.unique_id).join());
    expect(orders.size).toBeGreaterThan(1);
  });
});
