/** Requests and answers of the simulated call list: one object for each dialect. */
import { z } from 'zod';
import { a, withDefault } from './config/values.ts';

const { count, oneOf } = withDefault;

const windowSchema = z.strictObject({
  axis: z.enum(['timestamp', 'qualified']).describe('What is cut.'),
  from: z.string().describe('Name of the lower bound.'),
  to: z.string().describe('Name of the upper bound.'),
});

const sizes = {
  defaultSize: a.count.describe('Records a page when the request does not say.'),
  maxSize: a.count.describe('Most records a page.'),
};

const pagingSchema = z.discriminatedUnion('style', [
  z.strictObject({
    style: z.literal('offset'),
    offset: z.string(),
    size: z.string(),
    maxOffset: a.count.optional().describe('Greatest offset.'),
    beyondMax: oneOf(['refuse', 'clamp'], 'refuse').describe('A greater one is 400, or taken for this one.'),
    ...sizes,
  }),
  z.strictObject({ style: z.literal('page'), page: z.string(), size: z.string(), first: z.number().int(), ...sizes }),
  z.strictObject({
    style: z.literal('cursor'),
    cursor: z.string().describe('Request parameter.'),
    size: z.string(),
    bodyPath: a.text.describe('Where the body holds the next cursor.'),
    header: a.text.describe('Which response header holds the next cursor.'),
    ...sizes,
  }),
  z.strictObject({
    style: z.literal('link'),
    cursor: z.string(),
    size: z.string(),
    form: z.enum(['absolute', 'relative']),
    ...sizes,
  }),
  z.strictObject({ style: z.literal('none') }),
]);

const versionSchema = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('none') }),
  z.strictObject({ by: z.literal('path'), prefix: z.string().startsWith('/') }),
  z.strictObject({ by: z.literal('header'), name: z.string(), value: z.string() }),
  z.strictObject({ by: z.literal('query'), name: z.string(), value: z.string() }),
]);

export const dialectSchema = z.strictObject({
  description: z.string(),
  scheme: z.enum(['bearer', 'Token']).describe('Authorization scheme.'),
  version: versionSchema.describe('How the version is selected.'),
  paging: pagingSchema.describe('Style of paging.'),
  windows: z.array(windowSchema).describe('Window parameters; none has effect when empty.'),
  format: z.enum(['iso', 'epoch_seconds', 'epoch_milliseconds']).describe('Form of window bounds.'),
  bounds: z.enum(['inclusive', 'half_open', 'open']).describe('Which bounds belong to the window.'),
  boundStepMs: count(1).describe('Bounds are cut to multiples, such as to their date.'),
  boundThrough: a.off.describe('The upper bound means the whole of its step.'),
  boundZoneMinutes: z.number().int().default(0).describe('Bounds are taken for local times, so far ahead of UTC.'),
  longestMs: a.count.optional().describe('Of a longer window, the list shows only so much from its beginning.'),
  longestEnd: a.off.describe('It shows so much from its end instead.'),
  records: z.string().describe('Path of the records in the body; empty = the body is the array.'),
  totalPath: a.text.describe('Where the body holds the total.'),
  totalHeader: a.text.describe('Which response header holds the total.'),
  cap: a.count.optional().describe('Most records a query can reach, without any marker.'),
  capTotal: oneOf(['capped', 'true'], 'capped').describe(
    'Whether the total of a query above the cap is the cap, or what really matches.',
  ),
  newestFirst: a.off.describe('Descending order on every axis.'),
  overMax: z.enum(['refuse', 'clamp']).describe('What a page size above the maximum does.'),
  order: a.text.describe('Parameter that names the axis of the order.'),
  status: a.text.describe('Parameter that filters by status.'),
  exclude: a.text.describe('Parameter that leaves first-level fields out.'),
  single: z.boolean().describe('Whether GET /calls/{unique_id} exists.'),
  errors: z.enum(['detail', 'list']).describe('Form of error bodies.'),
});
export type Dialect = z.output<typeof dialectSchema>;
export type DialectInput = z.input<typeof dialectSchema>;
