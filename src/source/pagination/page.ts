import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { forwardOnly, isExhausted, type Pagination } from './pagination.ts';

/** Numbered pages; the last is followed by an empty one, unless the total says so earlier. */
export const createPagePagination = (config: Extract<PaginationConfig, { style: 'page' }>): Pagination => ({
  ...forwardOnly(config, { [config.page_param]: String(config.first) }),
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
