/** One request and its answer: body reading, the Date header of the simulated clock, counting, compression. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FaultKind, SimulatorSettings } from '../../../schemas/simulator.ts';
import type { SimulatorClock } from '../calls/clock.ts';
import type { Counters } from '../control/stats.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly source: string;
  readonly settings: SimulatorSettings;
  readonly clock: SimulatorClock;
  readonly counters: Counters;
  /** A fault that damages the body on its way. */
  bodyFault: FaultKind | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; chunks are written one after the other. */
  readonly body?: string | readonly Buffer[] | object;
}

export const httpDate = (ms: number): string => new Date(ms).toUTCString();

const toChunks = (body: Answer['body']): { readonly chunks: readonly Buffer[]; readonly type: string } => {
  if (body === undefined) return { chunks: [], type: 'text/plain' };
  if (typeof body === 'string')
    return { chunks: [Buffer.from(body)], type: body.startsWith('<') ? 'text/html' : 'text/plain' };
  if (Array.isArray(body) && body.every((chunk) => Buffer.isBuffer(chunk)))
    return { chunks: body, type: 'application/json' };
  return { chunks: [Buffer.from(JSON.stringify(body))], type: 'application/json' };
};

const compress = async (accepted: string, plain: Buffer) => {
  if (/\bbr\b/.test(accepted)) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 1 };
    return { bytes: await promisify(brotliCompress)(plain, { params }), encoding: 'br' };
  }
  return /\bgzip\b/.test(accepted)
    ? { bytes: await promisify(gzip)(plain, { level: 1 }), encoding: 'gzip' }
    : undefined;
};

export const waitFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

/** Sends a body that contradicts its headers, then cuts the connection if that is part of the fault. */
const sendDamaged = async (exchange: Exchange, status: number, headers: Record<string, string>, body: Buffer) => {
  const { response, bodyFault, settings } = exchange;
  const half = body.subarray(0, Math.floor(body.length / 2));
  if (bodyFault === 'invalid_json') {
    const broken = Buffer.concat([half, Buffer.from('}{"')]);
    response.writeHead(status, { ...headers, 'Content-Length': String(broken.length) }).end(broken);
    return;
  }
  response.writeHead(status, { ...headers, 'Content-Length': String(body.length) });
  if (bodyFault === 'slow_body') {
    const parts = 10;
    for (let i = 0; i < parts && !response.destroyed; i++) {
      response.write(body.subarray(Math.floor((body.length * i) / parts), Math.floor((body.length * (i + 1)) / parts)));
      await waitFor(settings.faults.slowMs / parts);
    }
    response.end();
    return;
  }
  // Truncated: fewer bytes than announced, then the connection ends.
  response.write(half, () => response.socket?.destroySoon());
};

/** Announces fewer bytes than follow; Node refuses to do so itself, hence the raw socket. */
const sendTooMuch = ({ response }: Exchange, status: number, headers: Record<string, string>, body: Buffer): void => {
  const lines = Object.entries({ ...headers, 'Content-Length': String(Math.max(0, body.length - 7)) });
  const head = `HTTP/1.1 ${status} OK\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  response.socket?.write(head);
  response.socket?.write(body, () => response.socket?.destroySoon());
};

/** Sends an answer as the settings say: compressed, slow, cut off or broken where a fault is set. */
export const send = async (exchange: Exchange, answer: Answer): Promise<void> => {
  const { request, response, settings, counters } = exchange;
  const { chunks, type } = toChunks(answer.body);
  const headers: Record<string, string> = {
    Date: httpDate(exchange.clock.now()),
    'Content-Type': `${type}; charset=utf-8`,
    ...answer.headers,
  };
  let sent = chunks;
  if (settings.compression && !settings.staticPages && exchange.bodyFault === undefined) {
    const made = await compress(String(request.headers['accept-encoding'] ?? ''), Buffer.concat(chunks));
    if (made !== undefined) {
      sent = [made.bytes];
      headers['Content-Encoding'] = made.encoding;
    }
  }
  const length = sent.reduce((sum, chunk) => sum + chunk.length, 0);
  counters.requests.bytes += length;
  if (exchange.bodyFault === 'wrong_length') {
    sendTooMuch(exchange, answer.status, headers, Buffer.concat(sent));
    return;
  }
  if (exchange.bodyFault !== undefined) {
    await sendDamaged(exchange, answer.status, headers, Buffer.concat(sent));
    return;
  }
  response.writeHead(answer.status, { ...headers, 'Content-Length': String(length) });
  response.cork();
  for (const chunk of sent) response.write(chunk);
  response.end();
  response.uncork();
};

/** An error in the dialect's form; none is documented, so each form is as good as another. */
export const errorAnswer = (form: 'detail' | 'list', status: number, title: string, detail: string) => {
  if (form === 'list') return { status, body: { errors: [{ id: String(status), title, detail }] } };
  return { status, body: { detail } };
};
