/** Settings of marts, and calls that need each of them. */
import type { ChangeCall } from './two-warehouses.ts';

export type Utterance = { from: string; datetime: number; duration: number; words: unknown[]; content: string };
const utteranceUnits = { utterance_start: 'seconds', utterance_duration: 'milliseconds' };
export const analytics = {
  time_zone: 'Europe/Paris',
  agent_side: { default: 'unknown', by_direction: { IN: 'out', OUT: 'in' } },
  units: { call_duration: 'seconds', ivr_end: 'seconds', ...utteranceUnits },
  silence_gap_s: 0.305,
  repeat_days: 1,
  fields: {
    UDF_num_02: { name: 'deal_value', type: 'numeric' },
    UDF_num_14: { name: 'discount', type: 'numeric' },
    amount: { name: 'amount', type: 'numeric', decimal: 'comma' },
    count: { name: 'pieces', type: 'integer', decimal: 'point' },
    UDF_text_02: { name: 'score', type: 'integer' },
    Queue: { name: 'queue' },
    due: { name: 'due', type: 'date' },
    flag: { name: 'flag', type: 'boolean' },
  },
};
export const dues = ['2024-02-29', '2023-02-29', '2024-13-01', '0000-01-01', '2024-12-31', 'soon', '9999-12-31'];
/** As sent, and the number of each with a comma for decimals; null where it is none. */
export const amounts: readonly (readonly [string, number | null])[] = [
  ['12,5', 12.5],
  ['1 000', 1000],
  ['1\u202f234\u00a0567,89', 1_234_567.89],
  ['1.234', 1234],
  ['-1\u2019234', -1234],
  ["+1'234,5", 1234.5],
  ['1.5', null],
  ['12,50 €', null],
  ['1 00', null],
  ['', null],
];
const flags = ['TRUE', ' no', '1', 'maybe', ''];

/** Durations in milliseconds, keys of every type, and sides that talk over each other and one after the other. */
export const changeCall: ChangeCall = (document, index) => {
  const utterances = (document.transcript_json as { callData: Utterance[] } | null)?.callData ?? [];
  for (const [at, utterance] of utterances.entries()) {
    if ((at + index) % 4 === 0) utterance.datetime = Math.max(0, Math.round((utterance.datetime - 1.5) * 100) / 100);
    if ((at + index) % 5 === 0) utterance.from = utterance.from === 'in' ? 'out' : 'in';
    utterance.duration = Math.round(utterance.duration * 100) * 10;
  }
  const metadata = {
    ...(document.metadata as object),
    due: dues[index % dues.length],
    flag: flags[index % flags.length],
    amount: amounts[index % amounts.length]?.[0],
    count: ['1,234', '12', '1.5'][index % 3],
  };
  // A call may have a tag several times.
  const tags = [...(document.tags as object[]), ...(index % 6 === 0 ? (document.tags as object[]).slice(0, 1) : [])];
  return {
    ...document,
    metadata,
    tags,
    // Some callers call again, the same day and days later.
    ...(index % 2 === 0 && { in: { data: `3319900${String(index % 20).padStart(4, '0')}`, type: 'PHONE' } }),
    ...(index === 7 ? { timestamp: 'never' } : {}),
  };
};
