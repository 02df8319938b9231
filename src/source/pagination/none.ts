import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { type Pagination, sizeParam } from './pagination.ts';

/** One response holds whatever the service gives. */
export const createNonePagination = (config: Extract<PaginationConfig, { style: 'none' }>): Pagination => ({
  size: config.size_param === undefined ? undefined : config.size,
  seekable: false,
  first: (size = config.size) => ({ params: sizeParam(config.size_param, size), size, offset: 0, index: 0 }),
  next: () => undefined,
});
