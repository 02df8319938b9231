/** An invented call in the shape of the interface (§2.1-2.5), for trying out a receiver. */
import { randomUUID } from 'node:crypto';
import type { CallDocument } from '../../../../schemas/call.ts';

/** @param callId `unique_id` of the call; a new one without it. */
export const sampleCall = (callId: string = `sample-${randomUUID()}`, at: Date = new Date()): CallDocument => ({
  unique_id: callId,
  timestamp: at.toISOString().replace(/\.\d{3}Z$/, 'Z'),
  transcript_json: {
    callData: [
      sampleUtterance('out', 0.4, ['Good', 'morning,', 'how', 'can', 'I', 'help?']),
      sampleUtterance('in', 3.1, ['I', 'would', 'like', 'to', 'move', 'my', 'appointment.']),
    ],
    callUniqueId: '',
    meta: { ivr_end: 0, obfuscated: 'false', lang: 'en', asr_model: 'sample' },
  },
  duration: '7',
  ivr_end: 0,
  status: 'qualified',
  campaign: 'sample',
  audio_state: 'AVAILABLE',
  metadata: { ClientID: 'sample', Direction: 'IN', Dept: 'sample', UDF_num_01: '5', UDF_text_02: '81' },
  tags: [
    {
      unique_id: '00000000-0000-4000-8000-000000000001',
      display_name: 'appointment',
      confidence: 0.93,
      type: 'bool',
      value: true,
    },
  ],
  visit: null,
  tracking_info: null,
  out: null,
  in: { label: null, data: '+15550100', type: 'PHONE' },
});

/** An utterance of these words, a third of a second each. */
export const sampleUtterance = (from: string, start: number, values: readonly string[]): CallDocument => {
  const length = 0.35;
  const words = values.map((value, index) => ({
    score: 0.9,
    start: Math.round((start + index * length) * 100) / 100,
    value,
    length,
  }));
  return { from, words, content: values.join(' '), datetime: start, duration: values.length * length };
};
