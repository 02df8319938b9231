/** Fields that callsync adds to the document of a call, where there are privacy rules. */
import { isObject } from '../lib/parse-json.ts';

/**
 * Field of a document with keyed hashes of the values that its records name. A transcript may come without the contact
 * whose name is said in it.
 */
export const knownField = 'callsync_known';

/** Hashes of several such fields; other content is left out. */
export const joinKnown = (...fields: readonly unknown[]): readonly unknown[] =>
  [...new Set(fields.flat().filter((hash) => /^[0-9a-f]{12}$/.test(String(hash))))].sort();

// Words of a transcript that rules replaced: places and detectors, never values. The list is part of the transcript, so
// that both fold as one value.

/** Words `first` to `last` of an utterance; both null where all of it was replaced, or where it has no words. */
export type Redaction = readonly [
  utterance: number,
  first: number | null,
  last: number | null,
  detector: string,
  /** Version of the detector; null for a configured pattern. */
  version: number | null,
];

/** Field of a transcript that holds the list, in the order of `compareRedactions`. */
export const redactionsField = 'callsync_redactions';

/** No detector looks at whole numbers below it, and no utterance has so many words. */
const mostPlaces = 1_000_000;
const mostVersions = 1_000;

const isPlace = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < mostPlaces;

const isVersion = (value: unknown): value is number | null =>
  value === null || (isPlace(value) && value > 0 && value < mostVersions);

/** The entries of a list that have the form of redactions; all other entries are omitted. */
export const readRedactions = (value: unknown): readonly Redaction[] =>
  Array.isArray(value) ? value.flatMap((entry: unknown) => readRedaction(entry) ?? []) : [];

/** Redactions of utterances with too many ambiguous numbers. */
export const listUnread = (transcript: unknown): readonly Redaction[] =>
  readRedactions(isObject(transcript) ? transcript[redactionsField] : []).filter(([, , , name]) => name === 'unread');

const readRedaction = (entry: unknown): [Redaction] | undefined => {
  if (!Array.isArray(entry) || entry.length !== 5) return undefined;
  const [utterance, first, last, detector, version]: readonly unknown[] = entry;
  const hasWords = isPlace(first) && isPlace(last) && first <= last;
  if (!isPlace(utterance) || !(hasWords || (first === null && last === null))) return undefined;
  if (typeof detector !== 'string' || !/^[a-z][a-z0-9_]{0,31}$/.test(detector) || !isVersion(version)) return undefined;
  // A negative zero reads as another number once it was stored.
  const place = (at: number): number => at + 0;
  return [[place(utterance), hasWords ? place(first) : null, hasWords ? place(last) : null, detector, version]];
};

/** By utterance, then by word, whole utterances first. */
export const compareRedactions = (a: Redaction, b: Redaction): number =>
  a[0] - b[0] ||
  (a[1] ?? -1) - (b[1] ?? -1) ||
  (a[2] ?? -1) - (b[2] ?? -1) ||
  compareTexts(a[3], b[3]) ||
  (a[4] ?? 0) - (b[4] ?? 0);

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
