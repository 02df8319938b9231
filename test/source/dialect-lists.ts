/** How each dialect of the simulated service is configured. */
import type { SourceConfigInput } from '../../schemas/config/source.ts';

type List = NonNullable<SourceConfigInput['list']>;
const own = (from_param: string, to_param: string): List['cursor_fields'] => [
  { name: 'timestamp', record_field: 'timestamp', from_param, to_param },
];
const fromTo = own('from', 'to');
const pages = { style: 'page', size_param: 'per_page', size: 100 } as const;

export interface DialectSource extends Pick<SourceConfigInput, 'version' | 'auth_scheme'> {
  readonly list: List;
  /** How an undisturbed reading is shown complete. */
  readonly shown: string;
}

/** Dialect of the simulator → configuration that reads it. */
export const dialectLists: Readonly<Record<string, DialectSource>> = {
  activate: { list: { preset: 'activate' }, shown: 'total' },
  'activate-v1': {
    list: { preset: 'activate-v1', exclude_param: 'exclude', exclude: ['transcript_json'] },
    auth_scheme: 'Token',
    shown: 'second_listing',
  },
  page_total: {
    list: { records: 'calls', total_path: 'meta.total', pagination: pages, cursor_fields: fromTo },
    shown: 'second_listing',
  },
  page: { list: { records: 'items', pagination: pages, cursor_fields: fromTo }, shown: 'second_listing' },
  cursor_body: {
    list: {
      records: 'results',
      pagination: { style: 'cursor', size_param: 'limit', size: 200, next_path: 'paging.cursors.next' },
      cursor_fields: fromTo,
    },
    shown: 'second_listing',
  },
  cursor_header: {
    list: {
      pagination: { style: 'cursor', size_param: 'limit', size: 200, next_header: 'X-Next-Cursor' },
      cursor_fields: fromTo,
    },
    shown: 'second_listing',
  },
  link: {
    list: { pagination: { style: 'link', size_param: 'per_page', size: 200 }, cursor_fields: fromTo },
    shown: 'second_listing',
  },
  link_relative: {
    list: { records: 'data', pagination: { style: 'link', size_param: 'per_page', size: 200 }, cursor_fields: fromTo },
    shown: 'second_listing',
  },
  offset_header_total: {
    list: { total_header: 'X-Total-Count', pagination: { style: 'offset', size: 200 }, cursor_fields: fromTo },
    shown: 'page_overlap',
  },
  bare_inclusive: {
    list: { pagination: { style: 'none' }, cursor_fields: own('start_date', 'end_date') },
    shown: 'one_response',
  },
  half_open: {
    list: { records: 'data', pagination: pages, cursor_fields: own('since', 'until'), to_inclusive: false },
    shown: 'second_listing',
  },
  silent_cap: {
    list: { records: 'data', pagination: { style: 'none' }, cursor_fields: own('created_after', 'created_before') },
    shown: 'one_response',
  },
  page_capped: { list: { records: 'data', pagination: pages, cursor_fields: fromTo }, shown: 'second_listing' },
  epoch_seconds: {
    list: { records: 'data', pagination: pages, cursor_fields: own('start_time', 'end_time'), time_format: 'epoch_s' },
    shown: 'second_listing',
  },
  epoch_milliseconds: {
    list: {
      records: 'data',
      pagination: pages,
      cursor_fields: own('start', 'end'),
      time_format: 'epoch_ms',
      to_inclusive: false,
    },
    shown: 'second_listing',
  },
  no_parameters: { list: { pagination: { style: 'none' }, max_results: 100_000 }, shown: 'one_response' },
  window_ignored: {
    list: { records: 'data', total_path: 'total', pagination: { style: 'offset', size: 200 }, max_results: 100_000 },
    shown: 'page_overlap',
  },
  nested_records: {
    list: {
      records: 'result.items',
      total_path: 'result.totalCount',
      pagination: { style: 'page', page_param: 'pageNumber', size_param: 'pageSize', first: 0, size: 100 },
      cursor_fields: own('dateFrom', 'dateTo'),
    },
    shown: 'second_listing',
  },
  version_path: { list: { preset: 'activate' }, shown: 'total' },
  version_header: {
    list: { preset: 'activate' },
    version: { by: 'header', name: 'X-Api-Version', value: '3' },
    shown: 'total',
  },
  version_query: {
    list: { preset: 'activate' },
    version: { by: 'query', name: 'version', value: '3' },
    shown: 'total',
  },
};
