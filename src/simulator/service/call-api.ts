/** The call API: GET {base_url}/calls and GET {base_url}/calls/{unique_id}, in the chosen dialect. */
import type { Dialect } from '../../../schemas/simulator-dialect.ts';
import type { World } from '../calls/world.ts';
import { countOne } from '../control/stats.ts';
import { type Answer, type Exchange, errorAnswer, httpDate, send, waitFor } from './exchange.ts';
import { injectFault, injectPoison } from './inject-fault.ts';
import { BadQuery, formatCursor, type ListQuery, parseListQuery } from './list-query.ts';
import type { RateLimiter } from './rate-limiter.ts';
import type { RecordBytes } from './record-bytes.ts';
import { listDocument } from './record-shape.ts';
import { type Page, selectPage } from './select-page.ts';
import type { TokenStore } from './token-endpoint.ts';

export interface PageEvent {
  readonly query: ListQuery;
  readonly page: Page;
  readonly callIds: readonly string[];
}

export interface CallApiParts {
  readonly world: World;
  readonly tokens: TokenStore;
  readonly limiter: RateLimiter;
  readonly records: RecordBytes;
  readonly dialect: () => Dialect;
  /** Origin of the other host that redirects point to. */
  readonly elsewhere: () => Promise<string>;
  /** Once a page is made and before its bytes leave, so before any next request: calls may come and go. */
  readonly onPage: (event: PageEvent) => void | Promise<void>;
}

/** Sets a value at a dotted path. */
const nest = (body: Record<string, unknown>, path: string, value: unknown): void => {
  const names = path.split('.');
  let at = body;
  for (const name of names.slice(0, -1)) {
    at[name] ??= {};
    at = at[name] as Record<string, unknown>;
  }
  at[names.at(-1) as string] = value;
};

const marker = '"@records@"';

/** The body around the records, as the text before and after them. */
const envelope = (dialect: Dialect, total: number, cursor: string | undefined): readonly [Buffer, Buffer] => {
  if (dialect.records === '') return [Buffer.from('['), Buffer.from(']')];
  const body: Record<string, unknown> = {};
  const { paging } = dialect;
  if (dialect.totalPath !== undefined) nest(body, dialect.totalPath, total);
  if (paging.style === 'cursor' && paging.bodyPath !== undefined) nest(body, paging.bodyPath, cursor ?? null);
  nest(body, dialect.records, ['@records@']);
  const [before = '', after = ''] = JSON.stringify(body).split(marker);
  return [Buffer.from(before), Buffer.from(after)];
};

const pageHeaders = (
  exchange: Exchange,
  dialect: Dialect,
  page: Page,
  cursor: string | undefined,
): Record<string, string> => {
  const { paging, totalHeader } = dialect;
  const headers: Record<string, string> = {};
  if (totalHeader !== undefined) headers[totalHeader] = String(page.total);
  if (cursor === undefined) return headers;
  if (paging.style === 'cursor' && paging.header !== undefined) headers[paging.header] = cursor;
  if (paging.style === 'link') {
    const { url, request } = exchange;
    const next = new URLSearchParams(url.searchParams);
    next.set(paging.cursor, cursor);
    const origin = paging.form === 'absolute' ? `http://${request.headers.host}` : '';
    headers.Link = `<${origin}${url.pathname}>; rel="first", <${origin}${url.pathname}?${next}>; rel="next"`;
  }
  return headers;
};

/** The simulated time whose state a request sees: now, or that of the late replica. */
const answeredAt = ({ settings }: Exchange, world: World, number: number): number =>
  world.now() - (number % 2 === 1 ? settings.quirks.replicaLateSeconds * 1_000 : 0);

const answerList = async (exchange: Exchange, parts: CallApiParts, dialect: Dialect, number: number): Promise<void> => {
  const { world, records } = parts;
  const { settings } = exchange;
  const { countLagSeconds, listDelayMs } = settings.quirks;
  const query = parseListQuery(dialect, exchange.url.searchParams);
  if (listDelayMs > 0) await waitFor(listDelayMs);
  const at = answeredAt(exchange, world, number);
  const page = selectPage(world, query, {
    dialect,
    at,
    countAt: at - countLagSeconds * 1_000,
    frozen: settings.staticPages,
    tieSeed: settings.unstableTies ? number : undefined,
    quirks: settings.quirks,
    seed: settings.seed,
    number,
  });
  if (await injectPoison(exchange, page.indices, query.exclude.has('transcript_json'), false)) return;
  if (page.hasExpired) throw new BadQuery('the cursor has expired');
  const cursor = page.next === undefined ? undefined : formatCursor(query, page.next);
  const [before, after] = envelope(dialect, page.total, cursor);
  const body = [before, ...records.join(page.indices, query.exclude, at), after];
  exchange.counters.requests.records += page.indices.length;
  await parts.onPage({ query, page, callIds: page.indices.map((index) => world.idOf(index)) });
  await send(exchange, { status: 200, headers: pageHeaders(exchange, dialect, page, cursor), body });
};

const answerCall = async (
  exchange: Exchange,
  { world }: CallApiParts,
  dialect: Dialect,
  callId: string,
  number: number,
): Promise<void> => {
  const { settings } = exchange;
  const index = world.indexOf(callId);
  const at = answeredAt(exchange, world, number);
  const listed = index !== undefined && (settings.staticPages || world.isListed(index, at));
  if (!listed || !dialect.single) return send(exchange, errorAnswer(dialect.errors, 404, 'Not Found', 'no such call'));
  if (await injectPoison(exchange, [index], false, true)) return;
  const document = listDocument(world, settings, index, world.versionAt(index, at));
  exchange.counters.requests.records++;
  return send(exchange, { status: 200, body: [Buffer.from(JSON.stringify(document))] });
};

/** The path below the version, or undefined when the request does not select the version that is served. */
const servedPath = ({ url, request }: Exchange, { version }: Dialect): string | undefined => {
  switch (version.by) {
    case 'path':
      return url.pathname.startsWith(`${version.prefix}/`) ? url.pathname.slice(version.prefix.length) : undefined;
    case 'header':
      return request.headers[version.name.toLowerCase()] === version.value ? url.pathname : undefined;
    case 'query':
      return url.searchParams.get(version.name) === version.value ? url.pathname : undefined;
    default:
      return url.pathname;
  }
};

const refuseToken = (exchange: Exchange, tokens: TokenStore, dialect: Dialect): Answer | undefined => {
  const header = exchange.request.headers.authorization ?? '';
  const [scheme = '', token = ''] = header.split(' ');
  const state = scheme.toLowerCase() !== dialect.scheme.toLowerCase() ? 'absent' : tokens.check(token);
  if (state === 'valid') return undefined;
  countOne(exchange.counters.tokens.rejected, state);
  const answer = errorAnswer(dialect.errors, 401, 'Unauthorized', `token ${state}`);
  return { ...answer, headers: { 'WWW-Authenticate': dialect.scheme === 'bearer' ? 'Bearer' : dialect.scheme } };
};

const refuseRate = (exchange: Exchange, limiter: RateLimiter, dialect: Dialect): Answer | undefined => {
  const { granted, remaining, waitMs } = limiter.ask(exchange.source);
  const { requests, retryAfter, headers } = exchange.settings.rateLimit;
  const reset = Math.ceil(waitMs / 1_000);
  if (headers) {
    exchange.response.setHeader('X-RateLimit-Limit', String(requests));
    exchange.response.setHeader('X-RateLimit-Remaining', String(remaining));
    exchange.response.setHeader('X-RateLimit-Reset', String(reset));
  }
  if (granted) return undefined;
  const answer = errorAnswer(dialect.errors, 429, 'Too Many Requests', 'rate limit exceeded');
  if (retryAfter === 'none') return answer;
  const date = httpDate(Math.ceil((exchange.clock.now() + waitMs) / 1_000) * 1_000);
  return { ...answer, headers: { 'Retry-After': retryAfter === 'seconds' ? String(Math.max(1, reset)) : date } };
};

/** Answers a request to the call API; `number` counts such requests from 0 and seeds its faults. */
export const answerCallApi = async (exchange: Exchange, parts: CallApiParts, number: number): Promise<void> => {
  const dialect = parts.dialect();
  const path = servedPath(exchange, dialect);
  const callId = path === undefined ? undefined : /^\/calls\/([^/]+)$/.exec(path)?.[1];
  exchange.counters.requests[callId === undefined ? 'list' : 'call']++;
  const early = refuseRate(exchange, parts.limiter, dialect) ?? refuseToken(exchange, parts.tokens, dialect);
  if (early !== undefined) return send(exchange, early);
  if (await injectFault(exchange, callId === undefined ? 'list' : 'call', number, parts.elsewhere)) return;
  if (exchange.request.method !== 'GET') {
    return send(exchange, errorAnswer(dialect.errors, 405, 'Method Not Allowed', 'use GET'));
  }
  if (path === undefined) {
    return send(
      exchange,
      errorAnswer(dialect.errors, 400, 'Bad Request', 'this version of the call API is not available to you'),
    );
  }
  if (callId !== undefined) return answerCall(exchange, parts, dialect, decodeURIComponent(callId), number);
  if (path !== '/calls') return send(exchange, errorAnswer(dialect.errors, 404, 'Not Found', 'no such path'));
  try {
    await answerList(exchange, parts, dialect, number);
  } catch (error) {
    if (!(error instanceof BadQuery)) throw error;
    await send(exchange, errorAnswer(dialect.errors, 400, 'Bad Request', error.message));
  }
};
