/** Config section `source.list:`: how the call list is asked and read (interface §4.2 leaves it open). */
import { optional, z } from 'zod';
import { a, ownNames, withDefault } from './values.ts';

const { count, list, natural, oneOf, text } = withDefault;

const size = a.count.max(100_000);
const pageSize = size.default(100).describe('Records a page.');
const optionalSizeParam = a.text.describe('Query parameter that carries the page size, if the service has one.');

const pageStyle = z.strictObject({
  style: z.literal('page'),
  page_param: text('page').describe('Query parameter that carries the page number.'),
  size_param: optionalSizeParam,
  size: pageSize,
  first: natural(1).describe('Number of the first page.'),
});
const offsetStyle = z.strictObject({
  style: z.literal('offset'),
  offset_param: text('offset').describe('Query parameter that carries the offset.'),
  size_param: text('limit').describe('Query parameter that carries the page size.'),
  size: pageSize,
});
const cursorStyle = z.strictObject({
  style: z.literal('cursor'),
  cursor_param: text('cursor').describe('Query parameter that carries the cursor.'),
  next_path: a.text.describe('Path of the next cursor in the body, such as `meta.next_cursor`.'),
  next_header: a.text.describe('Response header that holds the next cursor, instead of `next_path`.'),
  size_param: optionalSizeParam,
  size: pageSize,
});
const linkStyle = z.strictObject({
  style: z.literal('link'),
  rel: text('next').describe('Relation in the Link header that leads to the next page.'),
  size_param: optionalSizeParam,
  size: pageSize,
});
const noneStyle = z.strictObject({
  style: z.literal('none'),
  size_param: a.text.describe('Query parameter that limits the response, if the service has one.'),
  size: size.default(100).describe('Value of that parameter.'),
});

const styles = [noneStyle, pageStyle, offsetStyle, cursorStyle, linkStyle] as const;
export const paginationSchema = z.discriminatedUnion('style', styles);

const axisSchema = z.strictObject({
  name: z.string().describe('Name of the axis, used in windows and commands.'),
  from_param: a.text.describe('Query parameter of the lower bound; without it, callsync filters the records itself.'),
  to_param: a.text.describe('Query parameter of the upper bound; without it, callsync filters the records itself.'),
  record_field: z.string().describe('Path of the record’s time on this axis, such as `timestamp`.'),
  order: a.text.describe('Value of `order_param` that sorts by this axis.'),
  end_of_processing: a.off.describe('The axis is the end of processing: new calls then never appear in past windows.'),
});

export const listConfigSchema = z.strictObject({
  preset: a.text.describe('Preset of the list: `activate`, `activate-v1` or a YAML file. Keys here override it.'),
  path: text('/calls').describe('Path of the call list under `base_url`.'),
  records: text('').describe('Path of the records in the body, such as `data.items`; empty = the body is the array.'),
  total_path: a.text.describe('Path of the total of the query in the body, such as `count`.'),
  total_header: a.text.describe('Response header that holds the total, instead of `total_path`.'),
  pagination: optional(paginationSchema).describe(
    'Paging of the list; `callsync probe` finds it. While it is unset, callsync reads one response and counts no window as complete.',
  ),
  max_results: optional(a.count).describe(
    'Most records that one query can reach, over all its pages; larger windows are split before paging. A list without window parameters counts as complete only if it holds fewer records than this.',
  ),
  cursor_fields: list(axisSchema)
    .refine(...ownNames)
    .describe('Time axes that can cut the list. Without any, callsync reads all and cuts by `timestamp`.'),
  axis: a.text.describe('Axis of incremental reading; the end-of-processing axis, else the first, by default.'),
  order_param: a.text.describe('Query parameter that chooses the order.'),
  time_format: oneOf(['iso', 'iso_seconds', 'datetime', 'date', 'epoch_s', 'epoch_ms'], 'iso').describe(
    'Format of bounds: ISO 8601 with or without milliseconds, `2026-01-31 23:59:59` or `2026-01-31` in UTC, or seconds or milliseconds since 1970.',
  ),
  time_resolution_ms: count(1).describe('Finest step of a bound, in milliseconds. callsync rounds windows outwards.'),
  bounds_slack_ms: natural(1_000).describe(
    'Milliseconds by which the time of a record may lie outside the requested bounds. callsync also folds records that lie further outside, and reports them.',
  ),
  from_inclusive: a.on.describe('The service returns the lower bound itself.'),
  to_inclusive: a.on.describe('The service returns the upper bound itself.'),
  status_param: a.text.describe('Query parameter that filters by status.'),
  status: a.text.describe('Value of `status_param`, such as `qualified,void`.'),
  status_values: a.texts.describe('Single statuses, to split an instant with too many calls for one query.'),
  exclude_param: a.text.describe('Query parameter that leaves fields out.'),
  exclude: a.texts.describe('Heavy top-level fields that a summary listing leaves out, such as `transcript_json`.'),
  single_path: a.text.describe('Path of one call under `base_url`, such as `/calls/{unique_id}`; unset = none.'),
  params: z.record(z.string(), z.string()).default({}).describe('Further query parameters sent with every listing.'),
  authoritative_fields: a.texts.describe(
    'Top-level fields that the list always carries. For these fields only, null or empty in the list replaces content.',
  ),
});

export type ListConfig = z.infer<typeof listConfigSchema>;
export type PaginationConfig = z.infer<typeof paginationSchema>;
export type AxisConfig = z.infer<typeof axisSchema>;
