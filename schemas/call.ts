/**
 * The call record on the wire (interface §2.1-2.5). Unknown fields stay, and only a usable `unique_id` is required,
 * because the interface leaves the fields of the list open (§2.6). A badly typed field never refuses a record: flatten
 * stores null and an entry in `issues`.
 */
import { tableOf } from './tables.ts';

/**
 * The fields and types that the interface shows (§2.1). Null is one of them where it says so or shows nothing to the
 * contrary. `qualified`, the end of processing, and `qualification` are of the public reference of this family.
 */
export const shownTypes: Readonly<Record<string, readonly string[]>> = {
  unique_id: ['string'],
  timestamp: ['string'],
  transcript_json: ['object', 'null'],
  duration: ['string'],
  ivr_end: ['number'],
  status: ['string'],
  campaign: ['string'],
  audio_state: ['string'],
  metadata: ['object', 'null'],
  tags: ['array', 'null'],
  visit: ['object', 'null'],
  tracking_info: ['object', 'null'],
  out: ['object', 'null'],
  in: ['object', 'null'],
  qualified: ['string', 'null'],
  qualification: ['object', 'null'],
};

/** A record as parsed from JSON: nothing is known of its fields until they have been looked at. */
export type CallDocument = Record<string, unknown>;

/** The top-level fields of a record that have a place: those of §2.1 and those that a column is read from. The rest is `extra`. */
export const knownCallFields: readonly string[] = [
  ...new Set([
    ...Object.keys(shownTypes),
    ...tableOf('calls').columns.flatMap(({ from }) => (typeof from === 'string' ? (from.split('.')[0] ?? []) : [])),
  ]),
];
/** Longest `unique_id` that is taken; a longer one goes to quarantine (keys must fit an index entry). */
export const maxCallIdLength = 512;
