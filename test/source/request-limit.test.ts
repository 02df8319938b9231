import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import type { Config } from '../../schemas/config.ts';
import { openSource } from '../../src/app/open-source.ts';
import { createServices, type Log } from '../../src/app/services.ts';
import type { CallsyncError } from '../../src/lib/errors.ts';
import { createLocalSlots, createRequestLimiter, limitSpanMs, liveIdleMs } from '../../src/source/http/limiter.ts';
import { readMeta, writeMeta } from '../../src/store/meta.ts';
import { createSharedSlots } from '../../src/store/request-limit.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { useDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { always, configFor, json, startServer, withTokens } from './local-server.ts';

type SlotSource = Parameters<typeof createRequestLimiter>[0];

const database = useDatabase();

const openWorker = async () => {
  const store = await openStore({ url: database.url, max: 4 });
  onTestFinished(() => store.close());
  return store;
};

const rules = { requests: 10, perMs: 500, live: 3 };

/** A process that asks the list once. */
const startAsking = (store: Store, url: string, section: Partial<SourceConfigInput>, log: Log = vi.fn()) => {
  const services = createServices({ source: configFor(url, section), sync: {} } as Config, log, vi.fn());
  onTestFinished(services.close);
  const { api } = openSource(services, store);
  const asked = api.get(api.address('/calls', []), () => 'answered').catch((error: CallsyncError) => error);
  return { services, asked };
};

test('a process that starts while the service refuses knows from the store that it answered before', async () => {
  let status = 200;
  const server = await startServer(withTokens((_, response) => json(response, status, [])));
  const store = await openWorker();
  const askAs = async (answer: number, section: Partial<SourceConfigInput> = {}) => {
    status = answer;
    return await startAsking(store, server.url, { limits: { retries: 0 }, ...section }).asked;
  };
  expect(await askAs(403)).toMatchObject({ kind: 'terminal' });
  expect(await askAs(200)).toMatchObject({ value: 'answered' });
  for (const answer of [403, 404, 401]) expect(await askAs(answer)).toMatchObject({ kind: 'transient' });
  // As an earlier version kept it.
  const { digest } = (await readMeta<{ digest: string }>(store, 'source_answered')) ?? {};
  await writeMeta(store, 'source_answered', digest);
  expect(await askAs(403)).toMatchObject({ kind: 'transient' });
  // Other requests have not been answered yet.
  expect(await askAs(404, { list: { path: '/other' } })).toMatchObject({ kind: 'terminal' });
});

test('a process that stops still uses the slots that it waits for, unless the service blocks them', async () => {
  const [{ url }, worker] = [await startServer(withTokens(always(200, []))), await openWorker()];
  const ask = () => startAsking(worker, url, { limits: { requests: 1, per_s: 1.2 } });
  await ask().asked;
  const { services, asked } = ask();
  services.defer(() => asked);
  await services.close();
  expect(await asked).toMatchObject({ value: 'answered' });
});

test.each([
  ['list', {}, 'SERVICE_OVERLOADED'],
  ['token endpoint', { auth_url: 'http://127.0.0.1:1', limits: { retry_base_ms: 600_000 } }, 'SERVICE_UNREACHABLE'],
])('while the %s is away, the log tells it at once, and a process that stops does not wait', async (_, away, code) => {
  const { url } = await startServer(withTokens(always(503, {}, { 'retry-after': '600' })));
  const told = vi.fn<Log>();
  const store = await openWorker();
  const { services, asked } = startAsking(store, url, away, told);
  await until('the log tells it', () => told.mock.calls.length > 0);
  const other = startAsking(store, url, away);
  await Promise.all([services.close(), other.services.close()]);
  const seen = [await asked, told.mock.calls[0]?.[1]?.error, await other.asked];
  expect(seen).toMatchObject([{ code }, { code }, { kind: 'transient' }]);
});

/** Hands out slots as fast as they are asked for; what counts is when they lie, not when we got them. */
describe.each<[string, (of?: typeof rules) => Promise<SlotSource[]>]>([
  ['of one process', async (of = rules) => [createLocalSlots(of)]],
  [
    'shared by three workers',
    async (of = rules) => {
      const shared = { name: randomUUID(), ...of, liveIdleMs, spanMs: limitSpanMs(of) };
      return Promise.all([1, 2, 3].map(async () => createSharedSlots(await openWorker(), shared)));
    },
  ],
])('slots %s', (name, make) => {
  const take = async (sources: readonly SlotSource[], count: number, live = false): Promise<number[]> => {
    const grants = await Promise.all(Array.from({ length: count }, (_, i) => sources[i % sources.length]?.grant(live)));
    return grants.map((grant) => grant?.at ?? 0).sort((a, b) => a - b);
  };

  // So long that a slow machine asks for all of them within one window.
  const long = { ...rules, perMs: 20_000 };

  const expectApart = (slots: readonly number[]): void => {
    for (const [index, tenth] of slots.slice(long.requests).entries())
      expect(tenth - (slots[index] ?? 0)).toBeGreaterThan(long.perMs);
  };

  test('never exceed the limiter in any window, and use at least 90% of it', async () => {
    const slots = await take(await make(long), 300);
    expectApart(slots);
    const last = slots.at(-1) ?? 0;
    expect(((290 / long.requests) * long.perMs) / (last - (slots[9] ?? 0))).toBeGreaterThan(0.9);
  });

  // A process without a store does no live work.
  if (name !== 'of one process')
    test('are there for live work at once while other work has taken all that it may', async () => {
      const sources = await make(long);
      await take(sources, 1, true);
      const others = await take(sources, 50);
      const live = await take(sources, 2, true);
      expect((live[1] ?? 0) - (others[0] ?? 0)).toBeLessThan(long.perMs);
      expectApart([...others, ...live].sort((a, b) => a - b));
    });

  test('are all there for live work while there is no other', async () => {
    const slots = await take(await make(long), 10, true);
    expect((slots[9] ?? 0) - (slots[0] ?? 0)).toBeLessThan(long.perMs);
  });

  test('move with a request that was sent late', async () => {
    const sources = await make({ ...rules, live: 0 });
    const slots = await take(sources, 10);
    await sources[0]?.defer(slots[0] ?? 0, 200);
    const [next = 0] = await take(sources, 1);
    expect(next - (slots[0] ?? 0)).toBeGreaterThan(rules.perMs + 200);
  });

  test('lie behind a block, and do not burst after it', async () => {
    const sources = await make();
    const [first = 0] = await take(sources, 1);
    await sources[0]?.block(60_000);
    const slots = await take(sources, 25);
    expect(slots[0]).toBeGreaterThanOrEqual(first + 60_000);
    expect((slots[10] ?? 0) - (slots[0] ?? 0)).toBeGreaterThan(rules.perMs);
  });

  test('are spaced wider after an overload, once for the requests under way, and closer with time', async () => {
    const [slots] = (await make(long)) as [SlotSource];
    const distance = async (): Promise<number> => {
      const [one, two] = [await slots.grant(false), await slots.grant(true)];
      return two.at - one.at;
    };
    const before = await slots.grant(false);
    expect(await distance()).toBeLessThan(1_000);
    const startedAt = performance.now();
    for (const _ of [1, 2, 3]) await slots.block(0, before.at);
    const even = limitSpanMs(long) / long.requests;
    const later = () => (performance.now() - startedAt) / 30 + 5;
    const first = await distance();
    expect(Math.abs(first - even)).toBeLessThan(later());
    await slots.block(0, (await slots.grant(false)).at);
    const wide = await distance();
    expect(Math.abs(wide - 1.6 * even)).toBeLessThan(2 * later());
    await until('it shrinks', async () => (await distance()) < wide - 3);
  });

  test('that others wait for are taken back when one is too many, and given up when one is told to stop', async () => {
    const single = { requests: 1, perMs: 1_200, live: 0 };
    const sources = await make(single);
    const [one, other] = [sources[0], sources.at(-1)].map((slots) => createRequestLimiter(slots as SlotSource, single));
    await one?.acquire();
    const [started, waiting] = [performance.now(), one?.acquire()];
    await other?.penalize(1_800);
    await waiting;
    expect(performance.now() - started).toBeGreaterThan(1_790);
    await other?.penalize(60_000);
    await expect(one?.acquire(AbortSignal.timeout(20))).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});
