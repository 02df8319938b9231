/** The call API: GET {base_url}/calls and GET {base_url}/calls/{unique_id}, in the chosen dialect. */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import type { Dialect } from '../../../schemas/simulator-dialect.ts';
import { mergeRaw, pathKeys, type Raw } from '../../lib/parse-json.ts';
import { everything } from '../calls/axis-index.ts';
import { fraction } from '../calls/random.ts';
import type { World } from '../calls/world.ts';
import { type Counters, countOne } from '../control/stats.ts';
import type { Exchange, HttpAnswer } from './exchange.ts';
import { errorAnswer, httpDate, injectFault, injectPoison, send, waitFor } from './exchange.ts';
import { BadQuery, formatCursor, type ListQuery, parseListQuery } from './list-query.ts';
import { type JoinRecords, listDocument } from './record-bytes.ts';
import type { TokenStore } from './token-endpoint.ts';

export type PageEvent = { readonly query: ListQuery; readonly page: Page; readonly callIds: readonly string[] };

interface CallApiParts {
  readonly world: World;
  readonly tokens: TokenStore;
  readonly limiter: RateLimiter;
  readonly records: JoinRecords;
  readonly dialect: () => Dialect;
  /** Once a page is made and before its bytes leave, so before any next request: calls may come and go. */
  readonly onPage: (event: PageEvent) => void | Promise<void>;
}

/** An object with a value at a dotted path. */
const nested = (path: string, value: unknown): Raw =>
  pathKeys(path).reduceRight((inner, key) => ({ [key]: inner }), value) as Raw;

const marker = '"@records@"';

/** The body around the records, as the text before and after them. */
const envelope = (dialect: Dialect, total: number, cursor: string | undefined, isPartial: boolean) => {
  if (dialect.records === '') return [Buffer.from('['), Buffer.from(']')] as const;
  let body: Raw = isPartial ? { error: { code: 'TIMEOUT' } } : {};
  const { paging } = dialect;
  if (dialect.totalPath !== undefined) body = mergeRaw(body, nested(dialect.totalPath, total));
  if (paging.style === 'cursor' && paging.bodyPath !== undefined)
    body = mergeRaw(body, nested(paging.bodyPath, cursor ?? null));
  const whole = mergeRaw(body, nested(dialect.records, ['@records@']));
  const [before = '', after = ''] = JSON.stringify(whole).split(marker);
  return [Buffer.from(before), Buffer.from(after)] as const;
};

const pageHeaders = (exchange: Exchange, { paging, totalHeader }: Dialect, page: Page, cursor: string | undefined) => {
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
  const { listDelayMs, capAfter, capBytes = Number.POSITIVE_INFINITY, partialShare } = settings.quirks;
  const query = parseListQuery(dialect, exchange.url.searchParams);
  if (listDelayMs > 0) await waitFor(listDelayMs);
  const at = answeredAt(exchange, world, number);
  const capped = number < capAfter ? { ...dialect, cap: undefined } : dialect;
  const page = selectPage(world, query, { settings, dialect: capped, at, number });
  if (await injectPoison(exchange, page.indices, query.exclude.has('transcript_json'), false)) return;
  if (page.hasExpired) throw new BadQuery('the cursor has expired');
  const cursor = page.next === undefined ? undefined : formatCursor(query, page.next);
  const isPartial = dialect.records !== '' && fraction(settings.seed, number, 67) < partialShare;
  const [before, after] = envelope(dialect, page.total, cursor, isPartial);
  let indices = isPartial ? page.indices.slice(0, page.indices.length / 2) : page.indices;
  let joined = records(indices, query.exclude, at);
  while (joined.reduce((sum, { length }) => sum + length, 0) > capBytes) {
    indices = indices.slice(0, -1);
    joined = records(indices, query.exclude, at);
  }
  const body = [before, ...joined, after];
  exchange.counters.requests.records += indices.length;
  await parts.onPage({ query, page, callIds: indices.map((index) => world.idOf(index)) });
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

const refuseToken = (exchange: Exchange, tokens: TokenStore, dialect: Dialect): HttpAnswer | undefined => {
  const header = exchange.request.headers.authorization ?? '';
  const [scheme = '', token = ''] = header.split(' ');
  const state = scheme.toLowerCase() !== dialect.scheme.toLowerCase() ? 'absent' : tokens.check(token);
  if (state === 'valid') return undefined;
  countOne(exchange.counters.tokens.rejected, state);
  const answer = errorAnswer(dialect.errors, 401, 'Unauthorized', `token ${state}`);
  return { ...answer, headers: { 'WWW-Authenticate': dialect.scheme === 'bearer' ? 'Bearer' : dialect.scheme } };
};

const refuseRate = (exchange: Exchange, limiter: RateLimiter, dialect: Dialect): HttpAnswer | undefined => {
  const { granted, remaining, waitMs } = limiter(exchange.source);
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
  if (await injectFault(exchange, callId === undefined ? 'list' : 'call', number)) return;
  const refuse = (status: number, title: string, detail: string): Promise<void> =>
    send(exchange, errorAnswer(dialect.errors, status, title, detail));
  if (exchange.request.method !== 'GET') return refuse(405, 'Method Not Allowed', 'use GET');
  if (path === undefined) return refuse(400, 'Bad Request', 'this version of the call API is not available to you');
  if (callId !== undefined) return answerCall(exchange, parts, dialect, decodeURIComponent(callId), number);
  if (path !== '/calls') return refuse(404, 'Not Found', 'no such path');
  try {
    await answerList(exchange, parts, dialect, number);
  } catch (error) {
    if (!(error instanceof BadQuery)) throw error;
    await refuse(400, 'Bad Request', error.message);
  }
};

// Finds the calls of one page.

type Page = ReturnType<typeof selectPage>;

interface PageOptions {
  readonly settings: SimulatorSettings;
  readonly dialect: Dialect;
  /** Simulated time whose state is shown. */
  readonly at: number;
  /** Number of the request, which chooses records as the seed does. */
  readonly number: number;
}

type Entry = readonly [key: number, index: number];

/** Arranges all calls that match, then cuts. */
const selectPage = (world: World, query: ListQuery, options: PageOptions) => {
  const { settings, dialect, at } = options;
  const { seed, quirks } = settings;
  const { doubledShare, gaps, countLagSeconds, totals } = quirks;
  const namesOf = (time: number): Entry[] =>
    listMatches(world, query, settings, time).flatMap((entry) =>
      fraction(seed, entry[1], 62) < doubledShare ? [entry, entry] : [entry],
    );
  const entries = arrange(namesOf(at), options);
  const counted = countLagSeconds === 0 ? entries.length : namesOf(at - countLagSeconds * 1_000).length;
  // An omitted record still takes its place on the page.
  const placed = entries.flatMap(
    (entry): Placed =>
      fraction(seed, entry[1], 63) < gaps.share ? [entry, ...Array<undefined>(gaps.records)] : [entry],
  );
  const reachable = placed.slice(0, dialect.cap);
  const first = findFirst(reachable, query, options);
  const page = first < 0 ? [] : reachable.slice(first, first + sizeOf(query, options));
  const shown = page.filter((entry) => entry !== undefined);
  const matching = dialect.capTotal === 'capped' ? Math.min(counted, dialect.cap ?? counted) : counted;
  return {
    indices: shown.map((entry) => entry[1]),
    /** Number of matches that the service reports. */
    total: {
      true: matching,
      half: Math.ceil(matching / 2),
      double: 2 * matching,
      page: shown.length,
      all: world.count,
      rest: Math.max(0, matching - query.offset),
    }[totals],
    ...leadOn(shown.at(-1), first >= 0 && first + page.length < reachable.length, query, options),
  };
};

/** Entries in their places, with the places of omitted records. */
type Placed = (Entry | undefined)[];

const arrange = (entries: Entry[], { settings, dialect, number }: PageOptions): Entry[] => {
  const tie = (entry: Entry): number => fraction(number, entry[1], 70);
  if (settings.quirks.order === 'random') entries.sort((a, b) => tie(a) - tie(b));
  else if (settings.unstableTies) entries.sort((a, b) => a[0] - b[0] || tie(a) - tie(b));
  return dialect.newestFirst ? entries.reverse() : entries;
};

/** The place of the first record of a page; -1 behind the last one. */
const findFirst = (reachable: Placed, { after, offset, size }: ListQuery, { settings, dialect }: PageOptions) => {
  const { pagesMost = Number.POSITIVE_INFINITY, pageRepeats } = settings.quirks;
  if (offset >= pagesMost * size) return -1;
  if (after === undefined) return Math.max(0, offset - pageRepeats);
  return reachable.findIndex((entry) => {
    if (entry === undefined) return false;
    const distance = entry[0] - after[0] || entry[1] - after[1];
    return dialect.newestFirst ? distance < 0 : distance > 0;
  });
};

const sizeOf = ({ size }: ListQuery, { settings: { seed, quirks }, number }: PageOptions): number => {
  const asked = fraction(seed, number, 64) < quirks.pageVaries ? Math.ceil(size / 2) : size;
  return Math.min(asked, quirks.pageMost ?? asked);
};

/**
 * `next` = where the cursor of a page leads, behind its last shown record, undefined on the last page.
 * `hasExpired` = the cursor that led here has expired.
 */
const leadOn = (last: Entry | undefined, isMore: boolean, { after }: ListQuery, { settings, dialect }: PageOptions) => {
  const { seed, quirks } = settings;
  const { cursors } = quirks;
  const isTrouble = after !== undefined && fraction(seed, after[1], 65) < 0.1;
  const isLost = cursors === 'lost' && fraction(seed, last?.[1] ?? 0, 66) < 0.1;
  const hasExpired = isTrouble && cursors === 'expired';
  if (isMore && !isLost) return { next: isTrouble && cursors === 'same' ? after : last, hasExpired };
  // Another cursor each time, for the same place.
  const endless: Entry | undefined = after && [after[0], after[1] + (dialect.newestFirst ? -1e-6 : 1e-6)];
  return { next: cursors === 'endless' ? (last ?? endless) : undefined, hasExpired };
};

const otherAxis = { timestamp: 'qualified', qualified: 'timestamp' } as const;

/** The calls of a query in ascending order, as they were listed at a simulated time. */
const listMatches = (world: World, query: ListQuery, { staticPages }: SimulatorSettings, at: number): Entry[] => {
  const { axis, ranges, statuses } = query;
  const other = otherAxis[axis];
  const within = ranges[other];
  const isPlain = within === everything && statuses === undefined;
  const found: Entry[] = [];
  const isWanted = (index: number): boolean => {
    if (!staticPages && !world.isListed(index, at)) return false;
    if (isPlain) return true;
    const { [other]: time, status } = world.placeOf(index);
    const isWithin = time >= within.from && (within.toInclusive ? time <= within.to : time < within.to);
    return isWithin && statuses?.has(status) !== false;
  };
  world.axes[axis].scan(ranges[axis], (index, key) => {
    if (isWanted(index)) found.push([key, index]);
    return true;
  });
  return found;
};

// The documented limit: a number of requests per source address in any window of time, exactly, in real time.

type RateLimiter = ReturnType<typeof createRateLimiter>;

/** Counts the requests of each address, and refuses those above the limit. */
export const createRateLimiter = (settings: SimulatorSettings, { rate }: Pick<Counters, 'rate'>) => {
  const grantedTo = new Map<string, number[]>();
  return (source: string) => {
    const { requests, seconds } = settings.rateLimit;
    const now = performance.now();
    const recent = (grantedTo.get(source) ?? []).filter((at) => at > now - seconds * 1_000);
    const off = requests === 0 || settings.staticPages;
    const granted = off || recent.length < requests;
    if (granted) recent.push(now);
    grantedTo.set(source, recent);
    if (granted) {
      rate.granted++;
      rate.windowMax = Math.max(rate.windowMax, recent.length);
    } else rate.refused++;
    const decisive = recent.at(-requests);
    return {
      granted,
      remaining: Math.max(0, requests - recent.length),
      /** Milliseconds until the next request would be granted. */
      waitMs: decisive === undefined || off ? 0 : Math.max(0, decisive + seconds * 1_000 - now),
    };
  };
};
