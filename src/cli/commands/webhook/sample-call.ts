/** An invented call, from the file of data beside this one. */
import { readFileSync } from 'node:fs';
import type { CallDocument } from '../../../../schemas/call.ts';
import { readYaml } from '../../../lib/read-yaml.ts';
import { lazily } from '../../../lib/timing.ts';

type Said = readonly { readonly from: string; readonly start: number; readonly text: string }[];
type Sample = CallDocument & { readonly said: Said; readonly transcript_json: object };

const file = 'sample-call.yaml';
const sample = lazily(() => readYaml(readFileSync(new URL(file, import.meta.url), 'utf8'), file) as Sample);

/** @param callId `unique_id` of the call. */
export const sampleCall = (callId: string, at: Date = new Date()): CallDocument => {
  const { said, transcript_json, ...fields } = sample();
  const callData = said.map(({ from, start, text }) => sampleUtterance(from, start, text));
  const timestamp = at.toISOString().replace(/\.\d{3}Z$/, 'Z');
  return structuredClone({
    unique_id: callId,
    timestamp,
    transcript_json: { callData, ...transcript_json },
    ...fields,
  });
};

/** An utterance of a text, a third of a second each word. */
export const sampleUtterance = (from: string, start: number, content: string): CallDocument => {
  const length = 0.35;
  const words = content.split(' ').map((value, index) => ({
    ...{ score: 0.9, start: Math.round((start + index * length) * 100) / 100 },
    ...{ value, length },
  }));
  return { from, words, content, datetime: start, duration: words.length * length };
};
