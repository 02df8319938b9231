/** Config section `sync:`: how calls are kept up to date. */
import { z } from 'zod';
import { scheduledBackfillSchema } from './backfills.ts';
import { a, durationSchema, parseDuration } from './values.ts';

const windowSchema = z
  .strictObject({
    initial: durationSchema
      .prefault('1h')
      .describe('Length of the first windows, until it is learned how much they hold.'),
    min: durationSchema
      .prefault('1s')
      .describe('Shortest window that planning chooses; splitting goes on below it where it must.'),
    max: durationSchema.prefault('31d').describe('Longest window.'),
    target_calls: z.number().int().min(1).max(1_000_000).default(2_000).describe('Calls that a window should hold.'),
  })
  .refine(({ initial, min, max }) => min <= initial && initial <= max, { error: 'needs `min` ≤ `initial` ≤ `max`' });

const rereadSchema = z.strictObject({
  horizon: z
    .union([z.literal('learned'), durationSchema])
    .prefault('learned')
    .describe('Range of older windows to read again: `learned` from late changes of calls, or fixed, such as 7d.'),
  share: z
    .number()
    .min(0.5)
    .max(0.999999)
    .default(0.999)
    .describe('Share of late changes that the learned horizon must catch.'),
  delay: durationSchema.prefault('1d').describe('Longest time after the change until callsync reads it.'),
  max_horizon: durationSchema.prefault('90d').describe('Longest horizon that learning may choose.'),
  sample: a.notNegative
    .max(1)
    .default(0.01)
    .describe(
      'Share of the windows beyond the horizon that is read again anyway, so that the horizon cannot confirm itself.',
    ),
});

const reconcileSchema = z.strictObject({
  enabled: a.on.describe('Compare the API with the warehouses regularly.'),
  interval: durationSchema.prefault('1d').describe('Interval between two runs.'),
  age: durationSchema.prefault('2d').describe('Least age of a window before callsync compares it.'),
  span: durationSchema.prefault('30d').describe('Range in which each run looks for windows without a verdict.'),
  backlog_days: a.natural
    .max(10_000)
    .default(30)
    .describe(
      'Days before `span` that each run judges as well, oldest first, until every day that was read has a verdict; `callsync coverage` says by when.',
    ),
  rows_days: a.natural
    .max(1_000)
    .default(1)
    .describe(
      'Judged days of which each run compares the rows themselves in every warehouse, in rotation, to find values that were altered there; 0 = none.',
    ),
  level: z
    .enum(['ids', 'fields', 'records'])
    .default('fields')
    .describe('Level of the comparison with the service: ids only, the fields of a summary listing, or whole records.'),
});

export const syncConfigSchema = z
  .strictObject({
    start_from: z
      .string()
      .refine((text) => parseDuration(text) !== undefined || !Number.isNaN(Date.parse(text)), {
        error: 'must be a date such as 2025-01-31, or a duration before the first start such as 7d',
      })
      .default('7d')
      .describe(
        'Where continuous sync begins when nothing has been read yet: a date (UTC), or a duration before its first start.',
      ),
    interval: durationSchema
      .prefault('1m')
      .describe('Interval between two polls for new calls; webhooks arrive in between.'),
    settle: durationSchema
      .prefault('30s')
      .describe('Safety delay: polls stop this far before the current time, because calls can appear late.'),
    lookback: durationSchema.prefault('10m').describe('Each run begins this far before the watermark.'),
    order: z
      .enum(['newest_first', 'oldest_first'])
      .default('newest_first')
      .describe('Windows that callsync reads first after a downtime.'),
    window: windowSchema.prefault({}).describe('Sizes of windows.'),
    concurrency: z
      .number()
      .int()
      .min(1)
      .max(256)
      .default(4)
      .describe('Windows of one backfill that are read at once, over all workers.'),
    backfills: z
      .array(scheduledBackfillSchema)
      .default([])
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, { error: 'names must differ' })
      .describe('Backfills of a relative range that run by a schedule.'),
    reread: rereadSchema.prefault({}).describe('Reading older windows again, because calls change late.'),
    reconcile: reconcileSchema.prefault({}).describe('Proving that windows are complete.'),
    inbox_sweep: durationSchema
      .prefault('1m')
      .describe('Interval between two looks into the inbox without a notification.'),
    confirm_webhooks: a.off.describe(
      'Ask the API for the call after each delivery, one request each: its answer decides, also about a captured body that somebody sends under a new delivery id.',
    ),
    clock_skew: durationSchema
      .prefault('2m')
      .describe(
        'Most that the service’s clock may be ahead of ours: an observation counts as made at most this long after it arrived. A Date header further than this (or 15m, if that is longer) from its arrival is not taken for a time, nor is a delivery id so far ahead; after a delivery whose id is so far behind, the API is asked for the call.',
      ),
  })
  .refine(({ lookback, settle }) => lookback >= settle, {
    path: ['lookback'],
    error: 'must be at least as long as sync.settle, or calls that appear late are never listed',
  })
  .describe('Continuous sync, reconciliation and re-reading.');

export type SyncConfig = z.infer<typeof syncConfigSchema>;

/** The instant that `start_from` means for a first start at `now`. */
export const resolveStart = (startFrom: string, now: Date): Date => {
  const duration = parseDuration(startFrom);
  return duration === undefined ? new Date(startFrom) : new Date(now.getTime() - duration);
};
