import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { isExhausted, type Pagination, sizeParam } from './pagination.ts';

/** Numbered pages; the last is followed by an empty one, unless the total says so earlier. */
export const createPagePagination = (config: Extract<PaginationConfig, { style: 'page' }>): Pagination => ({
  size: config.size_param === undefined ? undefined : config.size,
  seekable: false,
  first: (size = config.size) => ({
    params: { [config.page_param]: String(config.first), ...sizeParam(config.size_param, size) },
    offset: 0,
    index: 0,
  }),
  next: (seen) => {
    if (isExhausted(seen)) return undefined;
    const index = seen.request.index + 1;
    return {
      params: { ...seen.request.params, [config.page_param]: String(config.first + index) },
      offset: seen.request.offset + seen.records,
      index,
    };
  },
});
