/**
 * The call record on the wire (interface §2.1-2.5). Every object is loose, because the interface leaves the fields of the
 * list open (§2.6).
 */
import { z } from 'zod';

const text = z.string().optional();
const number = z.number().optional();
const word = z.looseObject({ score: number, start: number, value: text, length: number });
const utterance = z.looseObject({
  ...{ from: text, words: z.array(word).optional(), content: text, datetime: number, duration: number },
});
const meta = z.looseObject({ ivr_end: number, obfuscated: text, lang: text, asr_model: text });
const transcript = z.looseObject({
  ...{ callData: z.array(utterance).optional(), callUniqueId: text, meta: meta.optional() },
});
const tag = z.looseObject({ unique_id: text, display_name: text, confidence: number, type: text });
const contact = z.looseObject({ label: z.string().nullish(), data: text, type: text });

export const callRecordSchema = z.looseObject({
  ...{ unique_id: z.string().min(1), timestamp: text, duration: text, ivr_end: number, status: text, campaign: text },
  ...{ audio_state: text, transcript_json: transcript.nullish(), tags: z.array(tag).nullish() },
  ...{ metadata: z.record(z.string(), z.string()).nullish(), out: contact.nullish(), in: contact.nullish() },
  ...{ visit: z.looseObject({}).nullish(), tracking_info: z.looseObject({}).nullish() },
  /** End of processing; documented by the public reference of this family, absent from the interface. */
  qualified: z.string().nullish(),
  /** Object of the public reference; shape not shown. */
  qualification: z.looseObject({}).nullish(),
});
