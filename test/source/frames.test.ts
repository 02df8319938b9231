import { expect, onTestFinished, test } from 'vitest';
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { openFrames, type StreamEvent } from '../../src/source/frames.ts';
import { openSimulator } from '../support/simulator.ts';
import { until } from '../support/until.ts';
import { simulatedSource } from './simulated.ts';

type OnFrame = Parameters<typeof openFrames>[0]['onFrame'];

type Section = SourceConfigInput['websocket'];
const start = async (options: SimulatorOptions = {}, websocket: Section = {}, handle: OnFrame = () => undefined) => {
  const stream = { framesPerSecond: 100, ...options.websocket };
  const simulator = await openSimulator({ calls: { count: 0 }, ...options, websocket: stream });
  const settings = { url: simulator.wsUrl, ping_interval_s: 0.2, ...websocket };
  const source = await simulatedSource(simulator, { websocket: settings });
  onTestFinished(source.close);
  const frames: Parameters<OnFrame>[0][] = [];
  const events: StreamEvent[] = [];
  const stop = new AbortController();
  const done = openFrames({
    ...{ config: source.config.websocket, tokens: source.tokens, signal: stop.signal },
    backoff: { baseMs: 30, maxMs: 200 },
    onFrame: (frame) => {
      frames.push(frame);
      return handle(frame);
    },
    onEvent: (event) => void events.push(event),
  });
  done.catch(() => undefined);
  const end = async () => {
    stop.abort();
    return await done;
  };
  onTestFinished(async () => void (await end().catch(() => undefined)));
  return { simulator, frames, events, done, stop: end };
};

const isRefused = (events: readonly StreamEvent[], why: string): boolean =>
  events.some((event) => event.kind === 'refused' && event.explanation.includes(why));
const opened = (events: readonly StreamEvent[]): number => events.filter(({ kind }) => kind === 'opened').length;

test('hands on text and binary frames as they came, in order', async () => {
  const { simulator, frames, stop } = await start();
  await until('30 frames', () => frames.length >= 30);
  expect(await stop()).toMatchObject({ connections: 1, frames: frames.length });
  const sent = frames.map(({ body, binary }) => [JSON.parse(body.toString()).number, binary]);
  expect(sent).toEqual(frames.map((_, i) => [i, i % 5 === 4]));
  await expect.poll(async () => (await simulator.stats()).websocket.open).toBe(0);
});

test('keeps the connection beyond the end of its token', async () => {
  const { frames, events, stop } = await start({ tokens: { lifetimeSeconds: 1 } });
  const begun = performance.now();
  await until('frames over 1.6 s', () => performance.now() - begun > 1_600 && frames.length > 50);
  expect(opened(events)).toBe(1);
  await stop();
});

test('asks for a new token when the one at hand is older than allowed', async () => {
  const { simulator, events, frames } = await start({}, { token_max_age_s: 0.8 });
  await until('a frame', () => frames.length > 0);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await simulator.restartWebSocket(0);
  await until('the second connection', () => opened(events) === 2);
  const { tokens, websocket } = await simulator.stats();
  // A machine that takes longer than that to open the first connection asks once more.
  expect(tokens.issued).toBeGreaterThanOrEqual(2);
  expect(websocket.refused).toEqual({});
});

test('survives a restart of the service, and goes on', async () => {
  const { simulator, events, frames, stop } = await start();
  await until('frames', () => frames.length > 5);
  await simulator.restartWebSocket(1_000);
  const isAgain = () => opened(events) === 2 && frames.some(({ connection }) => connection === 2);
  await until('frames of the second connection', isAgain);
  expect(isRefused(events, '503')).toBe(true);
  expect(events.find(({ kind }) => kind === 'closed')).toMatchObject({ explanation: 'the connection broke' });
  expect((await stop()).connections).toBe(2);
});

test('opens again after the service closed in order, without a tight loop', async () => {
  const { simulator, events } = await start();
  await until('a connection', () => opened(events) === 1);
  await simulator.closeWebSockets(1001);
  await until('the second connection', () => opened(events) === 2);
  const explanation = expect.stringContaining('restart');
  expect(events.find(({ kind }) => kind === 'closed')).toMatchObject({ code: 1001, explanation });
});

test('replaces a token that was revoked', async () => {
  const { simulator, events } = await start();
  await until('a connection', () => opened(events) === 1);
  await simulator.revokeTokens();
  await simulator.restartWebSocket(0);
  await until('the second connection', () => opened(events) === 2);
  expect((await simulator.stats()).tokens.issued).toBe(2);
});

test('explains a refused address, a wrong path and a missing address in words', async () => {
  const { done } = await start({ websocket: { whitelist: ['192.0.2.1'] } });
  const hint = expect.stringContaining('the allowed addresses of your client_id');
  await expect(done).rejects.toMatchObject({ code: 'STREAM_IP_NOT_ALLOWED', kind: 'terminal', hint });
  const wrong = await start({}, { url: 'ws://127.0.0.1:1/x' });
  await until('a refusal', () => isRefused(wrong.events, 'refuses connections'));
  const path = await start({ websocket: { path: '/other' } }, {});
  await until('a frame', () => path.frames.length > 0);
  const missing = await start({}, { url: `${path.simulator.wsUrl}/nothing` });
  await expect(missing.done).rejects.toMatchObject({ code: 'STREAM_PATH' });
  await expect((await start({}, { url: undefined })).done).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect((await start({}, { url: 'ws://service.example/x' })).done).rejects.toThrow(/encrypted/);
});

test('slows the socket down rather than filling memory, and loses no frame', async () => {
  const numbers: number[] = [];
  let running = 0;
  const { stop } = await start({ websocket: { framesPerSecond: 1_000 } }, {}, async ({ body }) => {
    expect(++running).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 3));
    running--;
    numbers.push((JSON.parse(body.toString()) as { number: number }).number);
  });
  await until('300 frames', () => numbers.length > 300);
  await stop();
  expect(numbers).toEqual(numbers.map((_, i) => i));
});
