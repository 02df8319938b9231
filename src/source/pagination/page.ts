import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { forwardOnly, isExhausted, type Pagination, sizeParam } from './pagination.ts';

/** Numbered pages; the last is followed by two empty ones, unless the total says so earlier. */
export const createPagePagination = (config: Extract<PaginationConfig, { style: 'page' }>): Pagination => ({
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
      mayBeBeyond: seen.total === undefined,
    };
  },
});
