/**
 * The call record on the wire (interface §2.1-2.5). Every object is loose, because the interface leaves the fields of the
 * list open (§2.6).
 */
import { z } from 'zod';

const wordSchema = z.looseObject({
  score: z.number().optional(),
  start: z.number().optional(),
  value: z.string().optional(),
  length: z.number().optional(),
});

const utteranceSchema = z.looseObject({
  from: z.string().optional(),
  words: z.array(wordSchema).optional(),
  content: z.string().optional(),
  datetime: z.number().optional(),
  duration: z.number().optional(),
});

const transcriptSchema = z.looseObject({
  callData: z.array(utteranceSchema).optional(),
  callUniqueId: z.string().optional(),
  meta: z
    .looseObject({
      ivr_end: z.number().optional(),
      obfuscated: z.string().optional(),
      lang: z.string().optional(),
      asr_model: z.string().optional(),
    })
    .optional(),
});

const tagSchema = z.looseObject({
  unique_id: z.string().optional(),
  display_name: z.string().optional(),
  confidence: z.number().optional(),
  type: z.string().optional(),
  value: z.unknown().optional(),
});

const contactSchema = z.looseObject({
  label: z.string().nullish(),
  data: z.string().optional(),
  type: z.string().optional(),
});

export const callRecordSchema = z.looseObject({
  unique_id: z.string().min(1),
  timestamp: z.string().optional(),
  transcript_json: transcriptSchema.nullish(),
  duration: z.string().optional(),
  ivr_end: z.number().optional(),
  status: z.string().optional(),
  campaign: z.string().optional(),
  audio_state: z.string().optional(),
  metadata: z.record(z.string(), z.string()).nullish(),
  tags: z.array(tagSchema).nullish(),
  visit: z.looseObject({}).nullish(),
  tracking_info: z.looseObject({}).nullish(),
  out: contactSchema.nullish(),
  in: contactSchema.nullish(),
  /** End of processing; documented by the public reference of this family, absent from the interface. */
  qualified: z.string().nullish(),
  /** Object of the public reference; shape not shown. */
  qualification: z.looseObject({}).nullish(),
});
