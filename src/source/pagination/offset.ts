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
      index: seen.request.index + 1,
      isBehindGap: isGap,
      mayBeBeyond: seen.total === undefined,
    };
  },
});
