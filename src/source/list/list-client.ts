/** The call list, page by page (interface §4.2): memory is bound by one page and the one fetched ahead of it. */
import type { ListConfig } from '../../../schemas/config/list.ts';
import { CallsyncError, terminal, transient } from '../../lib/errors.ts';
import { parseQuietly, valueAt } from '../../lib/parse-json.ts';
import type { Micros } from '../../lib/timestamps.ts';
import type { Api, GetOptions } from '../http/api.ts';
import type { HttpResponse } from '../http/http.ts';
import { emptyPage, type PageBody, readPageBody } from '../json/page-body.ts';
import { createPagination, type PageRequest } from '../pagination/pagination.ts';
import { type ListQuery, listParams } from './list-query.ts';
import { createMemoryLimit, type Permit } from './memory-limit.ts';
import { isEmpty } from './observe.ts';

export type Page = Awaited<ReturnType<typeof fetchPage>> & {
  /** The page counts as held until its consumer says that it is done, and whether nothing reads its records any more. */
  readonly keep?: () => (isUnread: boolean) => void;
};

export type ListClient = ReturnType<typeof createListClient>;

export type AskOptions = Pick<ListQuery, 'signal' | 'retries'>;

const [fewestAtEnd, mostAtEnd] = [2, 20];

/** Facts learned while reading, such as a cap that the service does not tell; so far none. */
const learnNothing = () => ({
  /** Most records that one query was seen to give although there were more. */
  cap: undefined as number | undefined,
  /** Rows of the last query that gave fewer than its total said, while its halves named more. */
  short: undefined as number | undefined,
  /** Most rows of a query that no cap cut. */
  records: 0,
  /** Most bytes of such a query. */
  bytes: 0,
  /** The largest total of a query. */
  total: 0,
  /** By axis: the longest window, in microseconds, that showed a call at its beginning or its end, wherever asked. */
  length: new Map<string, Micros>(),
  /** By axis: the first and last call of a window. */
  span: new Map<string, { first: Micros; last: Micros; firstId: string; lastId: string }>(),
  /** Most records that came on one page. */
  page: 0,
  /** Records came whose times say nothing of the window in which they are. */
  undated: false,
  /** The longest window worth asking for, in microseconds: the list refused one of twice its length, and not its parts. */
  longest: Number.POSITIVE_INFINITY,
  /** A list ended at its total. The total therefore counts rows, and callsync asks for no page behind it. */
  totalIsProven: false,
  /**
   * So many empty pages in a row end a list. Higher for a service that removes records after it has cut its pages, so
   * that records follow a page that is not full. Forgotten slowly, because a call that came just then looks the same.
   */
  emptyAtEnd: fewestAtEnd,
  /** The lowest that it falls to: above `fewestAtEnd` once half a page was missing amid a list. No new call looks like that. */
  leastAtEnd: fewestAtEnd,
});

type LearnedFacts = ReturnType<typeof learnNothing>;

/** Whether pages of this list lately had gaps: then rows that come again may stand for others that were passed over. */
export const hasGaps = ({ emptyAtEnd }: LearnedFacts): boolean => emptyAtEnd > fewestAtEnd;

/** Possible answers of a service to a page after the last one. */
const beyondTheEnd = [400, 404, 416, 422];

/** A page size that does not divide `count`, so that a page of it reaches across; smaller than `size` where it can be. */
const findOtherSize = (count: number, size: number): number => {
  for (let other = size - 1; other > 1; other--) if (count % other !== 0) return other;
  let larger = Math.max(2, size + 1);
  while (count % larger === 0) larger++;
  return larger;
};

/** Asks for one page, and notes how many records a page can have. */
const createAsk = (api: Api, list: ListConfig, learned: LearnedFacts) => {
  let shapeProven = false;
  return async ({ signal, retries, ...query }: ListQuery, request: PageRequest, more: GetOptions) => {
    const params = [...listParams(list, query), ...Object.entries(request.params)];
    const url = request.url === undefined ? api.address(list.path, params) : new URL(request.url);
    const parse = async (response: HttpResponse): Promise<PageBody> =>
      response.status >= 400 ? emptyPage(undefined) : await readAnswer(response, list, shapeProven);
    const answer = await api.get(url, parse, { signal, retries, ...more });
    shapeProven = true;
    learned.page = Math.max(learned.page, answer.value.count);
    return { ...answer, url, isRefused: answer.response.status >= 400 };
  };
};

interface Asking {
  readonly list: ListConfig;
  readonly pagination: ReturnType<typeof createPagination>;
  readonly learned: LearnedFacts;
  readonly ask: ReturnType<typeof createAsk>;
}

/**
 * Whether the list ends before a refused page: one of another size that reaches beyond that place says so by holding
 * no further record. Undefined where no other size can be asked for.
 */
const endsBefore = async (
  { pagination, ask, learned }: Asking,
  query: ListQuery,
  request: PageRequest,
  behind: number,
) => {
  const known = request.known ?? request.offset;
  const size = findOtherSize(known, behind);
  const other = pagination.at?.(known - (known % size), size);
  if (other === undefined) return undefined;
  const { isRefused, value } = await ask(query, other, { accept: beyondTheEnd });
  if (isRefused || value.count > known % size) return false;
  // A page of this size was never seen: the service may give no more records.
  return size <= learned.page || undefined;
};

/** @param before total that came with the page before; its own is the one that matched the query when it was made. */
const fetchPage = async (asking: Asking, query: ListQuery, request: PageRequest, before?: number) => {
  const { list, learned, ask } = asking;
  const isAtTotal = request.index > 0 && (request.known ?? request.offset) === before;
  const { emptyBefore = 0 } = request;
  const behind = isAtTotal || emptyBefore > 0 ? undefined : request.behind;
  const accept = isAtTotal || emptyBefore > 0 || behind !== undefined ? beyondTheEnd : [];
  const answer = await ask(query, request, { accept, askAgain: behind !== undefined });
  const { response, value, observedAt, url, isRefused } = answer;
  const isShownEnd = isRefused && behind !== undefined ? await endsBefore(asking, query, request, behind) : false;
  if (isShownEnd === false && isRefused && behind !== undefined) throw refusedAmid(url);
  const fullPage = Math.min(request.size ?? Number.POSITIVE_INFINITY, learned.page);
  const isEmpty = value.count <= (query.overlap ?? 0);
  const { emptyAtEnd } = learned;
  if (!isEmpty && behind !== undefined && behind + Math.max(5, behind) <= fullPage)
    learned.leastAtEnd = fewestAtEnd + 1;
  if (!isEmpty && (emptyBefore > 0 || (behind ?? fullPage) < fullPage)) learned.emptyAtEnd = mostAtEnd;
  else if (isEmpty && emptyBefore + 1 >= emptyAtEnd) learned.emptyAtEnd = Math.max(learned.leastAtEnd, emptyAtEnd - 1);
  return {
    ...value,
    request,
    url,
    total: readTotalOf(list, value.envelope, response),
    observedAt,
    emptyAtEnd,
    index: request.index,
    /** As many records as asked for, or as the largest page so far. */
    isFull: value.count >= fullPage,
    /** The service refused it, as it may refuse pages beyond the end. */
    isRefused,
    /** Records on the page before, where only refusals say that the list ends there. */
    refusedBehind: isShownEnd === undefined ? behind : undefined,
    totalIsProven: learned.totalIsProven,
    headers: response.headers,
    isShownEnd: isShownEnd === true,
    receivedAt: new Date(),
  };
};

/**
 * Reads one configured list.
 * @throws CallsyncError LIST_…, from its methods, for answers that the list must not give.
 */
export const createListClient = (api: Api, list: ListConfig) => {
  const pagination = createPagination(list.pagination);
  const { at } = pagination;
  const limit = createMemoryLimit();
  const learned = learnNothing();
  const asking = { list, pagination, learned, ask: createAsk(api, list, learned) };

  return {
    list,
    counts: api.counts,
    pageSize: pagination.size,
    seekable: pagination.seekable,
    learned,
    readPages: (query: ListQuery) => readAhead(limit, asking, query),
    /** Total that matches a query for the price of one small request; undefined if the service offers none. */
    readTotal: async (query: ListQuery) => {
      if (list.total_path === undefined && list.total_header === undefined) return undefined;
      try {
        const page = await fetchPage(asking, { ...query, summary: true }, pagination.first(1));
        learned.total = Math.max(learned.total, page.total ?? 0);
        return page.total;
      } catch (error) {
        // The answer's only record may cause its failure, or the length of the window; reading the window finds out.
        if (isPoison(error) || isRefusal(error)) return undefined;
        throw error;
      }
    },
    /** `size` rows from `offset` on, a multiple of `size`; absent where the style cannot be asked for them. */
    readRows: at && ((query: ListQuery, offset: number, size: number) => fetchPage(asking, query, at(offset, size))),
    /** One call by its id; undefined when the service does not know it (404) or has no such endpoint. */
    fetchCall: async (callId: string, options: AskOptions = {}) => {
      if (list.single_path === undefined) return undefined;
      const url = api.address(list.single_path.replace('{unique_id}', encodeURIComponent(callId)), []);
      const { response, value, observedAt } = await api.get(url, parseSingle, { ...options, accept: [404] });
      if (response.status === 404) return undefined;
      return { record: value, bytes: response.body, observedAt, receivedAt: new Date() };
    },
  };
};

type Fetched = { readonly permit: Permit; readonly answer: Promise<Page> };

/** The next page is fetched ahead where two fit; otherwise once the one before is released. */
async function* readAhead(limit: ReturnType<typeof createMemoryLimit>, asking: Asking, query: ListQuery) {
  const { pagination } = asking;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(query.signal ? [query.signal] : [])]);
  const guarded = { ...query, signal };
  const kind = query.summary ? 'summary' : 'whole';
  const asked = new Set<string>();
  const permits = new Set<Permit>();
  const start = (request: PageRequest, permit: Permit, before?: number): Fetched => {
    permits.add(permit);
    const key = `${request.url ?? ''}${JSON.stringify(request.params)}`;
    const answer = asked.has(key) ? Promise.reject(loops()) : fetchPage(asking, guarded, request, before);
    asked.add(key);
    // The caller that awaits it gets the failure; until then it must not count as unhandled.
    answer.then((page) => permit.fill(page.size)).catch(() => undefined);
    return { permit, answer };
  };
  const release = (permit: Permit): void => {
    permit.release();
    permits.delete(permit);
  };
  try {
    let next: PageRequest | undefined = pagination.first(query.pageSize);
    let ahead: Fetched | undefined;
    let total: number | undefined;
    let isBehindRefused = false;
    while (next !== undefined) {
      const { permit, answer }: Fetched = ahead ?? start(next, await limit.acquire(kind, signal), total);
      const page = await answer;
      if (isBehindRefused && page.count > 0) throw refusedAmid(page.url);
      isBehindRefused = page.isRefused;
      total = page.total;
      next = pagination.next(page, query.overlap ?? 0);
      const free: Permit | undefined = next === undefined ? undefined : limit.tryAcquire(kind);
      ahead = next === undefined || free === undefined ? undefined : start(next, free, total);
      let isKept = false;
      const done = (isUnread: boolean): void => {
        if (isUnread) page.free?.();
        release(permit);
      };
      const keep = () => {
        isKept = true;
        return done;
      };
      yield { ...page, keep };
      if (isKept) continue;
      page.dispose();
      release(permit);
    }
  } finally {
    for (const permit of permits) permit.release();
    stop.abort();
  }
}

/** The error of a list that would be read for ever. */
export const loops = (): CallsyncError =>
  terminal('LIST_LOOP', 'The list returns the same page again and again.', {
    hint: 'Check source.list.pagination, or run `callsync probe`.',
  });

/** A refused page ends a list only where something else says so too. */
const refusedAmid = (url: URL): CallsyncError =>
  transient(
    'LIST_FAILED',
    `The list of ${url.host} refuses a page, and callsync cannot show that the list ends there.`,
    {
      hint: 'callsync retries automatically. If the error persists, contact the operator of the service.',
    },
  );

const readAnswer = async (response: HttpResponse, list: ListConfig, shapeProven: boolean): Promise<PageBody> => {
  if (response.status === 204) return emptyPage(undefined);
  const read = await readPageBody(response.body, list.records);
  if (read === 'malformed')
    throw transient('LIST_MALFORMED', `The list of ${response.url.host} is not valid JSON.`, {
      hint: 'callsync retries automatically. If the error persists, check source.base_url and source.list.path.',
    });
  if (read !== 'no_array') {
    if (!saysFailed(read.envelope)) return read;
    throw transient('LIST_FAILED', `The list of ${response.url.host} answers ${response.status} with an error.`, {
      hint: 'callsync retries automatically. If the error persists, contact the operator of the service.',
    });
  }
  const where =
    list.records === '' ? 'the response is not an array of records' : `there is no array at “${list.records}”`;
  const message = `The list of ${response.url.host} has another shape than configured: ${where}.`;
  const hint = 'Check source.list.records, or run `callsync probe`.';
  throw shapeProven ? transient('LIST_SHAPE', message, { hint }) : terminal('LIST_SHAPE', message, { hint });
};

/** Whether a document holds an error. Some services answer errors with 200, also beside some of the records. */
const saysFailed = (envelope: unknown): boolean =>
  ['success', 'ok'].some((name) => valueAt(envelope, name) === false) ||
  ['error', 'errors'].some((name) => Boolean(valueAt(envelope, name)) && !isEmpty(valueAt(envelope, name))) ||
  ['status', 'code', 'statusCode'].some((name) =>
    /^((?!404)[45]\d\d|error|fail.*)$/i.test(String(valueAt(envelope, name))),
  );

const readTotalOf = (list: ListConfig, envelope: unknown, response: HttpResponse): number | undefined => {
  const { total_header: header, total_path: path } = list;
  const inBody = path === undefined ? undefined : valueAt(envelope, path);
  const found = header === undefined ? inBody : response.headers[header.toLowerCase()];
  const total = typeof found === 'string' && /^\s*\d{1,12}\s*$/.test(found) ? Number(found) : found;
  return typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 ? total : undefined;
};

const parseSingle = (response: HttpResponse): unknown => {
  if (response.status === 404) return undefined;
  const value = parseQuietly(response.body);
  if (value === undefined)
    throw transient('LIST_MALFORMED', `A single call of ${response.url.host} is not valid JSON.`);
  return value;
};

const poison = /^(SERVICE_(UNAVAILABLE|BROKEN|TIMEOUT)|LIST_(FAILED|MALFORMED)|RESPONSE_TOO_LARGE)$/;

/** Whether the service refuses a question: it may answer one about a shorter window. */
export const isRefusal = (error: unknown): error is CallsyncError =>
  error instanceof CallsyncError && (error.code === 'LIST_REFUSED' || error.code === 'SERVICE_REFUSED');

/** Whether a failure may be due to single records of the answer: a smaller question may then succeed. */
export const isPoison = (error: unknown): error is CallsyncError =>
  error instanceof CallsyncError && poison.test(error.code);
