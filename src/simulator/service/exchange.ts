/** One request and its answer: the Date header of the simulated clock, counting, faults. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FaultKind, SimulatorSettings } from '../../../schemas/simulator.ts';
import { fraction } from '../calls/random.ts';
import type { SimulatorClock } from '../calls/world.ts';
import { type Counters, countOne } from '../control/stats.ts';

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

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; chunks are written one after the other. */
  readonly body?: string | readonly Buffer[] | object;
}

export const httpDate = (ms: number): string => new Date(ms).toUTCString();

const toChunks = (body: HttpAnswer['body']): { readonly chunks: readonly Buffer[]; readonly type: string } => {
  if (body === undefined) return { chunks: [], type: 'text/plain' };
  if (typeof body === 'string')
    return { chunks: [Buffer.from(body)], type: body.startsWith('<') ? 'text/html' : 'text/plain' };
  if (Array.isArray(body) && body.every((chunk) => Buffer.isBuffer(chunk)))
    return { chunks: body, type: 'application/json' };
  return { chunks: [Buffer.from(JSON.stringify(body))], type: 'application/json' };
};

export const waitFor = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());

/** Sends a damaged body, then ends the connection. Node refuses bodies that contradict their headers, hence the raw socket. */
const sendDamaged = async (exchange: Exchange, status: number, headers: Record<string, string>, body: Buffer) => {
  const { response, bodyFault, settings } = exchange;
  const { socket } = response;
  const half = body.subarray(0, Math.floor(body.length / 2));
  const broken = Buffer.concat([half, Buffer.from('}{"')]);
  const damages: Readonly<Partial<Record<FaultKind, readonly [announced: number, sent: Buffer]>>> = {
    invalid_json: [broken.length, broken],
    truncated_body: [body.length, half],
    wrong_length: [Math.max(0, body.length - 7), body],
  };
  const [announced, sent] = damages[bodyFault as FaultKind] ?? [body.length, body];
  const lines = Object.entries({ ...headers, Connection: 'close', 'Content-Length': String(announced) });
  socket?.write(`HTTP/1.1 ${status} OK\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  const parts = bodyFault === 'slow_body' ? 10 : 1;
  for (let i = 0; i < parts && socket?.destroyed === false; i++) {
    socket.write(sent.subarray(Math.floor((sent.length * i) / parts), Math.floor((sent.length * (i + 1)) / parts)));
    if (parts > 1) await waitFor(settings.faults.slowMs / parts);
  }
  socket?.destroySoon();
};

/** Sends an answer: slow, cut off or broken where a fault is set. */
export const send = async (exchange: Exchange, answer: HttpAnswer): Promise<void> => {
  const { response, counters } = exchange;
  const { chunks, type } = toChunks(answer.body);
  const headers: Record<string, string> = {
    Date: httpDate(exchange.clock.now()),
    'Content-Type': `${type}; charset=utf-8`,
    ...answer.headers,
  };
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  counters.requests.bytes += length;
  if (exchange.bodyFault !== undefined)
    return await sendDamaged(exchange, answer.status, headers, Buffer.concat(chunks));
  response.writeHead(answer.status, { ...headers, 'Content-Length': String(length) });
  response.cork();
  for (const chunk of chunks) response.write(chunk);
  response.end();
  response.uncork();
};

/** An error in the dialect's form; none is documented, so each form is as good as another. */
export const errorAnswer = (form: 'detail' | 'list', status: number, title: string, detail: string) => ({
  status,
  body: form === 'list' ? { errors: [{ id: String(status), title, detail }] } : { detail },
});

// Seeded faults: the same seed fails the same requests in the same way.

const bodyFaults: readonly FaultKind[] = ['truncated_body', 'slow_body', 'wrong_length', 'invalid_json'];

const chooseFault = (exchange: Exchange, endpoint: 'list' | 'call' | 'token', number: number) => {
  const { rates, scope, at: planned } = exchange.settings.faults;
  const single = planned.find(({ request }) => request === number);
  if (single !== undefined && endpoint !== 'token') return single.kind;
  if (!scope.includes(endpoint)) return undefined;
  let at = fraction(exchange.settings.seed, number, 60);
  for (const [kind, share] of Object.entries(rates) as [FaultKind, number][]) {
    if (at < share) return kind;
    at -= share;
  }
  return undefined;
};

/** Answers that are a status and a body. */
const answers: Readonly<Partial<Record<FaultKind, readonly [status: number, body: string | object]>>> = {
  error_500: [500, { detail: 'internal error' }],
  refused_400: [400, { detail: 'bad request' }],
  refused_416: [416, { detail: 'refused' }],
  refused_422: [422, { detail: 'refused' }],
  forbidden_403: [403, { detail: 'forbidden' }],
  missing_404: [404, { detail: 'not found' }],
  html_502: [502, '<html><body><h1>502 Bad Gateway</h1></body></html>'],
  unavailable_503: [503, 'unavailable'],
  too_many_429: [429, { detail: 'too many requests' }],
};

/** Fails an answer that holds a poisoned record; as `injectFault`. */
export const injectPoison = async (exchange: Exchange, indices: readonly number[], light: boolean, single: boolean) => {
  const poison = exchange.settings.quirks.poison.find(
    (one) => indices.includes(one.record) && (one.light || !light) && (one.single || !single),
  );
  if (poison === undefined) return false;
  countOne(exchange.counters.faults, `poison_${poison.kind}`);
  if (poison.kind === 'broken_json') {
    exchange.bodyFault = 'invalid_json';
    return false;
  }
  await send(exchange, { status: 500, body: { detail: 'internal error' } });
  return true;
};

/**
 * Perhaps fails a request. Returns true when it was answered (or abandoned); a fault of the body is left on the
 * exchange for `send`.
 */
export const injectFault = async (exchange: Exchange, endpoint: 'list' | 'call' | 'token', number: number) => {
  const kind = chooseFault(exchange, endpoint, number);
  if (kind === undefined) return false;
  countOne(exchange.counters.faults, kind);
  if (bodyFaults.includes(kind)) {
    exchange.bodyFault = kind;
    return false;
  }
  const [status, body] = answers[kind] ?? [];
  if (status !== undefined) await send(exchange, { status, body });
  // `hang`: the connection stays open without an answer until the client gives up or the simulator stops.
  else if (kind === 'reset_before_headers') exchange.response.socket?.resetAndDestroy();
  return true;
};
