/** `callsync frames`: keeps the streaming WebSocket open and hands on its frames as they came (interface §5.2, §6). */
import { on, once } from 'node:events';
import { WebSocket } from 'ws';
import type { SourceConfig } from '../../schemas/config/source.ts';
import { CallsyncError, isUntrusted, terminal, transient } from '../lib/errors.ts';
import { backoffMs, wait } from '../lib/timing.ts';
import { isLoopback, unreachable, untrusted } from './http/http.ts';
import type { TokenSource } from './http/tokens.ts';

interface StreamFrame {
  /** Arrival. */
  readonly at: Date;
  readonly binary: boolean;
  readonly body: Buffer;
  /** Number of the connection within this run, from 1. */
  readonly connection: number;
}

export type StreamEvent =
  | { readonly kind: 'opened'; readonly connection: number; readonly tokenAgeMs: number }
  | { readonly kind: 'closed'; readonly connection: number; readonly code: number; readonly explanation: string }
  | { readonly kind: 'refused'; readonly explanation: string; readonly retryInMs: number };

interface FramesOptions {
  readonly config: SourceConfig['websocket'];
  readonly tokens: TokenSource;
  /** Awaited one by one, in order; a slow one pauses the socket rather than filling memory. */
  readonly onFrame: (frame: StreamFrame) => Promise<void> | void;
  readonly onEvent?: (event: StreamEvent) => void;
  readonly signal?: AbortSignal;
  /** Bounds of the pause before opening again, in milliseconds. */
  readonly backoff?: { readonly baseMs: number; readonly maxMs: number };
}

/** Frames that wait for `onFrame` before the socket is paused. */
const highWater = 256;

/**
 * Opens the WebSocket with a fresh token, and again when it closes, until the signal is aborted. A connection stays
 * beyond its token's end (§5.2). Throws only permanent errors: no address, refused credentials, a wrong path, an IP
 * address that is not allowed.
 */
export const openFrames = async (options: FramesOptions) => {
  const { config, signal, onEvent, backoff = { baseMs: 500, maxMs: 30_000 } } = options;
  const url = streamAddress(config);
  const totals = { frames: 0, bytes: 0, connections: 0 };
  let failures = 0;
  while (!signal?.aborted) {
    let refusal: CallsyncError | undefined;
    try {
      await runConnection(url, options, totals, () => {
        failures = 0;
      });
    } catch (error) {
      if (signal?.aborted) break;
      if (!(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
      refusal = error;
    }
    // Also if it was closed after it had been open: soon again, but not in a tight loop.
    const retryInMs = backoffMs(failures++, backoff, refusal?.retryAfterMs);
    if (refusal) onEvent?.({ kind: 'refused', explanation: refusal.message, retryInMs });
    await wait(retryInMs, signal).catch(() => undefined);
  }
  return totals;
};

const streamAddress = (config: SourceConfig['websocket']): URL => {
  if (config.url === undefined)
    throw terminal('CONFIG_INVALID', 'source.websocket.url is needed to open the WebSocket.', {
      hint: 'Ask the account manager for the address; the interface does not show it.',
    });
  const url = new URL(config.url);
  if (url.protocol === 'ws:' && !isLoopback(url.hostname))
    throw terminal('CONFIG_INVALID', 'source.websocket.url is not encrypted, so the token would be readable.', {
      hint: 'Use wss://.',
    });
  return url;
};

const runConnection = async (
  url: URL,
  { config, tokens, onFrame, onEvent, signal }: FramesOptions,
  totals: { frames: number; bytes: number; connections: number },
  onOpen: () => void,
): Promise<void> => {
  const token = await tokens.fresh(config.token_max_age_s * 1000, signal);
  const socket = new WebSocket(url, config.protocols, {
    headers: { authorization: `${config.scheme} ${token.value}` },
    handshakeTimeout: 15_000,
    maxPayload: config.max_frame_bytes,
    followRedirects: false,
  });
  let alive = true;
  let refusal: CallsyncError | undefined;
  let failure: Error | undefined;
  let code = 0;
  let lastResort: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    if (socket.readyState === WebSocket.OPEN) socket.close(1000);
    else socket.terminate();
    lastResort = setTimeout(() => socket.terminate(), 2_000);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  const ping = setInterval(() => {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (!alive) socket.terminate();
    alive = false;
    socket.ping();
  }, config.ping_interval_s * 1000);
  socket.on('pong', () => {
    alive = true;
  });
  socket.on('message', (data, binary) => {
    alive = true;
    socket.emit('frame', { at: new Date(), binary, body: bytesOf(data) });
  });
  socket.on('unexpected-response', (_, { statusCode = 0 }) => {
    if (statusCode === 401) tokens.invalidate(token.value);
    refusal = explainRefusal(url, statusCode);
    socket.terminate();
  });
  socket.on('error', (error) => {
    failure = error;
  });
  socket.on('close', (given) => {
    code = given;
  });
  try {
    // Before the connection opens: frames may come with its answer.
    const frames = on(socket, 'frame', { close: ['close'], highWaterMark: highWater, lowWaterMark: highWater / 2 });
    await once(socket, 'open');
    const connection = ++totals.connections;
    onOpen();
    onEvent?.({ kind: 'opened', connection, tokenAgeMs: performance.now() - token.requestedAt });
    for await (const [frame] of frames as AsyncIterable<[Omit<StreamFrame, 'connection'>]>) {
      await onFrame({ ...frame, connection });
      totals.frames++;
      totals.bytes += frame.body.length;
    }
    onEvent?.({ kind: 'closed', connection, code, explanation: closings.get(code) ?? `closed with code ${code}` });
  } catch (error) {
    throw refusal ?? (failure !== undefined && error === failure ? explainError(url, failure) : error);
  } finally {
    clearInterval(ping);
    clearTimeout(lastResort);
    signal?.removeEventListener('abort', onAbort);
    socket.terminate();
  }
};

const bytesOf = (data: WebSocket.RawData): Buffer =>
  Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data);

const explainRefusal = (url: URL, status: number): CallsyncError => {
  if (status === 401)
    return transient(
      'STREAM_TOKEN',
      `${url.host} refused the token (401): a token must be at most 5 minutes old when the connection opens.`,
    );
  if (status === 403)
    return terminal('STREAM_IP_NOT_ALLOWED', `${url.host} refuses connections from this IP address (403).`);
  if ([404, 405, 426].includes(status))
    return terminal('STREAM_PATH', `There is no WebSocket at ${url.host}${url.pathname} (${status}).`);
  return status >= 500 || status === 429 || status === 408
    ? transient('STREAM_UNAVAILABLE', `${url.host} cannot open a WebSocket now (${status}).`)
    : terminal('STREAM_REFUSED', `${url.host} refused the WebSocket with status ${status}.`);
};

const explainError = (url: URL, error: Error): CallsyncError => {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (isUntrusted(code)) return untrusted(url, code, error);
  const what = unreachable.get(code) ?? 'broke the connection';
  return transient('STREAM_UNAVAILABLE', `${url.host} ${what}.`, { cause: error });
};

const closings = new Map([
  [1000, 'closed in order'],
  [1001, 'the service is going away, such as for a restart'],
  [1006, 'the connection broke'],
  [1008, 'the service refused it by its policy'],
  [1009, 'a frame was too large'],
  [1012, 'the service restarts or is overloaded'],
  [1013, 'the service restarts or is overloaded'],
]);
