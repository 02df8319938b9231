/** Undocumented behaviour of the simulated call list; each was seen, or is likely, in a real service. */
import { optional, z } from 'zod';
import { a, withDefault } from './config/values.ts';

const { list, natural, notNegative, oneOf, share } = withDefault;

const poisonSchema = z.strictObject({
  /** Index of the call, in the order of call times. */
  record: a.natural,
  /** Fault of every answer with this record. */
  kind: z.enum(['error_500', 'broken_json']),
  /** Answers without transcripts fail too. */
  light: a.on,
  /** The single call fails too. */
  single: a.on,
});

export const quirksSchema = z.strictObject({
  /** Calls that the list names twice in a row and counts twice. */
  doubledShare: share(0),
  /** Totals are those of so many seconds ago. */
  countLagSeconds: notNegative(0),
  /** A replica that is so many seconds late answers every second request. */
  replicaLateSeconds: notNegative(0),
  /** Number of the matches, half or twice of it, of the records of the page, of all, or of the rest from the page on. */
  totals: oneOf(['true', 'half', 'double', 'page', 'all', 'rest'], 'true'),
  /** `random`: records come in another order with each request. */
  order: oneOf(['steady', 'random'], 'steady'),
  /** Each page but the first begins so many records early. */
  pageRepeats: natural(0),
  /** A page holds no more, and the next one begins where the page asked for would have ended. */
  pageMost: optional(a.count),
  /** Pages that hold only half of the requested records. */
  pageVaries: share(0),
  /** Records that are left out after the pages were cut, in runs: pages are short, or empty, in the middle. */
  gaps: z.strictObject({ share: a.share, records: a.count }).prefault({ share: 0, records: 1 }),
  /** One place in ten has an expired cursor, the cursor that led there, or none; or empty pages behind the end lead on for ever. */
  cursors: oneOf(['good', 'expired', 'same', 'lost', 'endless'], 'good'),
  /** Pages behind so many are empty, whatever their size. */
  pagesMost: a.count.optional(),
  /** The cap of the dialect begins with the request of this number. */
  capAfter: natural(0),
  /** An answer holds no more bytes of records, without any marker. */
  capBytes: a.count.optional(),
  /** Answers with half of their records, and an error beside them. */
  partialShare: share(0),
  /** Time before each answer of the list, such as for counting. */
  listDelayMs: notNegative(0),
  /** Records with which no answer succeeds. */
  poison: list(poisonSchema),
});
