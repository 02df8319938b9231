/** The call list, page by page (interface §4.2): memory is bound by one page and the one fetched ahead of it. */
import { EventEmitter, once } from 'node:events';
import type { ListConfig } from '../../../schemas/config/list.ts';
import { type CallsyncError, terminal, transient } from '../../lib/errors.ts';
import type { Memory } from '../../lib/evidence.ts';
import { parseQuietly, valueAt } from '../../lib/parse-json.ts';
import type { Api, GetOptions } from '../http/api.ts';
import { findsNothing, isPoison, isRefusal } from '../http/errors.ts';
import type { HttpResponse } from '../http/http.ts';
import { createFacts, type Facts, type KeptFacts, type Learned } from './facts.ts';
import { saysFailed } from './failed-answer.ts';
import { type ListQuery, listParams } from './list-query.ts';
import { emptyPage, type PageBody, readPageBody } from './page-body.ts';
import { createPagination, type PageRequest } from './pagination.ts';

type SinglePage = Awaited<ReturnType<typeof fetchPage>>;

export type Page = SinglePage & {
  /** The page counts as held until its consumer says that it is done, and whether nothing reads its records any more. */
  readonly keep?: () => (isUnread: boolean) => void;
};

export type ListClient = ReturnType<typeof createListClient>;

export type AskOptions = Pick<ListQuery, 'signal' | 'retries'>;

/** Only so many rows from a place on, a multiple of their number, as one page. */
export type Rows = readonly [offset: number, size: number];

/** Possible answers of a service to a page after the last one. */
const beyondTheEnd = [400, 404, 416, 422];

/** A page size that does not divide `count`, so that a page of it reaches across; smaller than `size` where it can be. */
const findOtherSize = (count: number, size: number): number => {
  for (let other = size - 1; other > 1; other--) if (count % other !== 0) return other;
  let larger = Math.max(2, size + 1);
  while (count % larger === 0) larger++;
  return larger;
};

interface Asking {
  readonly api: Api;
  readonly list: ListConfig;
  readonly pagination: ReturnType<typeof createPagination>;
  readonly learned: Facts;
  readonly learn: (seen: Learned) => void;
}

/** Asks for one page, and notes how many records a page can have. */
const ask = async (asking: Asking, query: ListQuery, request: PageRequest, more: GetOptions) => {
  const { api, list, learned, learn } = asking;
  const { signal, retries } = query;
  const params = [...listParams(list, query), ...Object.entries(request.params)];
  const url = request.url === undefined ? api.address(list.path, params) : new URL(request.url);
  const parse = async (response: HttpResponse): Promise<PageBody> =>
    response.status >= 400 ? emptyPage(undefined) : readAnswer(response, list, learned);
  const answer = await api.get(url, parse, { signal, retries, ...more });
  // An answer without an array shows nothing of where arrays are.
  const { count, size } = answer.value;
  // Behind the last record, some write an array that they leave out of an empty window.
  learn({ page: count, shapeProven: size > 0, emptyShown: size > 0 && count === 0 && request.index === 0 });
  return { ...answer, url, isRefused: answer.response.status >= 400 && !findsNothing(answer.response) };
};

/**
 * Whether the list is shown to end before a refused page: one of another size that reaches beyond that place holds no
 * further record. False where no other size can be asked for, or where a page of this size was never seen.
 * @throws CallsyncError LIST_FAILED where the list goes on.
 */
const endsBefore = async (asking: Asking, query: ListQuery, request: PageRequest, behind: number): Promise<boolean> => {
  const { known = request.offset } = request;
  const size = findOtherSize(known, behind);
  const other = asking.pagination.at?.(known - (known % size), size);
  if (other === undefined) return false;
  const { isRefused, value, url } = await ask(asking, query, other, { accept: beyondTheEnd });
  if (isRefused || value.count > known % size) throw refusedAmid(url);
  return size <= asking.learned.page;
};

/** Asks for a page that may be behind the end. If the service has forgotten where its own lead ended, a shorter window needs fewer leads. */
const askFurther = async (
  asking: Asking,
  query: ListQuery,
  request: PageRequest,
  { isAtTotal, behind }: { readonly isAtTotal: boolean; readonly behind: number | undefined },
) => {
  const isLed = asking.pagination.leadsOn === true && request.index > 0 && !isAtTotal;
  const accept = isAtTotal || isLed || request.behind !== undefined ? beyondTheEnd : [];
  const answer = await ask(asking, query, request, { accept, askAgain: isLed || behind !== undefined });
  if (isLed && answer.isRefused) throw refusedAmid(answer.url);
  return answer;
};

/** @param before total that came with the page before; its own is the one that matched the query when it was made. */
const fetchPage = async (asking: Asking, query: ListQuery, request: PageRequest, before?: number) => {
  const { emptyBefore = 0, known = request.offset, index } = request;
  const isAtTotal = index > 0 && known === before;
  const behind = isAtTotal || emptyBefore > 0 ? undefined : request.behind;
  const answer = await askFurther(asking, query, request, { isAtTotal, behind });
  const { response, value, observedAt, url, isRefused } = answer;
  const refusedBehind = isRefused ? behind : undefined;
  const isShownEnd = refusedBehind !== undefined && (await endsBefore(asking, query, request, refusedBehind));
  const { page, emptyAtEnd, totalIsProven } = asking.learned;
  const fullPage = Math.min(request.size ?? page, page);
  return {
    ...value,
    request,
    url,
    headers: response.headers,
    total: readTotalOf(asking.list, value.envelope, response),
    observedAt,
    receivedAt: new Date(),
    emptyAtEnd,
    totalIsProven,
    /** Records on the page before this one; undefined where the list may well have ended there. */
    behind,
    fullPage,
    /** As many records as asked for, or as the largest page so far. */
    isFull: value.count >= fullPage,
    /** The service refused it, as it may refuse pages beyond the end. */
    isRefused,
    isShownEnd,
    /** Records on the page before, where only refusals say that the list ends there. */
    refusedBehind: isShownEnd ? undefined : refusedBehind,
  };
};

/**
 * Reads one configured list.
 * @throws CallsyncError LIST_…, from its methods, for answers that the list must not give.
 */
export const createListClient = (api: Api, list: ListConfig, memory?: Memory<KeptFacts>) => {
  const pagination = createPagination(list.pagination);
  const limit = createMemoryLimit();
  const { facts: learned, learn, recall, keep } = createFacts(memory);
  const asking = { api, list, pagination, learned, learn };

  return {
    list,
    counts: api.counts,
    pageSize: pagination.size,
    seekable: pagination.seekable === true,
    leadsOn: pagination.leadsOn === true,
    /** Whether single rows can be asked for. */
    hasRows: pagination.at !== undefined,
    learned,
    learn,
    recall,
    keep,
    /** All pages; or, where single rows can be asked for, only the page of `size` rows from `offset` on, a multiple of it. */
    readPages: (query: ListQuery, rows?: Rows) => readAhead(limit, asking, query, rows && pagination.at?.(...rows)),
    /** Total that matches a query for the price of one small request; undefined if the service offers none. */
    readTotal: async (query: ListQuery) => {
      if (list.total_path === undefined && list.total_header === undefined) return undefined;
      try {
        const page = await fetchPage(asking, { ...query, summary: true }, pagination.first(1));
        learn({ total: page.total ?? 0 });
        return page.total;
      } catch (error) {
        // The answer's only record may cause its failure, or the length of the window; reading the window finds out.
        if (isPoison(error) || isRefusal(error)) return undefined;
        throw error;
      }
    },
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

/** One large page, or five of a hundred usual calls each: four travel, as the documented rate allows in a second, and one loads. */
const defaultBytes = 20 * 1024 * 1024;

/**
 * Bounds the bytes of pages in memory, over all windows that one client reads.
 * A permit is `reserved` while its page travels (the expected size counts), `filled` once the page is here (the true
 * size counts) and finally `released`. The limit is free without permits, shared while the next page fits, else full;
 * callers then wait in turn.
 * @param capacity bytes.
 */
export const createMemoryLimit = (capacity: number = defaultBytes) => {
  const expected = new Map<string, number>();
  /** Callers that wait, in turn. */
  const waiting = new Set<symbol>();
  /** Says that the next one may look again. */
  const changes = new EventEmitter().setMaxListeners(0);
  let permits = 0;
  let held = 0;

  const fits = (kind: string) => permits === 0 || held + (expected.get(kind) ?? Number.POSITIVE_INFINITY) <= capacity;

  const reserve = (kind: string) => {
    let size = expected.get(kind) ?? capacity;
    let isHeld = true;
    permits++;
    held += size;
    const resize = (bytes: number): void => {
      held += bytes - size;
      size = bytes;
      changes.emit('change');
    };
    return {
      /** reserved → filled: the true size replaces the expected one. No effect once released. */
      fill: (bytes: number): void => {
        if (!isHeld) return;
        // The largest page, forgotten slowly, because the last page of a window and the pages of a night are small.
        expected.set(kind, Math.max(bytes, (expected.get(kind) ?? 0) * 0.98));
        resize(bytes);
      },
      /** → released. May be called more than once. */
      release: (): void => {
        if (!isHeld) return;
        isHeld = false;
        permits--;
        resize(0);
      },
    };
  };

  /** As `acquire` without waiting, for prefetching a page; undefined if it does not fit. */
  const tryAcquire = (kind: string) => (waiting.size === 0 && fits(kind) ? reserve(kind) : undefined);

  /**
   * Waits, in turn, until a page of this kind fits; one larger than the limit fits when nothing else is held. The size
   * of a kind is learned from the pages that came; until the first is here it is held alone.
   * @throws the signal's reason.
   */
  const acquire = async (kind: string, signal: AbortSignal) => {
    signal.throwIfAborted();
    const own = Symbol(kind);
    waiting.add(own);
    try {
      while (waiting.values().next().value !== own || !fits(kind))
        await once(changes, 'change', { signal }).catch(() => signal.throwIfAborted());
      return reserve(kind);
    } finally {
      waiting.delete(own);
      changes.emit('change');
    }
  };

  return { acquire, tryAcquire };
};

type MemoryLimit = ReturnType<typeof createMemoryLimit>;

/** Held for one page: acquired before the page is asked for, released when its bytes are freed. */
type Permit = Awaited<ReturnType<MemoryLimit['acquire']>>;

/** A page, and what lets go of its memory. */
type Held = { readonly page: SinglePage; readonly done: (isUnread: boolean) => void };

/** So large a memory is freed. */
const mostSpare = 8 * 1024 * 1024;

/** Moves the memory, so that a part that somebody still reads is empty. Not moved, it would wait for a collection of the whole heap. */
const recycle = (memory: ArrayBuffer, spare: Api['spare']): void => {
  const [kept, freed] = memory.byteLength > mostSpare ? [spare.memory, memory] : [memory, spare.memory];
  structuredClone(undefined, { transfer: [freed] });
  spare.memory = structuredClone(kept, { transfer: [kept] });
};

/**
 * The next page is fetched ahead where two fit; otherwise once the one before is released.
 * @param alone the only page.
 */
async function* readAhead(limit: MemoryLimit, asking: Asking, query: ListQuery, alone?: PageRequest) {
  const { pagination } = asking;
  const first = alone ?? pagination.first(query.pageSize);
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, query.signal].filter((one) => one !== undefined));
  const kind = query.summary ? 'summary' : 'whole';
  const asked = new Set<string>();
  const permits = new Set<Permit>();
  const fetch = async (request: PageRequest, permit: Permit, before?: SinglePage): Promise<Held> => {
    permits.add(permit);
    const key = `${request.url ?? ''}${JSON.stringify(request.params)}`;
    if (asked.has(key)) throw loops();
    asked.add(key);
    const page = await fetchPage(asking, { ...query, signal }, request, before?.total);
    if (before?.isRefused && page.count > 0) throw refusedAmid(page.url);
    permit.fill(page.size);
    const done = (isUnread: boolean): void => {
      if (isUnread && page.memory?.byteLength) recycle(page.memory, asking.api.spare);
      permit.release();
      permits.delete(permit);
    };
    return { page, done };
  };
  try {
    let current: Promise<Held> | undefined = fetch(first, await limit.acquire(kind, signal));
    while (current !== undefined) {
      const { page, done }: Held = await current;
      const own: Partial<PageRequest> | undefined = alone ? undefined : pagination.next(page, query.overlap ?? 0);
      const { request, count }: SinglePage = page;
      const behind = { offset: request.offset + count, index: request.index + 1 };
      const next: PageRequest | undefined = own && { ...request, ...behind, ...own };
      const free = next && limit.tryAcquire(kind);
      const ahead: Promise<Held> | undefined = next && free && fetch(next, free, page);
      // The caller that awaits it gets the failure; until then it must not count as unhandled.
      ahead?.catch(() => undefined);
      let isKept = false;
      const keep = () => {
        isKept = true;
        return done;
      };
      yield { ...page, keep };
      // A suspended loop may hold its last records while it waits for the next.
      if (!isKept) done(page.isCopied);
      current = ahead ?? (next && fetch(next, await limit.acquire(kind, signal), page));
    }
  } finally {
    for (const permit of permits) permit.release();
    stop.abort();
  }
}

/** The error of a list that would be read for ever. */
export const loops = (): CallsyncError => terminal('LIST_LOOP', 'The list returns the same page again and again.');

/** A refused page ends a list only where something else says so too. */
const refusedAmid = ({ host }: URL): CallsyncError =>
  transient('LIST_FAILED', `The list of ${host} refuses a page, and callsync cannot show that the list ends there.`);

const readAnswer = (response: HttpResponse, list: ListConfig, learned: Facts): PageBody => {
  const [status, host] = [response.status, response.url.host];
  if (status === 204) return emptyPage(undefined);
  const read = readPageBody(response.body, list.records);
  if (read === 'malformed')
    throw transient('LIST_MALFORMED', `The list of ${host} is not valid JSON.`, {
      hint: 'callsync retries automatically. If the error persists, check source.base_url and source.list.path.',
    });
  const envelope = read === 'no_array' ? parseQuietly(response.body) : read.envelope;
  // Some services leave the array out, or every empty field, or write something else there, where nothing matches.
  const isLeftOut = !learned.emptyShown && ['{}', 'null'].includes(JSON.stringify(envelope));
  const isNothing = isLeftOut || readTotalOf(list, envelope, response) === 0;
  const page = read === 'no_array' && isNothing ? emptyPage(envelope) : read;
  if (page !== 'no_array') {
    if (!saysFailed(envelope, status, page.count)) return page;
    throw transient('LIST_FAILED', `The list of ${host} answers ${status} with an error, or without all records.`);
  }
  const where =
    list.records === '' ? 'the response is not an array of records' : `there is no array at “${list.records}”`;
  const message = `The list of ${host} has another shape than configured: ${where}.`;
  throw learned.shapeProven || learned.emptyShown ? transient('LIST_SHAPE', message) : terminal('LIST_SHAPE', message);
};

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
