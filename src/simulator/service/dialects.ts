/** The named dialects of the simulated call list. `activate` is the public reference; each other one differs on purpose. */
import { type Dialect, type DialectInput, dialectSchema } from '../../../schemas/simulator-dialect.ts';
import { terminal } from '../../lib/errors.ts';

const timestampWindow = { axis: 'timestamp', from: 'from', to: 'to' } as const;
const sizes = { defaultSize: 50, maxSize: 200 } as const;
const pages = { style: 'page', page: 'page', size: 'per_page', first: 1, defaultSize: 20, maxSize: 100 } as const;

/** A list of another maker: one time axis, nothing optional. */
const plain: Omit<DialectInput, 'description'> = {
  scheme: 'bearer',
  version: { by: 'none' },
  paging: pages,
  windows: [timestampWindow],
  format: 'iso',
  bounds: 'inclusive',
  records: 'data',
  overMax: 'clamp',
  single: false,
  errors: 'detail',
};

const activate: DialectInput = {
  ...plain,
  description: 'The public reference: limit and offset, count and data, both axes, inclusive bounds, order, exclude.',
  paging: { style: 'offset', offset: 'offset', size: 'limit', maxOffset: 10_000, ...sizes },
  windows: [
    { axis: 'timestamp', from: 'timestamp_from', to: 'timestamp_to' },
    { axis: 'qualified', from: 'qualified_from', to: 'qualified_to' },
  ],
  totalPath: 'count',
  overMax: 'refuse',
  order: 'order',
  status: 'status',
  exclude: 'exclude',
  single: true,
};

export const dialects: Readonly<Record<string, DialectInput>> = {
  activate,
  'activate-v1': {
    ...activate,
    description: 'The older host: Authorization: Token, errors as a list.',
    scheme: 'Token',
    errors: 'list',
  },
  page_total: {
    ...plain,
    description: 'page and per_page, total in the body.',
    records: 'calls',
    totalPath: 'meta.total',
  },
  page: { ...plain, description: 'page and per_page, no total: an empty page ends.', records: 'items' },
  cursor_body: {
    ...plain,
    description: 'Cursor in a nested field of the body.',
    paging: { style: 'cursor', cursor: 'cursor', size: 'limit', bodyPath: 'paging.cursors.next', ...sizes },
    records: 'results',
  },
  cursor_header: {
    ...plain,
    description: 'Cursor in a response header, bare array.',
    paging: { style: 'cursor', cursor: 'cursor', size: 'limit', header: 'X-Next-Cursor', ...sizes },
    records: '',
  },
  link: {
    ...plain,
    description: 'Link header with absolute addresses.',
    paging: { style: 'link', cursor: 'after', size: 'per_page', form: 'absolute', ...sizes },
    records: '',
  },
  link_relative: {
    ...plain,
    description: 'Link header with relative addresses.',
    paging: { style: 'link', cursor: 'after', size: 'per_page', form: 'relative', ...sizes },
    records: 'data',
  },
  offset_header_total: {
    ...plain,
    description: 'offset and limit, X-Total-Count header.',
    paging: { style: 'offset', offset: 'offset', size: 'limit', ...sizes },
    records: '',
    totalHeader: 'X-Total-Count',
  },
  bare_inclusive: {
    ...plain,
    description: 'One bare array a window, both bounds inclusive, no pages.',
    paging: { style: 'none' },
    windows: [{ axis: 'timestamp', from: 'start_date', to: 'end_date' }],
    records: '',
  },
  half_open: {
    ...plain,
    description: 'Pages; the upper bound is exclusive.',
    windows: [{ axis: 'timestamp', from: 'since', to: 'until' }],
    bounds: 'half_open',
  },
  silent_cap: {
    ...plain,
    description: 'No pages; at most 1,000 records a window, without any marker.',
    paging: { style: 'none' },
    windows: [{ axis: 'timestamp', from: 'created_after', to: 'created_before' }],
    cap: 1_000,
  },
  first_page: {
    ...plain,
    description: 'No parameters at all: one bare array of the 100 newest calls.',
    paging: { style: 'none' },
    windows: [],
    records: '',
    cap: 100,
    newestFirst: true,
  },
  page_capped: { ...plain, description: 'Pages that end at 1,000 records, without any marker.', cap: 1_000 },
  epoch_seconds: {
    ...plain,
    description: 'Window bounds in seconds since the epoch.',
    windows: [{ axis: 'timestamp', from: 'start_time', to: 'end_time' }],
    format: 'epoch_seconds',
  },
  epoch_milliseconds: {
    ...plain,
    description: 'Window bounds in milliseconds since the epoch, exclusive above.',
    windows: [{ axis: 'timestamp', from: 'start', to: 'end' }],
    format: 'epoch_milliseconds',
    bounds: 'half_open',
  },
  no_parameters: {
    ...plain,
    description: 'No parameters at all: everything, as a bare array.',
    paging: { style: 'none' },
    windows: [],
    records: '',
  },
  window_ignored: {
    ...plain,
    description: 'Pages with a total; window parameters are accepted and have no effect.',
    paging: { style: 'offset', offset: 'offset', size: 'limit', ...sizes },
    windows: [],
    totalPath: 'total',
  },
  nested_records: {
    ...plain,
    description: 'Records under result.items, total beside them.',
    paging: { ...pages, page: 'pageNumber', size: 'pageSize', first: 0 },
    windows: [{ axis: 'timestamp', from: 'dateFrom', to: 'dateTo' }],
    records: 'result.items',
    totalPath: 'result.totalCount',
  },
  version_path: {
    ...activate,
    description: 'As activate, below /v3; without the prefix the older version refuses.',
    version: { by: 'path', prefix: '/v3' },
  },
  version_header: {
    ...activate,
    description: 'As activate, selected by the header X-Api-Version: 3.',
    version: { by: 'header', name: 'X-Api-Version', value: '3' },
  },
  version_query: {
    ...activate,
    description: 'As activate, selected by the parameter version=3.',
    version: { by: 'query', name: 'version', value: '3' },
  },
};

/** A named dialect with some properties replaced. */
export const dialectOf = (name: string, overrides: Partial<Dialect>): Dialect => {
  const named = dialects[name];
  if (named === undefined)
    throw terminal('SIMULATOR_DIALECT_UNKNOWN', `The simulator has no dialect named ${name}.`, {
      hint: `Choose one of: ${Object.keys(dialects).join(', ')}.`,
    });
  return dialectSchema.parse({ ...named, ...overrides });
};
