/** Undocumented behaviour of the simulated call list; each was seen, or is likely, in a real service. */
import { optional, z } from 'zod';
import { a, withDefault } from './config/values.ts';

const { list, natural, notNegative, oneOf, share } = withDefault;

const poisonSchema = z.strictObject({
  record: a.natural.describe('Index of the call, in the order of call times.'),
  kind: z.enum(['error_500', 'broken_json']).describe('What every answer with this record is.'),
  light: a.on.describe('Answers without transcripts fail too.'),
  single: a.on.describe('The single call fails too.'),
});

export const quirksSchema = z.strictObject({
  doubledShare: share(0).describe('Calls that the list names twice in a row and counts twice.'),
  countLagSeconds: notNegative(0).describe('Totals tell what the list held so many seconds ago.'),
  replicaLateSeconds: notNegative(0).describe('A replica that is so many seconds late answers every second request.'),
  totals: oneOf(['true', 'half', 'double', 'page', 'all', 'rest'], 'true').describe(
    'Totals say what matches, half or twice of it, how many records the page has, how many there are at all, or what is left from the page on.',
  ),
  order: oneOf(['steady', 'random'], 'steady').describe('`random`: records come in another order with each request.'),
  pageRepeats: natural(0).describe('Each page but the first begins so many records early.'),
  pageMost: optional(a.count).describe(
    'A page holds no more, and the next one begins where the page asked for would have ended.',
  ),
  pageVaries: share(0).describe('Pages that hold only half of what was asked for.'),
  gaps: z
    .strictObject({ share: a.share, records: a.count })
    .prefault({ share: 0, records: 1 })
    .describe('Records that are left out after the pages were cut, in runs: pages are short, or empty, in the middle.'),
  cursors: oneOf(['good', 'expired', 'same', 'lost', 'endless'], 'good').describe(
    'One place in ten leads on by a cursor that has expired, by the one that led there, or not at all; or empty pages behind the end lead on for ever.',
  ),
  pagesMost: a.count.optional().describe('Pages behind so many are empty, whatever their size.'),
  capAfter: natural(0).describe('The cap of the dialect begins with the request of this number.'),
  capBytes: a.count.optional().describe('An answer holds no more bytes of records, without any marker.'),
  partialShare: share(0).describe('Answers with half of their records, and an error beside them.'),
  listDelayMs: notNegative(0).describe('Time before each answer of the list, such as for counting.'),
  poison: list(poisonSchema).describe('Records with which no answer succeeds.'),
});
