/**
 * The call record on the wire (interface §2.1-2.5). Unknown fields stay, and only a usable `unique_id` is required,
 * because the interface leaves the fields of the list open (§2.6). A badly typed field never refuses a record: flatten
 * stores null and an entry in `issues`.
 */

interface CallField {
  /** The JSON types that the interface shows (§2.1). Null is one of them where it says so or shows nothing to the contrary. */
  readonly types: readonly string[];
  /** Whether the field goes when its call passes the age limit of free fields. */
  readonly age: 'essential' | 'free';
}

const essential = (...types: readonly string[]): CallField => ({ types, age: 'essential' });
const free = (...types: readonly string[]): CallField => ({ types, age: 'free' });

/**
 * The top-level fields of a record that have a place; the rest is `extra`, and free. `qualified`, the end of processing,
 * and `qualification` are of the public reference of this family.
 */
export const callFields: ReadonlyMap<string, CallField> = new Map(
  Object.entries({
    unique_id: essential('string'),
    timestamp: essential('string'),
    transcript_json: essential('object', 'null'),
    duration: essential('string'),
    ivr_end: essential('number'),
    status: essential('string'),
    campaign: essential('string'),
    audio_state: essential('string'),
    metadata: free('object', 'null'),
    tags: essential('array', 'null'),
    visit: free('object', 'null'),
    tracking_info: free('object', 'null'),
    out: essential('object', 'null'),
    in: essential('object', 'null'),
    qualified: essential('string', 'null'),
    qualification: essential('object', 'null'),
  }),
);

/** A record as parsed from JSON: nothing is known of its fields until they have been looked at. */
export type CallDocument = Record<string, unknown>;

/** Longest `unique_id` that is taken; a longer one goes to quarantine (keys must fit an index entry). */
export const maxCallIdLength = 512;
