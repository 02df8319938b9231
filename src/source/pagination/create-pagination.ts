import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { createCursorPagination } from './cursor.ts';
import { createLinkPagination } from './link.ts';
import { createNonePagination } from './none.ts';
import { createOffsetPagination } from './offset.ts';
import { createPagePagination } from './page.ts';
import type { Pagination } from './pagination.ts';

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
