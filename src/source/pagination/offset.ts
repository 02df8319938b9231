import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { isExhausted, type Pagination, sizeParam } from './pagination.ts';

/** The next offset counts what came, not what was asked for: a service that gives less a page than asked skips nothing. */
export const createOffsetPagination = (config: Extract<PaginationConfig, { style: 'offset' }>): Pagination => ({
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
    if (isExhausted(seen)) return undefined;
    // An overlapping page that brings nothing beyond its overlap is the last.
    if (overlap > 0 && seen.request.index > 0 && seen.records <= overlap) return undefined;
    const offset = seen.request.offset + seen.records - Math.min(overlap, seen.records - 1);
    if (offset <= seen.request.offset) return undefined;
    return {
      ...seen.request,
      params: { ...seen.request.params, [config.offset_param]: String(offset) },
      offset,
      index: seen.request.index + 1,
    };
  },
});
