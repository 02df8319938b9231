/** Config section `sync:`: how calls are kept up to date. */
import { z } from 'zod';
import { parseInstant } from '../instant.ts';
import { scheduledBackfillSchema } from './backfills.ts';
import { a, durationSchema, ownNames, parseDuration, withDefault } from './values.ts';

const { between, duration, list, natural, notNegative, oneOf } = withDefault;

const windowSchema = z
  .strictObject({
    initial: duration('1h').describe('Length of the first windows; later ones follow the number of calls before.'),
    min: duration('1s', '1ms').describe('Shortest planned window. callsync splits a window that is too full further.'),
    max: duration('31d').describe('Longest planned window.'),
    target_calls: between(1, 1_000_000, 2_000).describe('Calls that a window should hold.'),
  })
  .refine(({ initial, min, max }) => min <= initial && initial <= max, { error: 'needs `min` ≤ `initial` ≤ `max`' });

const rereadSchema = z.strictObject({
  horizon: z
    .union([z.literal('learned'), durationSchema()])
    .prefault('learned')
    .describe('Age up to which callsync reads windows again: `learned` from late changes, or fixed, such as 7d.'),
  share: z
    .number()
    .min(0.5)
    .max(0.999999)
    .default(0.999)
    .describe('Share of late changes that the learned horizon must catch.'),
  delay: duration('1d').describe('Longest time from a late change until callsync reads it.'),
  max_horizon: duration('90d').describe('Longest horizon that learning may choose.'),
  sample: notNegative(0.01, 1).describe('Share of the windows beyond the horizon that callsync reads again, too.'),
});

const reconcileSchema = z.strictObject({
  enabled: a.on.describe('Compare the API with the warehouses regularly, and at once after a proof was withdrawn.'),
  interval: duration('1d', '1s').describe('Interval between two runs.'),
  age: duration('2d').describe('Least age of a window before callsync compares it.'),
  span: duration('30d').describe('Range in which each run looks for windows without a good verdict.'),
  backlog_days: natural(30, 10_000).describe(
    'Days before `span` that each run also compares, oldest first, until every read day has a good verdict. `callsync coverage` estimates the end.',
  ),
  rows_days: natural(1, 1_000).describe(
    'Days whose rows each run compares value by value in every warehouse, in rotation; 0 = none. This comparison finds values that somebody altered.',
  ),
  level: oneOf(['ids', 'fields', 'records'], 'fields').describe(
    'Level of the comparison with the service: ids only, the fields of a summary listing, or whole records.',
  ),
});

export const syncConfigSchema = z
  .strictObject({
    start_from: z
      .string()
      .refine((text) => parseDuration(text) !== undefined || parseInstant(text) !== undefined, {
        error:
          'must be a date such as 2025-01-31 (UTC), a date-time with its zone such as 2025-01-31T08:00:00Z, or a duration before the first start such as 7d',
      })
      .default('7d')
      .describe('Start of the first sync: a date (UTC), date-time with its zone, or duration before the first start.'),
    interval: duration('1m', '1s').describe('Interval between two polls for new calls.'),
    settle: duration('30s').describe('Polls stop this far before the current time, because calls can appear late.'),
    lookback: duration('10m').describe('Each run begins this far before the watermark.'),
    order: oneOf(['newest_first', 'oldest_first'], 'newest_first').describe('Windows to read first after a downtime.'),
    window: windowSchema.prefault({}).describe('Sizes of windows.'),
    concurrency: between(1, 256, 4).describe('Windows of one backfill that are read at once, over all workers.'),
    backfills: list(scheduledBackfillSchema)
      .refine(...ownNames)
      .describe('Backfills of a relative range that run by a schedule.'),
    reread: rereadSchema.prefault({}).describe('Reading older windows again, because calls change late.'),
    reconcile: reconcileSchema.prefault({}).describe('Proving that windows are complete.'),
    inbox_sweep: duration('1m', '1s').describe('Interval of checks of the inbox, even without a notification.'),
    confirm_webhooks: a.off.describe(
      'Ask the API for the call after each delivery, with one request each. This corrects captured bodies that somebody sends under a new delivery id.',
    ),
    clock_skew: duration('2m').describe(
      'Largest lead of the service’s clock over ours; later times count as arrival plus this lead. callsync ignores a delivery id or Date header that is ahead by more than 15m, or by this lead if it is longer. If a delivery arrives later than the time in its id by more than that limit, callsync asks the API for the call.',
    ),
  })
  .refine(({ lookback, settle }) => lookback >= settle, {
    path: ['lookback'],
    error: 'must be at least as long as sync.settle, or calls that appear late are never listed',
  })
  .describe('Continuous sync, reconciliation and re-reading.');

export type SyncConfig = z.infer<typeof syncConfigSchema>;

/** The instant in microseconds that `start_from` means for a first start at `now`, in milliseconds. */
export const resolveStart = (startFrom: string, now: number): number =>
  parseInstant(startFrom) ?? (now - (parseDuration(startFrom) ?? 0)) * 1000;

export type SyncSettings = ReturnType<typeof readSettings>;

const allMicros = <T extends Record<string, number>>(times: T) =>
  Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, Math.round(ms * 1000)])) as T;

/** The settings as the use cases take them, with lengths in microseconds. @param now milliseconds, where a first sync may begin. */
export const readSettings = (sync: SyncConfig, now = Date.now()) => {
  const { target_calls: targetCalls, ...window } = sync.window;
  const { horizon, share, sample, delay, max_horizon: maxHorizon } = sync.reread;
  const { enabled, level, age, span, interval, backlog_days: backlogDays, rows_days: rowsDays } = sync.reconcile;
  return {
    windows: { ...allMicros(window), targetCalls },
    sync: {
      ...allMicros({ settle: sync.settle, lookback: sync.lookback, interval: sync.interval }),
      /** Start of the first run; a stored start wins. */
      start: resolveStart(sync.start_from, now),
      direction: sync.order,
    },
    reread: {
      ...allMicros({ delay, maxHorizon }),
      /** `horizon`: undefined = learned. */
      ...{ share, sample, horizon: horizon === 'learned' ? undefined : Math.round(horizon * 1000) },
    },
    reconcile: { ...allMicros({ age, span, interval, settle: sync.settle }), enabled, level, backlogDays, rowsDays },
  };
};
