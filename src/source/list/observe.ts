/** Turns list records into observations: pure, one record never troubles another. */
import { isUtf8 } from 'node:buffer';
import type { Observation } from '../../../schemas/observation.ts';
import { identifyRecord } from '../../calls/fold.ts';
import { JsonRecord } from '../../lib/json-record.ts';
import type { Micros } from '../../lib/timestamps.ts';

interface ObserveRules {
  readonly observedAt: Micros;
  /** Fields for which null or empty in the list is content (`source.list.authoritative_fields`). */
  readonly carries: ReadonlySet<string>;
  readonly leftOut?: readonly string[];
  /** The record as it came: tells a replacement character that was sent from broken UTF-8 that became one. */
  readonly bytes?: (() => Buffer) | undefined;
}

/**
 * @param given one element of the list, as parsed.
 * `uncarried` = fields sent without content (`isEmpty`) that the list is not known to carry: dropped, reported as drift.
 */
export const observeRecord = (given: unknown, { observedAt, carries, leftOut = [], bytes }: ObserveRules) => {
  if (given === undefined) return reject('not JSON');
  const identified = identifyRecord(given);
  if ('reason' in identified) return reject(identified.reason);
  const { callId, record } = identified;
  if (bytes !== undefined && callId.includes('\ufffd') && !isUtf8(bytes()))
    return reject('not valid UTF-8, and unique_id seems to be damaged');
  const uncarried: string[] = [];
  const kept: [string, unknown][] = [];
  for (const [name, held] of Object.entries(record.held)) {
    if (leftOut.includes(name)) continue;
    if (!carries.has(name) && isWithoutContent(held)) uncarried.push(name);
    else kept.push([name, held]);
  }
  const fields = kept.length === record.names.length ? record : new JsonRecord(Object.fromEntries(kept));
  const observation: Observation = { callId, source: 'poll', observedAt, fields };
  return { kind: 'observation', observation, uncarried } as const;
};

const reject = (reason: string) => ({ kind: 'rejected', reason }) as const;

/** null, empty text, and lists and objects of nothing but such: an outline without content. */
export const isEmpty = (value: unknown): boolean => {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.values(value).every(isEmpty);
};

/** A text, number or truth value within plain JSON, as nearly every field of this size begins. */
const content = /[:[](?:"[^"]|[-\dtf])/;

/** Whether a value `isEmpty`; bytes are parsed only when their beginning shows no content. */
const isWithoutContent = (held: unknown): boolean =>
  Buffer.isBuffer(held)
    ? !content.test(held.toString('latin1', 0, 256)) && isEmpty(JSON.parse(held.toString()))
    : isEmpty(held);
