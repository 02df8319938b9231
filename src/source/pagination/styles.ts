/** The styles of paging, one function each. */
import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { valueAt } from '../json/json-path.ts';
import { forwardOnly, isExhausted, type Pagination, sizeParam } from './pagination.ts';

/** Where nobody said how the list is paged, one response is read. */
export const createPagination = (config: PaginationConfig = { style: 'none', size: 100 }): Pagination => {
  switch (config.style) {
    case 'none':
      return createNonePagination(config);
    case 'page':
      return createPagePagination(config);
    case 'offset':
      return createOffsetPagination(config);
    case 'cursor':
      return createCursorPagination(config);
    case 'link':
      return createLinkPagination(config);
  }
};

type Of<Style> = Extract<PaginationConfig, { style: Style }>;

/** One response holds whatever the service gives. */
const createNonePagination = (config: Of<'none'>): Pagination => ({ ...forwardOnly(config), next: () => undefined });

/** Numbered pages; the last is followed by two empty ones, unless the total says so earlier. */
const createPagePagination = (config: Of<'page'>): Pagination => ({
  ...forwardOnly(config, { [config.page_param]: String(config.first) }),
  ...(config.size_param === undefined
    ? {}
    : {
        at: (offset, size) => ({
          params: {
            [config.page_param]: String(config.first + offset / size),
            ...sizeParam(config.size_param, size),
          },
          size,
          offset,
          index: 0,
        }),
      }),
  next: (seen) => {
    if (isExhausted(seen)) return undefined;
    const index = seen.request.index + 1;
    return {
      ...seen.request,
      params: { ...seen.request.params, [config.page_param]: String(config.first + index) },
      offset: seen.request.offset + seen.records,
      index,
      isBehindGap: seen.records === 0,
      behind: seen.records,
    };
  },
});

/** The next offset counts what came, not what was asked for: a service that gives less a page than asked skips nothing. */
const createOffsetPagination = (config: Of<'offset'>): Pagination => ({
  size: config.size,
  seekable: true,
  first: (size = config.size) => ({
    params: { [config.offset_param]: '0', ...sizeParam(config.size_param, size) },
    size,
    offset: 0,
    index: 0,
  }),
  at: (offset, size) => ({
    params: { [config.offset_param]: String(offset), ...sizeParam(config.size_param, size) },
    size,
    offset,
    index: 0,
  }),
  next: (seen, overlap) => {
    const repeated = seen.request.index > 0 ? overlap : 0;
    if (isExhausted(seen, repeated)) return undefined;
    const { offset } = seen.request;
    // An overlapping page that brings nothing beyond its overlap is as good as empty.
    const isGap = seen.records <= repeated;
    const step = isGap ? config.size : seen.records - Math.min(overlap, seen.records - 1);
    return {
      ...seen.request,
      params: { ...seen.request.params, [config.offset_param]: String(offset + step) },
      offset: offset + step,
      known: offset + seen.records,
      index: seen.request.index + 1,
      isBehindGap: isGap,
      behind: seen.records,
    };
  },
});

/**
 * A cursor in the body or a header leads on; it ends where there is none, or where an empty page leads to itself. A
 * cursor that is an address is followed.
 */
const createCursorPagination = (config: Of<'cursor'>): Pagination => ({
  ...forwardOnly(config),
  next: (seen) => {
    const found =
      config.next_header === undefined
        ? valueAt(seen.envelope, config.next_path ?? 'next_cursor')
        : seen.headers[config.next_header.toLowerCase()];
    const cursor = typeof found === 'number' ? String(found) : found;
    if (typeof cursor !== 'string' || cursor === '') return undefined;
    if (seen.records === 0 && cursor === seen.request.params[config.cursor_param]) return undefined;
    const offset = seen.request.offset + seen.records;
    const index = seen.request.index + 1;
    if (/^(https?:\/\/|\/|\?)/.test(cursor) && URL.canParse(cursor, seen.url.href)) {
      return { params: {}, size: seen.request.size, url: new URL(cursor, seen.url).href, offset, index };
    }
    return {
      params: { ...seen.request.params, [config.cursor_param]: cursor },
      size: seen.request.size,
      offset,
      index,
    };
  },
});

/** The Link header (RFC 8288) leads on; it ends where there is none of the relation. */
const createLinkPagination = (config: Of<'link'>): Pagination => ({
  ...forwardOnly(config),
  next: (seen) => {
    const target = findLink(seen.headers.link, config.rel);
    if (target === undefined || !URL.canParse(target, seen.url.href)) return undefined;
    return {
      params: {},
      size: seen.request.size,
      url: new URL(target, seen.url).href,
      offset: seen.request.offset + seen.records,
      index: seen.request.index + 1,
    };
  },
});

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
