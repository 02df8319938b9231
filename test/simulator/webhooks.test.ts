import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { listen } from '../support/listen.ts';
import { collect } from '../support/rows.ts';
import { until } from '../support/until.ts';
import { openApi } from './api.ts';

const small = { utterances: 1, words: 2, from: '2024-03-01T00:00:00Z', to: '2024-03-08T00:00:00Z' } as const;

/** By number of the request: the status to answer, or `hang` to leave it without an answer. */
type Reaction = (number: number) => number | 'hang';
/** A simulated service, and a receiver that records its deliveries and answers as told. */
const start = async ({ webhooks, ...options }: SimulatorOptions, react: Reaction = () => 200) => {
  const received: { method?: string | undefined; headers: IncomingHttpHeaders; body: Buffer }[] = [];
  const { url, close } = await listen(async (request, response) => {
    const { method, headers } = request;
    received.push({ method, headers, body: Buffer.concat(await request.toArray()) });
    const status = react(received.length - 1);
    if (status !== 'hang') response.writeHead(status).end();
  });
  onTestFinished(close);
  return { received, ...(await openApi({ ...options, webhooks: { url: `${url}/hook`, ...webhooks } })) };
};

test('webhook deliveries carry the exact headers, a signature over the bytes, and the fields of §2.1', async () => {
  const { simulator, received } = await start({ calls: { ...small, count: 30, otherShare: 0 } });
  await simulator.sendWebhooks({ count: 5 });
  await simulator.drainWebhooks();
  expect(received).toHaveLength(5);
  for (const { headers, body, method } of received) {
    const signer = createHmac('sha256', simulator.signingSecret as string);
    expect([method, headers]).toMatchObject([
      'POST',
      {
        ...{ 'content-type': 'application/json', 'user-agent': expect.stringMatching(/^Service-Webhook\/\d/) },
        ...{ 'x-service-hook-id': expect.any(String), 'x-service-delivery': expect.stringMatching(/^\d{10}\.\d+$/) },
        'x-service-signature': `sha256=${signer.update(body).digest('hex')}`,
      },
    ]);
    expect(Math.abs(Number(headers['x-service-delivery']) - Date.now() / 1_000)).toBeLessThan(60);
    expect(Object.keys(JSON.parse(body.toString())).sort().join(' ')).toBe(
      'audio_state campaign duration in ivr_end metadata out status tags timestamp tracking_info transcript_json unique_id visit',
    );
  }
  const hashes = received.map((one) => createHash('sha256').update(one.body).digest('hex')).sort();
  expect((await collect(simulator.deliveries())).map((one) => one.bodyHash).sort()).toEqual(hashes);
});

test('webhook deliveries are sent for qualified and void only, when a call is processed', async () => {
  const { simulator, received } = await start({ calls: { ...small, count: 0 }, webhooks: { secret: null } });
  for (const status of ['qualified', 'void', 'error', 'unqualified']) await simulator.insert({ status });
  await simulator.insert({ status: 'qualified', qualified: new Date(Date.now() + 1_500).toISOString() });
  expect(received.length).toBeLessThan(3);
  await until('three arrive', () => received.length === 3);
  const expected = ['qualified', 'qualified', 'void'];
  expect(received.map((one) => JSON.parse(one.body.toString()).status).sort()).toEqual(expected);
  expect(received[0]?.headers['x-service-signature']).toBeUndefined();
});

test('webhook deliveries are retried exactly once, under the same id, after anything but a 2XX in time', async () => {
  const { simulator, received } = await start(
    { calls: { ...small, count: 20, otherShare: 0 }, webhooks: { concurrency: 1, timeoutMs: 400 } },
    (number) => ([500, 204, 301, 'hang'] as const)[number] ?? 200,
  );
  await simulator.sendWebhooks({ count: 3 });
  await simulator.drainWebhooks();
  const [a, b, c, d, e] = received.map(({ headers }) => headers['x-service-delivery']);
  expect(received).toHaveLength(5);
  expect([b, d]).toEqual([a, c]);
  expect(new Set([a, c, e]).size).toBe(3);
  expect(received[0]?.body).toEqual(received[1]?.body);
  const { webhooks } = await simulator.stats();
  expect(webhooks).toMatchObject({ delivered: 2, failed: 1, retried: 2, attempts: 5 });
  expect((await collect(simulator.deliveries())).map((one) => [one.outcome, one.answers])).toEqual([
    ['delivered', [500, 204]],
    ['failed', [301, 'timeout']],
    ['delivered', [200]],
  ]);
});

test('truth takes omitted fields from the last acknowledged webhook, and the rest from the present version', async () => {
  const calls = { ...small, count: 40, otherShare: 0 };
  const { simulator, received, list } = await start({ calls, listOmits: ['audio_state', 'visit'] });
  const [sent, unsent] = (await list({ limit: 2 })).data.map((call) => String(call.unique_id)) as [string, string];
  await simulator.sendWebhooks({ callIds: [sent] });
  await simulator.drainWebhooks();
  const first = JSON.parse(received[0]?.body.toString() ?? '{}');
  const kinds = ['audio_state', 'tags', 'status', 'transcript'] as const;
  for (const callId of [sent, unsent])
    await simulator.edit({ callIds: [callId], kinds: [...kinds], requalify: false, webhook: false });
  const listed = new Map((await list({ limit: 200 })).data.map((call) => [call.unique_id, call]));
  const known = await simulator.truthOf(sent);
  expect(known?.document).toEqual({ ...first, ...listed.get(sent) });
  expect(known?.document?.audio_state).toBe(first.audio_state);
  for (const name of ['tags', 'status', 'transcript_json']) expect(known?.document?.[name]).not.toEqual(first[name]);
  expect((await simulator.truthOf(unsent))?.document).toEqual(listed.get(unsent));
  expect(known).toMatchObject({ version: 2, visibleInList: true, deliveredByWebhook: true, deliveredVersion: 1 });
  expect((await simulator.documentAt(sent, 1))?.metadata).toEqual(first.metadata);
  await simulator.edit({ callIds: [unsent], kinds: ['tags'], requalify: true, webhook: true });
  const today = new Date(Date.now() - 60_000).toISOString();
  expect((await list({ qualified_from: today })).data.map((call) => call.unique_id)).toEqual([unsent]);
  await simulator.drainWebhooks();
  expect((await simulator.truthOf(unsent))?.deliveredVersion).toBe(3);
  await simulator.delete({ callIds: [sent] });
  expect(await simulator.truthOf(sent)).toMatchObject({ visibleInList: false, document: known?.document });
});
