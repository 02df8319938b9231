/**
 * A call as a vCon, the IETF's container for conversations (draft-ietf-vcon-vcon-core-04). The schema has only the
 * parts that `callsync export` writes. Readers of the draft accept all of them.
 */
import { z } from 'zod';

const instant = z.iso.datetime();
const index = z.int().min(0);

const text = z.string().optional();
/** `tel` is a number as sent, without separators; global ones begin with a plus sign. */
const partySchema = z.strictObject({ tel: text, mailto: text, name: text });

/** Words of one party, or one utterance of an unknown speaker. */
const dialogSchema = z.strictObject({
  type: z.literal('text'),
  start: instant,
  /** Seconds. */
  duration: z.number().min(0).optional(),
  /** An array, also of one: readers take no number. */
  parties: z.array(index).length(1).optional(),
  mediatype: z.literal('text/plain'),
  body: z.string(),
  encoding: z.literal('none'),
});

const analysisSchema = z.strictObject({
  type: z.enum(['transcript', 'tags', 'call_record']),
  dialog: z.array(index),
  vendor: z.string(),
  product: text,
  mediatype: z.literal('application/json'),
  body: z.unknown().refine((body) => body !== null && body !== undefined),
  encoding: z.literal('json'),
});

const attachmentSchema = z.strictObject({
  purpose: z.literal('tags'),
  start: instant,
  party: index,
  dialog: index,
  mediatype: z.literal('application/json'),
  body: z.array(z.string().regex(/:/)),
  encoding: z.literal('json'),
});

export const vconSchema = z.strictObject({
  vcon: z.literal('0.4.0'),
  uuid: z.uuid({ version: 'v8' }),
  created_at: instant,
  updated_at: instant.optional(),
  parties: z.array(partySchema),
  dialog: z.array(dialogSchema),
  analysis: z.array(analysisSchema),
  attachments: z.array(attachmentSchema),
});
export type Vcon = z.infer<typeof vconSchema>;
