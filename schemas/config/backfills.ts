/** Config entries of `sync.backfills`: ranges that are read again and again, at times of a schedule. */
import { optional, z } from 'zod';
import { faultOfCron } from './cron.ts';
import { a, durationSchema, matching, timeZone, withDefault } from './values.ts';

const { duration, oneOf } = withDefault;

export const scheduledBackfillSchema = z
  .strictObject({
    name: matching(/^[a-z0-9][a-z0-9_-]{0,59}$/, 'must be lower-case letters, digits, - and _').describe(
      'Name of the schedule and of its backfills.',
    ),
    cron: z
      .string()
      .refine((text) => faultOfCron(text) === undefined, { error: ({ input }) => faultOfCron(input as string) })
      .optional()
      .describe('Times of the runs in cron, such as `0 3 * * *`. Day of month and day of week must both match.'),
    every: durationSchema('1s').optional().describe('Interval between runs, such as 6h, instead of `cron`.'),
    time_zone: timeZone.describe('Time zone of `cron`.'),
    last: duration('30d').describe('Each run reads from this far before its scheduled time to the present.'),
    axis: a.text.describe('Time axis; `source.list.axis` by default.'),
    order: optional(z.enum(['newest_first', 'oldest_first'])).describe(
      'End of the range that a run reads first; `sync.order` by default.',
    ),
    concurrency: optional(z.int().min(1).max(256)).describe('Windows read at once; `sync.concurrency` by default.'),
    force: a.on.describe('Read windows again that callsync has read.'),
    jitter: duration('0s').describe('Each run begins up to this much later, at random.'),
    catchup_window: duration('7d').describe('Longest delay of a run that Temporal missed; later ones count as missed.'),
    overlap_policy: oneOf(['skip', 'buffer_one', 'buffer_all', 'allow_all'], 'buffer_one').describe(
      'Policy for a run that is due while an earlier run continues. `buffer_one` starts one run afterwards.',
    ),
  })
  .refine(({ cron, every }) => (cron === undefined) !== (every === undefined), {
    error: 'takes one of `cron`, such as 0 1 * * SUN, and `every`, such as 6h',
  });

export type ScheduledBackfill = z.infer<typeof scheduledBackfillSchema>;
