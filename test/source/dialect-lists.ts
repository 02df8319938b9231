/** How each dialect of the simulated service is configured. */
import type { SourceConfigInput } from '../../schemas/config/source.ts';

type List = NonNullable<SourceConfigInput['list']>;

/** Parameters of a window. */
const by = (from_param: string, to_param: string) => ({
  cursor_fields: [{ name: 'timestamp', record_field: 'timestamp', from_param, to_param }],
});
const fromTo = by('from', 'to');
const numbered = { style: 'page', size_param: 'per_page', size: 100 } as const;
const pages = { records: 'data', pagination: numbered };
const cursor = { style: 'cursor', size_param: 'limit', size: 200 } as const;
const linked = { pagination: { style: 'link', size_param: 'per_page', size: 200 } } as const;
const offsets = { pagination: { style: 'offset', size: 200 } } as const;
const none = { pagination: { style: 'none' } } as const;

export interface DialectSource extends Pick<SourceConfigInput, 'version' | 'auth_scheme'> {
  readonly list: List;
  /** How an undisturbed reading is shown complete. */
  readonly shown: string;
}

const shownBy = (shown: string) => (list: List) => ({ list, shown });
const [total, second] = [shownBy('total'), shownBy('second_listing')];
const [overlap, one] = [shownBy('page_overlap'), shownBy('one_response')];
const activate = total({ preset: 'activate' });
const activateV1 = second({ preset: 'activate-v1', exclude_param: 'exclude', exclude: ['transcript_json'] });

/** Dialect of the simulator → configuration that reads it. */
export const dialectLists: Readonly<Record<string, DialectSource>> = {
  activate,
  'activate-v1': { ...activateV1, auth_scheme: 'Token' },
  page_total: second({ records: 'calls', total_path: 'meta.total', pagination: numbered, ...fromTo }),
  page: second({ ...pages, records: 'items', ...fromTo }),
  cursor_body: second({ records: 'results', pagination: { ...cursor, next_path: 'paging.cursors.next' }, ...fromTo }),
  cursor_header: second({ pagination: { ...cursor, next_header: 'X-Next-Cursor' }, ...fromTo }),
  link: second({ ...linked, ...fromTo }),
  link_relative: second({ records: 'data', ...linked, ...fromTo }),
  offset_header_total: overlap({ total_header: 'X-Total-Count', ...offsets, ...fromTo }),
  bare_inclusive: one({ ...none, ...by('start_date', 'end_date') }),
  half_open: second({ ...pages, ...by('since', 'until'), to_inclusive: false }),
  silent_cap: one({ records: 'data', ...none, ...by('created_after', 'created_before') }),
  page_capped: second({ ...pages, ...fromTo }),
  epoch_seconds: second({ ...pages, ...by('start_time', 'end_time'), time_format: 'epoch_s' }),
  epoch_milliseconds: second({ ...pages, ...by('start', 'end'), time_format: 'epoch_ms', to_inclusive: false }),
  no_parameters: one({ ...none, max_results: 100_000 }),
  window_ignored: overlap({ records: 'data', total_path: 'total', ...offsets, max_results: 100_000 }),
  nested_records: second({
    ...{ records: 'result.items', total_path: 'result.totalCount', ...by('dateFrom', 'dateTo') },
    pagination: { style: 'page', page_param: 'pageNumber', size_param: 'pageSize', first: 0, size: 100 },
  }),
  version_path: activate,
  version_header: { ...activate, version: { by: 'header', name: 'X-Api-Version', value: '3' } },
  version_query: { ...activate, version: { by: 'query', name: 'version', value: '3' } },
};
