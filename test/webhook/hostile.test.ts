import { expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { describeFlood, describeHostile } from './hostile-cases.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { deliveryHeaders, exchange, head } from './support/raw-http.ts';

// How soon it answers, and in 100 MB, the campaign asks: here a collection of garbage may wait for a core.
describeHostile({ slow: 150, oversized: 30, seconds: 4, mostMb: 250 });

// The campaign sends 200 deliveries and asks for 10 s; here other tests share the two cores.
describeFlood({ idle: 2_000, bodies: 40, deliveries: 6, everyMs: undefined, answerWithinMs: 25_000 });

const database = useInboxDatabase();

test('answers 503 at once when the bytes in flight are used up', async () => {
  const config = { limits: { inflight_bytes: 400_000 }, group_commit: { deadline_s: 60 } };
  const started = await database.receive({ config });
  const body = Buffer.alloc(100_000, 'y');
  const send = async (id: string) => (await exchange(started.port, [head(deliveryHeaders(body, id)), body])).answers[0];
  const release = await database.hold();
  const held = ['1', '2', '3'].map(send);
  await until('three are held', () => started.receiver.status().inflightBytes > 300_000);
  const startedAt = performance.now();
  expect(await send('4')).toMatchObject({ status: 503, headers: { 'retry-after': '1', connection: 'close' } });
  // Not after the minute that the others may wait.
  expect(performance.now() - startedAt).toBeLessThan(50_000);
  await release();
  for (const one of held) expect((await one)?.status).toBe(200);
  expect((await send('5'))?.status).toBe(200);
});

test('sheds slow and large bodies for quick and small ones, and those not whole when it stops', async () => {
  const config = { limits: { inflight_bytes: 400_000, body_bytes: 300_000, request_timeout_s: 60 } };
  const started = await database.receive({ config });
  const partial = (kept: number) => {
    const headers = { ...deliveryHeaders('', 'slow'), 'Content-Length': '300000' };
    return exchange(started.port, [head(headers), Buffer.alloc(kept, 'x')], { deadlineMs: 60_000 });
  };
  // A sender that signed rightly before may use all of the memory.
  const body = Buffer.alloc(100_000, 'y');
  expect(await started.statusOf(deliveryHeaders(body, 'first'), body)).toBe(200);
  const large = partial(250_000);
  const small = [partial(50_000), partial(50_000)];
  await until('all are held', () => started.receiver.status().inflightBytes > 350_000);
  expect(await started.statusOf(deliveryHeaders(body, 'quick'), body)).toBe(200);
  expect((await large).answers[0]?.status).toBe(503);
  const closing = performance.now();
  await started.stop();
  // Not after the minute that a request may take.
  expect(performance.now() - closing).toBeLessThan(50_000);
  for (const { answers } of await Promise.all(small)) expect(answers[0]?.status).toBe(503);
});

test('closes sockets that send nothing, half a head, or half a body, within their time', async () => {
  const started = await database.receive({ config: { limits: { headers_timeout_s: 0.5, request_timeout_s: 1 } } });
  const closed = await Promise.all([
    exchange(started.port, ['']),
    exchange(started.port, ['POST /webhook HT']),
    exchange(started.port, ['POST /webhook HTTP/1.1\r\nHost: x\r\nX-A: ']),
    exchange(started.port, [head({ ...deliveryHeaders('', 'slow'), 'Content-Length': '100' }), 'x']),
  ]);
  for (const { answers } of closed) expect(answers[0]?.status ?? 408).toBe(408);
});
