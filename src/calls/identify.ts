import { maxCallIdLength } from '../../schemas/call.ts';
import { isObject } from './field-reader.ts';
import { cleanText } from './values.ts';

export type Identified =
  | { readonly callId: string; readonly record: Record<string, unknown> }
  | { readonly reason: string };

/** The identity of a record, or why it has none and belongs in quarantine. */
export const identifyRecord = (record: unknown): Identified => {
  if (!isObject(record)) return { reason: 'not a JSON object' };
  const id = record.unique_id;
  if (id === undefined) return { reason: 'unique_id is absent' };
  if (typeof id !== 'string')
    return { reason: `unique_id is ${id === null ? 'null' : `of type ${typeof id}`}, not text` };
  if (id.trim() === '') return { reason: 'unique_id is empty' };
  if (id.length > maxCallIdLength) return { reason: `unique_id is longer than ${maxCallIdLength} characters` };
  if (cleanText(id) !== id) return { reason: 'unique_id has characters that cannot be stored' };
  return { callId: id, record };
};
