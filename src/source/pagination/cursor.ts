import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { valueAt } from '../json/json-path.ts';
import { forwardOnly, type Pagination } from './pagination.ts';

/**
 * A cursor in the body or a header leads on; it ends where there is none, or where an empty page leads to itself. A
 * cursor that is an address is followed.
 */
export const createCursorPagination = (config: Extract<PaginationConfig, { style: 'cursor' }>): Pagination => ({
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
