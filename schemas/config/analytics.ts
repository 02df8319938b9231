/** Config section `analytics:`: settings of the marts that the service does not report. */
import { optional, z } from 'zod';
import { timeZone, withDefault } from './values.ts';

const { count, notNegative, oneOf } = withDefault;

const unitSchema = oneOf(['unknown', 'seconds', 'milliseconds'], 'unknown');
const sideSchema = z.enum(['unknown', 'in', 'out']);
/** Metadata keys that can become a column. */
export const metadataKey = /^[^\\\p{Cc}]{1,1000}$/u;
const columnName = /^[a-z][a-z0-9_]{0,62}$/;

/** Columns of calls_wide that every installation has. */
export const ownColumns =
  'call_id call_timestamp business_day business_hour processed_at status campaign agent direction dept client_id lang audio_state in_data in_type out_data out_type agent_side duration_as_sent duration_seconds ivr_end_seconds duration_status utterance_count word_count tag_count first_seen_at last_seen_at source_deleted_at'.split(
    ' ',
  );

/** A column of a type other than text, and the two beside it. */
export const typedColumns = (name: string): string[] => [name, `${name}_as_sent`, `${name}_unparsable`];

/** Configured columns of calls_wide; a value of another type than text has its text and a flag beside it. */
const namesOf = (fields: Readonly<Record<string, { readonly name: string; readonly type: string }>>): string[] =>
  Object.values(fields).flatMap(({ name, type }) => (type === 'text' ? [name] : typedColumns(name)));

const units = {
  call_duration: unitSchema.describe('Unit of the field duration of a call.'),
  ivr_end: unitSchema.describe('Unit of the field ivr_end of a call.'),
  utterance_start: unitSchema.describe('Unit of the field datetime of an utterance.'),
  utterance_duration: unitSchema.describe('Unit of the field duration of an utterance.'),
  word_start: unitSchema.describe('Unit of the field start of a word.'),
  word_length: unitSchema.describe('Unit of the field length of a word.'),
};
export type UnitField = keyof typeof units;
/** Fields whose unit the interface does not state, by their names in `analytics.units`. */
export const unitFields = Object.keys(units) as readonly UnitField[];
export type Unit = z.infer<typeof unitSchema>;

export const analyticsConfigSchema = z
  .strictObject({
    time_zone: timeZone.describe('Time zone of business days in marts (IANA name). Verdicts are for UTC days.'),
    agent_side: z
      .strictObject({
        default: sideSchema.default('unknown').describe('Side of the agent in transcripts, for all directions.'),
        by_direction: z
          .record(z.string().regex(/^[\p{L}\p{N}_ .-]{1,40}$/u), sideSchema)
          .default({})
          .describe('Side of the agent by metadata.Direction (in any case), such as `{IN: out, OUT: in}`.'),
      })
      .prefault({})
      .describe('Side of the agent in a transcript. If it is unknown, figures that need it are empty.'),
    units: z
      .strictObject(units)
      .prefault({})
      .describe('Units of fields that the service does not state; `callsync calibrate` finds them out.'),
    silence_gap_s: notNegative(0).describe('Shortest gap that counts as silence, in seconds.'),
    repeat_days: count(7).describe('Most calendar days between two calls of a caller that make a repeat.'),
    fields: z
      .record(
        z.string().regex(metadataKey, 'must be a key of metadata, without control characters and backslashes'),
        z.strictObject({
          name: z.string().regex(columnName).describe('Name of the column in calls_wide.'),
          type: oneOf(['text', 'numeric', 'integer', 'boolean', 'date'], 'text').describe(
            'Type of the column. Values that cannot be converted become NULL. Columns NAME_as_sent and NAME_unparsable hold the text and a flag.',
          ),
          decimal: optional(z.enum(['point', 'comma'])).describe(
            'Decimal mark of numbers that people wrote, such as 1 000,5. Groups of three digits may have a space, an apostrophe, or the other mark between them. By default, only digits and a point are a number.',
          ),
        }),
      )
      .default({})
      .refine(
        (fields) => new Set([...ownColumns, ...namesOf(fields)]).size === ownColumns.length + namesOf(fields).length,
        {
          error: 'names must differ from each other and from the columns of calls_wide',
        },
      )
      .describe('Metadata keys that become columns of calls_wide; `callsync calibrate --fields` proposes them.'),
  })
  .describe('Facts for marts that the service does not send.');

export type AnalyticsConfig = z.infer<typeof analyticsConfigSchema>;
