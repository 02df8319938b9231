/** Requests and answers of the simulated call list: one object for each dialect. */
import { z } from 'zod';
import { a, withDefault } from './config/values.ts';

const { count, oneOf } = withDefault;

const windowSchema = z.strictObject({
  /** Axis that is cut. */
  axis: z.enum(['timestamp', 'qualified']),
  /** Name of the lower bound. */
  from: z.string(),
  /** Name of the upper bound. */
  to: z.string(),
});

const sizes = {
  /** Records a page when the request does not say. */
  defaultSize: a.count,
  /** Most records a page. */
  maxSize: a.count,
};

const pagingSchema = z.discriminatedUnion('style', [
  z.strictObject({
    style: z.literal('offset'),
    offset: z.string(),
    size: z.string(),
    /** Greatest offset. */
    maxOffset: a.count.optional(),
    /** A greater one is 400, or taken for this one. */
    beyondMax: oneOf(['refuse', 'clamp'], 'refuse'),
    ...sizes,
  }),
  z.strictObject({ style: z.literal('page'), page: z.string(), size: z.string(), first: z.number().int(), ...sizes }),
  z.strictObject({
    style: z.literal('cursor'),
    /** Request parameter. */
    cursor: z.string(),
    size: z.string(),
    /** Path of the next cursor in the body. */
    bodyPath: a.text,
    /** Response header that holds the next cursor. */
    header: a.text,
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
  /** Authorization scheme. */
  scheme: z.enum(['bearer', 'Token']),
  /** How the version is selected. */
  version: versionSchema,
  /** Style of paging. */
  paging: pagingSchema,
  /** Window parameters; none has effect when empty. */
  windows: z.array(windowSchema),
  /** Form of window bounds. */
  format: z.enum(['iso', 'epoch_seconds', 'epoch_milliseconds']),
  /** Bounds that belong to the window. */
  bounds: z.enum(['inclusive', 'half_open', 'open']),
  /** Bounds are cut to multiples, such as to their date. */
  boundStepMs: count(1),
  /** The upper bound means the whole of its step. */
  boundThrough: a.off,
  /** Bounds are taken for local times, so far ahead of UTC. */
  boundZoneMinutes: z.number().int().default(0),
  /** Of a longer window, the list shows only so much from its beginning. */
  longestMs: a.count.optional(),
  /** The list shows so much from the end of a longer window instead. */
  longestEnd: a.off,
  /** Path of the records in the body; empty = the body is the array. */
  records: z.string(),
  /** Path of the total in the body. */
  totalPath: a.text,
  /** Response header that holds the total. */
  totalHeader: a.text,
  /** Most records a query can reach, without any marker. */
  cap: a.count.optional(),
  /** Whether the total of a query above the cap is the cap, or what really matches. */
  capTotal: oneOf(['capped', 'true'], 'capped'),
  /** Descending order on every axis. */
  newestFirst: a.off,
  /** Effect of a page size above the maximum. */
  overMax: z.enum(['refuse', 'clamp']),
  /** Parameter that names the axis of the order. */
  order: a.text,
  /** Parameter that filters by status. */
  status: a.text,
  /** Parameter that leaves first-level fields out. */
  exclude: a.text,
  /** Whether GET /calls/{unique_id} exists. */
  single: z.boolean(),
  /** Form of error bodies. */
  errors: z.enum(['detail', 'list']),
});
export type Dialect = z.output<typeof dialectSchema>;
export type DialectInput = z.input<typeof dialectSchema>;
