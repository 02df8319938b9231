/** Turns list records into observations: pure, one record never troubles another. */
import { isUtf8 } from 'node:buffer';
import { type CallDocument, maxCallIdLength } from '../../../schemas/call.ts';
import type { Observation } from '../../../schemas/observation.ts';
import { bytesOf, copyFields } from '../../lib/json-record.ts';
import { isObject } from '../../lib/parse-json.ts';
import type { Micros } from '../../lib/timestamps.ts';

interface ObserveRules {
  readonly observedAt: Micros;
  /** Fields for which null or empty in the list is content (`source.list.authoritative_fields`). */
  readonly carries: ReadonlySet<string>;
  readonly leftOut?: readonly string[];
  /** The record as it came: tells a replacement character that was sent from broken UTF-8 that became one. */
  readonly bytes?: (() => Buffer) | undefined;
}

/** Deeper than this nothing downstream could write a record again. */
const maxDepth = 200;

/**
 * @param record one element of the list, as parsed.
 * `uncarried` = fields sent without content (`isEmpty`) that the list is not known to carry: dropped, reported as drift.
 */
export const observeRecord = (record: unknown, { observedAt, carries, leftOut = [], bytes }: ObserveRules) => {
  if (record === undefined) return reject('the record is not valid JSON');
  if (!isObject(record)) return reject('the record is not an object');
  const id = record.unique_id;
  const refusal = refuseId(id, bytes);
  if (refusal !== undefined) return reject(refusal);
  const uncarried: string[] = [];
  const kept: string[] = [];
  for (const name of Object.keys(record)) {
    const json = bytesOf(record, name);
    const value = json === undefined ? record[name] : undefined;
    if (deeperThan(value, maxDepth - 1)) return reject(`the record nests deeper than ${maxDepth} levels`);
    if (leftOut.includes(name)) continue;
    if (!carries.has(name) && isWithoutContent(value, json)) {
      uncarried.push(name);
      continue;
    }
    kept.push(name);
  }
  const fields: CallDocument = copyFields(record, kept);
  const observation: Observation = { callId: id as string, source: 'poll', observedAt, fields };
  return { kind: 'observation', observation, uncarried } as const;
};

const reject = (reason: string) => ({ kind: 'rejected', reason }) as const;

const refuseId = (id: unknown, bytes: (() => Buffer) | undefined): string | undefined => {
  if (id === undefined || id === null) return 'unique_id is missing';
  if (typeof id !== 'string') return `unique_id is not text but ${typeof id}`;
  if (id.trim() === '') return 'unique_id is empty';
  if (id.includes('\u0000')) return 'unique_id holds a NUL character';
  if (id.length > maxCallIdLength) return `unique_id is longer than ${maxCallIdLength} characters`;
  if (!id.isWellFormed()) return 'unique_id holds half a character';
  const isBroken = bytes !== undefined && id.includes('\ufffd') && !isUtf8(bytes());
  return isBroken ? 'the record is not valid UTF-8 and its unique_id seems to be damaged' : undefined;
};

/** null, empty text, and lists and objects of nothing but such: an outline without content. */
export const isEmpty = (value: unknown): boolean => {
  if (value === null || value === '') return true;
  return typeof value === 'object' && Object.values(value).every(isEmpty);
};

/** A text, number or truth value within plain JSON, as nearly every field of this size begins. */
const content = /[:[](?:"[^"]|[-\dtf])/;

/** Whether a value `isEmpty`; bytes are parsed only when their beginning shows no content. */
const isWithoutContent = (value: unknown, bytes: Buffer | undefined): boolean =>
  bytes === undefined
    ? isEmpty(value)
    : !content.test(bytes.toString('latin1', 0, 256)) && isEmpty(JSON.parse(bytes.toString('utf8')));

/** Written for speed: it visits every value of every record. */
const deeperThan = (value: unknown, depth: number): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  if (Array.isArray(value)) {
    for (const child of value) if (deeperThan(child, depth - 1)) return true;
    return false;
  }
  for (const name in value) if (deeperThan((value as Record<string, unknown>)[name], depth - 1)) return true;
  return false;
};
