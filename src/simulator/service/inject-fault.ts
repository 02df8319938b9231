/** Seeded faults: the same seed fails the same requests in the same way. */
import type { FaultKind } from '../../../schemas/simulator.ts';
import { fraction } from '../calls/random.ts';
import { countOne } from '../control/stats.ts';
import { type Exchange, httpDate, send } from './exchange.ts';

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
  unavailable_503_seconds: [503, 'unavailable'],
  unavailable_503_date: [503, 'unavailable'],
  too_many_429: [429, { detail: 'too many requests' }],
};

const sendFault = async (exchange: Exchange, kind: FaultKind, elsewhere: () => Promise<string>): Promise<void> => {
  const { response, clock, settings, url } = exchange;
  const seconds = settings.faults.retryAfterSeconds;
  const [status, body] = answers[kind] ?? [];
  if (status !== undefined) {
    const date = httpDate(Math.ceil((clock.now() + seconds * 1_000) / 1_000) * 1_000);
    const retryAfter = { unavailable_503_seconds: String(seconds), unavailable_503_date: date }[kind as string];
    return send(exchange, { status, headers: retryAfter === undefined ? {} : { 'Retry-After': retryAfter }, body });
  }
  if (kind === 'reset_before_headers') response.socket?.resetAndDestroy();
  else if (kind === 'reset_after_headers') {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000000' });
    response.write('{', () => response.socket?.resetAndDestroy());
  } else if (kind === 'redirect')
    return send(exchange, { status: 302, headers: { Location: `${await elsewhere()}${url.pathname}${url.search}` } });
  // `hang`: the connection stays open without an answer until the client gives up or the simulator stops.
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
 * @param elsewhere starts the other host that redirects point to, and returns its origin
 */
export const injectFault = async (
  exchange: Exchange,
  endpoint: 'list' | 'call' | 'token',
  number: number,
  elsewhere: () => Promise<string>,
): Promise<boolean> => {
  const kind = chooseFault(exchange, endpoint, number);
  if (kind === undefined) return false;
  countOne(exchange.counters.faults, kind);
  if (bodyFaults.includes(kind)) {
    exchange.bodyFault = kind;
    return false;
  }
  await sendFault(exchange, kind, elsewhere);
  return true;
};
