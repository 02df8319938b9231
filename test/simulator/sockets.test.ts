import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { type Simulator, startSimulator } from '../../src/simulator/start-simulator.ts';
import { takeToken, until } from './api.ts';

let simulator: Simulator;
const start = async (options: SimulatorOptions = {}) => {
  simulator = await startSimulator({ calls: { count: 0 }, ...options });
};
afterEach(() => simulator.stop());

/** Opens a socket; resolves with it, or with the status of the refusal. */
const open = (token: string | undefined, url = simulator.wsUrl): Promise<WebSocket | number> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { headers: token === undefined ? {} : { Authorization: `bearer ${token}` } });
    socket.on('open', () => resolve(socket));
    socket.on('unexpected-response', (_, response) => resolve(response.statusCode ?? 0));
    socket.on('error', reject);
  });

describe('WebSocket (interface §5.2)', () => {
  test('opens with a fresh token, streams text and binary, and outlives the token', async () => {
    await start({ tokens: { lifetimeSeconds: 0.1 }, websocket: { tokenAgeSeconds: 1, framesPerSecond: 100 } });
    const token = await takeToken(simulator);
    const socket = (await open(token)) as WebSocket;
    const kinds = new Set<boolean>();
    let frames = 0;
    socket.on('message', (_, binary) => {
      kinds.add(binary);
      frames++;
    });
    await until(async () => (await open(token)) === 401);
    const before = frames;
    await until(() => frames > before + 10 && kinds.size === 2);
    expect((await simulator.stats()).websocket).toMatchObject({ refused: { token_expired: 1 } });
  });

  test('refuses a missing token, a wrong path, an address outside the whitelist', async () => {
    await start();
    const token = await takeToken(simulator);
    expect(await open(undefined)).toBe(401);
    expect(await open('guess')).toBe(401);
    expect(await open(token, simulator.wsUrl.replace('/stream', '/other'))).toBe(404);
    await simulator.configure({ websocket: { whitelist: ['192.0.2.7'] } });
    expect(await open(token)).toBe(403);
    await simulator.configure({ websocket: { whitelist: ['127.0.0.1'] } });
    expect(await open(token)).toBeInstanceOf(WebSocket);
  });

  test('restarts and closes on demand', async () => {
    await start();
    const token = await takeToken(simulator);
    const closed = (socket: WebSocket) => new Promise<number>((resolve) => socket.on('close', resolve));
    const first = (await open(token)) as WebSocket;
    const cut = closed(first);
    await simulator.restartWebSocket(1_000);
    expect(await cut).toBe(1006);
    expect(await open(token)).toBe(503);
    await until(async () => (await open(token)) instanceof WebSocket);
    const last = (await open(token)) as WebSocket;
    const ended = closed(last);
    await simulator.closeWebSockets(1012);
    expect(await ended).toBe(1012);
  });
});

describe('MRCP port (interface §5.3)', () => {
  const dial = (): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(simulator.mrcp.port, simulator.mrcp.host);
      socket.setTimeout(700, () => socket.destroy(new Error('timed out')));
      socket.on('connect', () => {
        resolve('connected');
        socket.destroy();
      });
      socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    });

  test('accepts, refuses or never answers', async () => {
    await start();
    expect(await dial()).toBe('connected');
    await simulator.configure({ mrcp: { mode: 'refuse' } });
    expect(await dial()).toBe('ECONNREFUSED');
    await simulator.configure({ mrcp: { mode: 'unanswered' } });
    expect(await dial()).toBe('timed out');
    await simulator.configure({ mrcp: { mode: 'accept' } });
    expect(await dial()).toBe('connected');
  });
});
