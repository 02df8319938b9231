/** One HTTP exchange: kept-alive connections, a timeout for each phase, bounded bodies, no token to another host. */
import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import type { SourceConfig, SourceLimits } from '../../../schemas/config/source.ts';
import { inUtf8 } from '../../lib/charset.ts';
import { CallsyncError, isUntrusted, terminal, transient } from '../../lib/errors.ts';
import { openAgent } from '../../lib/proxy.ts';
import { abortable } from '../../lib/timing.ts';

interface HttpRequest {
  readonly url: URL;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

export type HttpResponse = Awaited<ReturnType<Http['send']>>;

export type Http = ReturnType<typeof createHttp>;

const maxRedirects = 3;
const redirectStatus = new Set([301, 302, 303, 307, 308]);

/** Opens no connection before the first request. Limits are those of `source.limits`. */
export const createHttp = (limits: SourceLimits) => {
  const spare: Spare = { memory: new ArrayBuffer(0) };
  const agent = openAgent({
    connections: limits.concurrency,
    pipelining: 1,
    keepAliveTimeout: 30_000,
    connect: { timeout: limits.connect_timeout_s * 1000 },
    headersTimeout: limits.headers_timeout_s * 1000,
    bodyTimeout: limits.idle_timeout_s * 1000,
  });

  const exchange = async (request: HttpRequest) => {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(new Error('total timeout')), limits.total_timeout_s * 1000);
    /** Local milliseconds, as `headAt`. */
    const sentAt = steadyNow();
    try {
      const signal = AbortSignal.any([deadline.signal, ...(request.signal ? [request.signal] : [])]);
      const { origin, pathname, search } = request.url;
      const sending = agent.request({
        origin,
        path: pathname + search,
        method: request.method ?? 'GET',
        headers: { 'accept-encoding': acceptEncoding, 'user-agent': 'callsync', ...request.headers },
        body: request.body ?? null,
        signal,
      });
      // A request that waits for a free connection does not hear the signal.
      const response = await abortable(sending, signal);
      const headAt = steadyNow();
      const headers = flatHeaders(response.headers);
      const collected = await collectBody(response.body, headers, limits.max_response_bytes, spare).catch(
        (error: unknown) => {
          // A body that is here already would report its end as an error that nobody hears.
          response.body.on('error', () => {}).destroy();
          throw error;
        },
      );
      refuseUnknownCoding(headers, collected);
      const body = readText(collected, headers['content-type']);
      return { status: response.statusCode, headers, body, sentAt, headAt, url: request.url };
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason;
      if (deadline.signal.aborted) throw timedOut(request.url, 'to finish its response', error);
      throw explainFailure(request.url, error);
    } finally {
      clearTimeout(timer);
    }
  };

  return {
    /**
     * Any status is an answer; only a failed exchange throws, as transient SERVICE_UNREACHABLE, …_TIMEOUT, …_BROKEN.
     */
    send: async (request: HttpRequest) => {
      let current = request;
      for (let hop = 0; ; hop++) {
        const response = await exchange(current);
        const location = response.headers.location;
        if (!redirectStatus.has(response.status) || location === undefined) return response;
        const target = URL.canParse(location, current.url.href) ? new URL(location, current.url) : undefined;
        if (target?.origin !== request.url.origin || (request.method ?? 'GET') !== 'GET')
          throw terminal(
            'REDIRECT_REFUSED',
            `${request.url.host} redirected to ${target === undefined ? 'an unreadable address' : `another address (${target.origin})`}; ${request.method === 'POST' ? 'the client secret' : 'the token'} was not sent there.`,
          );
        if (hop === maxRedirects)
          throw terminal('REDIRECT_LOOP', `${request.url.host} redirected more than ${maxRedirects} times.`);
        current = { ...request, url: target };
      }
    },
    /** Takes the memory of a body that nobody reads any more. */
    spare,
    close: () => agent.close(),
  };
};

const flatHeaders = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat().join(', ')]));

const timedOut = (url: URL, what: string, cause: unknown): CallsyncError =>
  transient('SERVICE_TIMEOUT', `${url.host} took too long ${what}.`, { cause });

/** The error of a certificate that `isUntrusted` tells of. */
export const untrusted = (url: URL, code: string, cause: unknown): CallsyncError =>
  terminal('SERVICE_UNTRUSTED', `The TLS certificate of ${url.host} cannot be trusted (${code}).`, {
    cause,
    hint: /EXPIRED|NOT_YET|ALTNAME/.test(code)
      ? 'Check the address and the clock of this machine, and let that server get another certificate.'
      : 'Check the address; for a private certificate authority, set NODE_EXTRA_CA_CERTS.',
  });

const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return '';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  const [first] = error instanceof AggregateError ? error.errors : [];
  return codeOf(first ?? error.cause);
};

const explainFailure = (url: URL, error: unknown): CallsyncError => {
  if (error instanceof CallsyncError) return error;
  const code = codeOf(error);
  if (isUntrusted(code)) return untrusted(url, code, error);
  const timeout = timeouts.get(code);
  if (timeout !== undefined) return timedOut(url, timeout, error);
  const reason = unreachable.get(code);
  if (reason !== undefined) {
    const hint = 'Check the address, the network, HTTPS_PROXY and NO_PROXY, and whether the service is up.';
    return transient('SERVICE_UNREACHABLE', `${url.host} ${reason}.`, { cause: error, hint });
  }
  return transient(
    'SERVICE_BROKEN',
    `The connection to ${url.host} broke or its response was cut off${code === '' ? '' : ` (${code})`}.`,
    { cause: error },
  );
};

const timeouts = new Map([
  ['UND_ERR_HEADERS_TIMEOUT', 'to answer'],
  ['UND_ERR_BODY_TIMEOUT', 'between two parts of its response'],
]);

export const unreachable: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'refuses connections'],
  ['ENOTFOUND', 'cannot be found'],
  ['EAI_AGAIN', 'cannot be found'],
  // Of a proxy: callsync's own aborts are handled before.
  ['UND_ERR_ABORTED', 'is refused by the proxy'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'].map(
    (code) => [code, 'cannot be reached'] as const,
  ),
]);

/** Whether the host, of a URL or as it stands, is this machine: nobody else can reach it or listen on the way. */
export const isLoopback = (host: string): boolean => /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host);

/** @throws CallsyncError TOKEN_INSECURE for an address that would carry token or client secret unencrypted. */
export const refusePlainHttp = (url: URL, key: string, { allow_http }: Pick<SourceConfig, 'allow_http'>): void => {
  if (url.protocol !== 'http:' || isLoopback(url.hostname) || allow_http) return;
  throw terminal(
    'TOKEN_INSECURE',
    `${key} (${url.host}) is plain HTTP, so anyone on the network path could read token and client secret.`,
  );
};

// Response bodies: decoded, bounded, and collected outside the JavaScript heap.

/** Encodings that request headers offer. */
const acceptEncoding = 'gzip, br';

type Headers = Readonly<Record<string, string>>;

const codingOf = (headers: Headers): string => (headers['content-encoding'] ?? 'identity').trim().toLowerCase();

/** Undefined for a body that is taken as it came. */
const decoderOf = (coding: string) => {
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip();
  return coding === 'br' ? createBrotliDecompress() : undefined;
};

/** Some services name a charset as the coding of a plain body. @throws terminal RESPONSE_ENCODING */
const refuseUnknownCoding = (headers: Headers, body: Buffer): void => {
  const coding = codingOf(headers);
  if (/^(|identity|(x-)?gzip|br)$/.test(coding) || isUtf8(body)) return;
  throw terminal(
    'RESPONSE_ENCODING',
    `The service answered in the encoding “${coding.slice(0, 20)}”, which callsync did not request.`,
    { hint: `Configure the service to answer uncompressed or as one of: ${acceptEncoding}.` },
  );
};

/** Memory of a body that was freed. In another one, the first touch costs as much as the copy of a body. */
type Spare = { memory: ArrayBuffer };

/** Unused room costs address space, not memory; the next body, too, may then fit. */
const makeRoom = (bytes: number, spare: Spare): Buffer => {
  const { memory } = spare;
  if (bytes < 65_536) return Buffer.allocUnsafe(Math.max(1024, bytes));
  if (bytes > memory.byteLength || bytes < memory.byteLength / 4) return Buffer.allocUnsafe(Math.ceil(bytes * 1.25));
  spare.memory = new ArrayBuffer(0);
  return Buffer.from(memory);
};

/** Collects a body, decoded; a body beyond `maxBytes` is terminal RESPONSE_TOO_LARGE. */
const collectBody = async (source: Readable, headers: Headers, maxBytes: number, spare: Spare): Promise<Buffer> => {
  const decoder = decoderOf(codingOf(headers));
  const announced = Number(headers['content-length'] ?? Number.NaN);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const expected = decoder === undefined && Number.isFinite(announced) ? announced : 65_536;
  let room = makeRoom(expected, spare);
  let filled = 0;
  const body = decoder ?? source;
  // By events: an iterator joins the pieces that wait, and makes promises for each.
  body.on('data', (chunk: Buffer) => {
    if (filled + chunk.length > maxBytes) return void body.destroy(tooLarge(maxBytes));
    if (filled + chunk.length > room.length) {
      // In few, large steps, because each step copies.
      const larger = makeRoom(Math.max(filled + chunk.length, Math.min(maxBytes, room.length * 4)), spare);
      room.copy(larger, 0, 0, filled);
      // A smaller one may share its memory.
      if (room.length >= 65_536) structuredClone(undefined, { transfer: [room.buffer as ArrayBuffer] });
      room = larger;
    }
    chunk.copy(room, filled);
    filled += chunk.length;
  });
  // The source itself would be destroyed at a fault of the decoder, and tell of its end alone.
  const decoding = decoder && pipeline(source[Symbol.asyncIterator](), decoder);
  await Promise.all([decoding, finished(body)]).catch((error: NodeJS.ErrnoException) => {
    // Nothing at all is no broken stream.
    if (decoder === undefined || decoder.bytesWritten > 0 || error.code !== 'Z_BUF_ERROR') throw error;
  });
  return room.subarray(0, filled);
};

/** @throws terminal RESPONSE_ENCODING */
const readText = (body: Buffer, type = ''): Buffer => {
  const text = inUtf8(body, type);
  if (text !== undefined) return text;
  const hint = 'Configure the service to answer in UTF-8.';
  throw terminal('RESPONSE_ENCODING', `The service answered in the charset of “${type.slice(0, 60)}”.`, { hint });
};

const tooLarge = (maxBytes: number): Error =>
  terminal('RESPONSE_TOO_LARGE', `The service sent more than ${maxBytes} bytes in one response.`);

/** Local milliseconds that never jump, on the scale of Date.now(). */
export const steadyNow = (): number => performance.timeOrigin + performance.now();

/** The earliest that it can be by the service's clock, in microseconds; undefined while the service told no time. */
export const serviceNow = (clock: ServiceClock): number | undefined => {
  const offset = clock.offset();
  return offset === undefined ? undefined : Math.floor((steadyNow() + offset.low) * 1000);
};

export type ServiceClock = ReturnType<typeof createServiceClock>;

/** Clocks drift apart: the known offset widens by this share of the time since it was last narrowed. */
const drift = 100e-6;

/** @param allowedSkewMs how far ahead of arrival an observation may lie. */
export const createServiceClock = (allowedSkewMs: number) => {
  let known: { low: number; high: number; at: number } | undefined;

  const narrow = (low: number, high: number, at: number): { low: number; high: number } => {
    const before = known ?? { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY, at };
    const widening = (at - before.at) * drift;
    const merged = { low: Math.max(low, before.low - widening), high: Math.min(high, before.high + widening) };
    // No overlap: a clock was set, and earlier measurements are void.
    known = merged.low <= merged.high ? { ...merged, at } : { low, high, at };
    return known;
  };

  return {
    /**
     * Time of the service when the request was sent, in microseconds. A webhook made while the answer travels
     * therefore counts as newer. Without a usable Date header: the time of arrival. Of a cached answer: so much earlier as it is old,
     * because a cache may tell its own time.
     */
    observe: (answer: {
      /** Local milliseconds (`steadyNow`) at which the request was sent and the response head arrived. */
      readonly sentAt: number;
      readonly headAt: number;
      readonly date: string | undefined;
      /** Seconds since the service gave a cached answer. */
      readonly age?: string | undefined;
    }) => {
      const { sentAt, headAt, date, age } = answer;
      if (Number(age) > 0) return Math.round((sentAt + (known?.low ?? 0) - Number(age) * 1000) * 1000);
      // After a sleep of this machine, or where its clock was set, the steady time is behind.
      const arrivedAt = Math.max(headAt, Date.now());
      const second = date === undefined ? Number.NaN : Date.parse(date);
      if (Number.isNaN(second)) return Math.round(arrivedAt * 1000);
      const { low } = narrow(second - headAt, second + 1000 - sentAt, headAt);
      const sent = Math.min(sentAt + low, second + 999.999, arrivedAt + allowedSkewMs);
      return Math.round(sent * 1000);
    },
    /** Milliseconds by which the service's clock is ahead of ours: bounds, or undefined before the first Date. */
    offset: () => (known === undefined ? undefined : { low: known.low, high: known.high }),
  };
};
