import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { isObject, pathKeys, valueAt } from '../../lib/parse-json.ts';

/** Common interface of the styles of paging. */
export interface PageRequest {
  /** Query parameters of this page, on top of those of the query. */
  readonly params: Readonly<Record<string, string>>;
  /** The whole address, if the service gives it (links). */
  readonly url?: string | undefined;
  /** Records asked for; undefined where the service decides. */
  readonly size: number | undefined;
  /** Records before this page, as far as the style counts them. */
  readonly offset: number;
  /** Records before this page together with those that it repeats; `offset` where it repeats none. */
  readonly known?: number;
  /** Number of the page, from 0. */
  readonly index: number;
  /** Empty pages just before: callsync asks for this page to see whether the list has a gap or ends. */
  readonly emptyBefore?: number;
  /** Records on the page before: this one may be beyond the end, and refused as such. */
  readonly behind?: number | undefined;
}

/** Response to a request. */
interface SeenPage {
  readonly request: PageRequest;
  /** Records on the page. */
  readonly count: number;
  /**
   * A full page: as many records as requested, or as the largest page so far, because a service may give fewer than
   * requested.
   */
  readonly isFull: boolean;
  /** Total that matches the query, where the service says it. */
  readonly total: number | undefined;
  /** Whether a list was seen to end where its total says: totals may also count pages, or the records of one page. */
  readonly totalIsProven: boolean;
  /** The document without its records. */
  readonly envelope: unknown;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly url: URL;
  /** So many empty pages in a row end the list. */
  readonly emptyAtEnd: number;
  /** The service refused the page, and a page of another size showed that the list ends before it. */
  readonly isShownEnd?: boolean;
}

interface Pagination {
  /** Records asked for on a page; undefined where the service decides. */
  readonly size: number | undefined;
  /** Whether a page can start at any record, so that neighbours can be made to overlap. */
  readonly seekable?: boolean;
  /** Whether each answer says where the next page is: where it does not, the list ends, or its lead was lost. */
  readonly leadsOn?: boolean;
  first(size?: number): PageRequest;
  /** A page of its own size from `offset` on, a multiple of `size`; absent where the style cannot be asked for one. */
  readonly at?: (offset: number, size: number) => PageRequest;
  /** The page after the one seen, where it differs from it; undefined where the style itself says that it was the last. */
  next(seen: SeenPage, overlap: number): Partial<PageRequest> | undefined;
}

/**
 * Whether counting alone shows the end. Proofs are an empty page at the total, several empty pages in a row, and a
 * proven total that a partial page reaches exactly.
 * A full page proves nothing, because totals can lag. One empty page proves nothing if the service pages first and
 * filters afterwards.
 */
const isExhausted = (
  { count, total, totalIsProven, isFull, isShownEnd, emptyAtEnd, request: { offset, emptyBefore = 0 } }: SeenPage,
  overlap = 0,
): boolean => {
  if (isShownEnd) return true;
  if (count <= overlap) return emptyBefore + 1 >= emptyAtEnd || offset + count === total;
  return totalIsProven && !isFull && offset + count === total;
};

type Sized = Pick<PaginationConfig, 'size' | 'size_param'>;

/** A page that is asked for by itself, `offset` records behind the first. */
const pageAt = (
  { size_param: name, size: usual }: Sized,
  params: Readonly<Record<string, string>>,
  { size = usual, offset = 0 }: { readonly size?: number | undefined; readonly offset?: number } = {},
): PageRequest => ({
  params: name === undefined ? params : { ...params, [name]: String(size) },
  size: name === undefined ? undefined : size,
  offset,
  index: 0,
});

/** Common part of styles with consecutive pages; `params` ask for the first. */
const forwardOnly = (config: Sized, params = {}): Pick<Pagination, 'size' | 'first'> => ({
  size: config.size_param === undefined ? undefined : config.size,
  first: (size) => pageAt(config, params, { size }),
});

// The styles of paging, one function each.

type Of<Style> = Extract<PaginationConfig, { style: Style }>;

/** Numbered pages; the last is followed by empty ones, unless the total says so earlier. */
const createPagePagination = (config: Of<'page'>): Pagination => {
  const numbered = (index: number) => ({ [config.page_param]: String(config.first + index) });
  return {
    ...forwardOnly(config, numbered(0)),
    ...(config.size_param === undefined
      ? {}
      : { at: (offset, size) => pageAt(config, numbered(offset / size), { size, offset }) }),
    next: (seen) => {
      if (isExhausted(seen)) return undefined;
      const { params, index, emptyBefore = 0 } = seen.request;
      return {
        params: { ...params, ...numbered(index + 1) },
        emptyBefore: seen.count === 0 ? emptyBefore + 1 : 0,
        behind: seen.count,
      };
    },
  };
};

/** The next offset counts received records, so a service with smaller pages than requested skips none. */
const createOffsetPagination = (config: Of<'offset'>): Pagination => {
  const at = (offset: number, size = config.size): PageRequest => ({
    ...pageAt(config, { [config.offset_param]: String(offset) }, { size, offset }),
    size,
  });
  return {
    size: config.size,
    seekable: true,
    first: (size) => at(0, size),
    at,
    next: (seen, overlap) => {
      const { params, index, offset: before, emptyBefore = 0 } = seen.request;
      const repeated = index > 0 ? overlap : 0;
      if (isExhausted(seen, repeated)) return undefined;
      // An overlapping page that brings nothing beyond its overlap is as good as empty.
      const isGap = seen.count <= repeated;
      const offset = before + (isGap ? config.size : seen.count - Math.min(overlap, seen.count - 1));
      return {
        params: { ...params, [config.offset_param]: String(offset) },
        offset,
        known: before + seen.count,
        emptyBefore: isGap ? emptyBefore + 1 : 0,
        behind: seen.count,
      };
    },
  };
};

/** Whether a page has fewer records than asked for, or than the largest: if it leads to itself, it is the last. */
const isShort = ({ count, isFull, request: { size } }: SeenPage) => (size ? count < size : !isFull || count < 2);

/** The page at an address in the body or the headers; undefined where it is that of the last page. */
const follow = (seen: SeenPage, address: string): Partial<PageRequest> | undefined => {
  const url = new URL(address, seen.url).href;
  return isShort(seen) && url === seen.url.href ? undefined : { params: {}, url };
};

/** Texts and numbers in place of a cursor that lead back to the first page. */
const noCursor = /^\s*(0|-1|null|none|undefined)?\s*$/i;
/** Names under which services say beside a cursor whether it leads on. */
const leadsOn = /^(has[_-]?)?(more|next)([_-]?(data|pages?|records?|results?))?$/i;

const saysLast = (holder: unknown): boolean =>
  isObject(holder) &&
  Object.keys(holder).some((name) => leadsOn.test(name) && /^(false|0)$/i.test(String(holder[name])));

/**
 * A cursor in the body or a header leads on, and one that is an address is followed. The list ends where there is none,
 * where the body says so, or where a short page leads to itself.
 */
const createCursorPagination = (config: Of<'cursor'>): Pagination => ({
  ...forwardOnly(config),
  leadsOn: true,
  next: (seen) => {
    const { next_path: path = 'next_cursor' } = config;
    const found =
      config.next_header === undefined ? valueAt(seen.envelope, path) : seen.headers[config.next_header.toLowerCase()];
    const cursor = typeof found === 'number' ? String(found) : found;
    if (typeof cursor !== 'string' || noCursor.test(cursor)) return undefined;
    if (saysLast(seen.envelope) || saysLast(valueAt(seen.envelope, pathKeys(path).slice(0, -1)))) return undefined;
    const { params } = seen.request;
    if (isShort(seen) && cursor === params[config.cursor_param]) return undefined;
    if (isAddress(cursor, seen.url) && URL.canParse(cursor, seen.url.href)) return follow(seen, cursor);
    return { params: { ...params, [config.cursor_param]: cursor }, url: undefined };
  },
});

/** Base64 may begin with a slash too. */
const isAddress = (cursor: string, { pathname }: URL): boolean =>
  /^(https?:\/\/|\/[^?]*\?|\?)/.test(cursor) || cursor.startsWith(pathname);

/** The Link header (RFC 8288) leads on; it ends where there is none of the relation, or where a short page leads to itself. */
const createLinkPagination = (config: Of<'link'>): Pagination => ({
  ...forwardOnly(config),
  leadsOn: true,
  next: (seen) => {
    const target = findLink(seen.headers.link, config.rel);
    if (target === undefined || !URL.canParse(target, seen.url.href)) return undefined;
    return follow(seen, target);
  },
});

const styles: { readonly [Style in PaginationConfig['style']]: (config: Of<Style>) => Pagination } = {
  /** One response has all records. */
  none: (config) => ({ ...forwardOnly(config), next: () => undefined }),
  page: createPagePagination,
  offset: createOffsetPagination,
  cursor: createCursorPagination,
  link: createLinkPagination,
};

/** Without configured pagination, callsync reads one response. */
export const createPagination = (config: PaginationConfig = { style: 'none', size: 100 }): Pagination =>
  styles[config.style](config as never);

/** Target of the first link of the relation; relations are compared without case, several may share a link. */
export const findLink = (header: string | undefined, rel: string): string | undefined => {
  if (header === undefined || header.length > 16_384) return undefined;
  for (const link of header.matchAll(/<([^>]*)>([^<]*)/g)) {
    const [, target, parameters = ''] = link;
    const named = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters);
    const relations = (named?.[1] ?? named?.[2] ?? '').toLowerCase().split(/\s+/);
    if (relations.includes(rel.toLowerCase())) return target;
  }
  return undefined;
};
