/** Which stored calls a request to erase means. Pure. */
import { isObject } from '../../calls/field-reader.ts';

/** What a request names: calls by id, or all calls with a telephone number or with the value of a metadata key. */
export type ErasureRequest =
  | { readonly kind: 'call'; readonly values: readonly string[] }
  | { readonly kind: 'phone'; readonly values: readonly string[] }
  | { readonly kind: 'metadata'; readonly key: string; readonly values: readonly string[] };

type Fields = Readonly<Record<string, unknown>>;

/** How values are compared: tokens of the present and former keys are the same value as what they stand for. */
export interface Comparison {
  /** A number as E.164 where it is one; undefined where a text is no number. */
  readonly normalize: (text: string) => string | undefined;
  /** Digits of each way in which text may hold a normalised number; none where it is none that can be told from others. */
  readonly writtenDigits: (number: string) => readonly string[];
  /** Digits of whatever in a text may be a number. */
  readonly listDialled: (text: string) => Iterable<string>;
  /** Numbers, normalised, that the utterances of a transcript say in words. */
  readonly listSaid: (callData: unknown) => readonly string[];
  /** Every token that may stand for a value. */
  readonly tokensOf: (value: string) => readonly string[];
}

type RequestByValue = Exclude<ErasureRequest, { kind: 'call' }>;

const textsIn = function* (value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'number') yield String(value);
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner);
};

/** Nothing else of a field is read as one number. */
const numberText = /^[+\d\s().\-/]{6,32}$/;

/** @returns whether a call's fields are meant by the request; a request by call id needs no fields. */
export const createMatcher = (request: RequestByValue, comparison: Comparison): ((fields: Fields) => boolean) => {
  const { normalize, tokensOf, listSaid } = comparison;
  if (request.kind === 'metadata') {
    const values = new Set([...request.values, ...request.values.flatMap(tokensOf)]);
    return ({ metadata }) => isObject(metadata) && values.has(String(metadata[request.key]));
  }
  const numbers = new Set(request.values.map((value) => normalize(value) ?? value));
  const isWritten = createTextMatcher(request, comparison);
  return (fields) => {
    for (const text of textsIn(fields)) {
      if (isWritten(text)) return true;
      if (numberText.test(text) && numbers.has(normalize(text) ?? '')) return true;
    }
    const transcript = fields.transcript_json;
    return isObject(transcript) && listSaid(transcript.callData).some((number) => numbers.has(number));
  };
};

/** Shorter texts are found in bytes of others. */
export const leastText = 6;
const token = /ph_[a-z\d]+_[a-z2-7]{52}/g;

/** @returns whether a text, such as bytes that belong to no call, holds a value of the request. */
export const createTextMatcher = (
  request: RequestByValue,
  { normalize, writtenDigits, listDialled, tokensOf }: Comparison,
): ((text: string) => boolean) => {
  const tokens = new Set(request.values.flatMap(tokensOf));
  const digits = new Set<string>();
  const parts: string[] = [];
  for (const value of request.values) {
    const written = request.kind === 'phone' ? writtenDigits(normalize(value) ?? '') : [];
    for (const one of written) digits.add(one);
    if (written.length === 0 && value.length >= leastText)
      parts.push(request.kind === 'phone' ? value : JSON.stringify(value));
  }
  return (text) => {
    if (tokens.size > 0 && text.includes('ph_'))
      for (const [found] of text.matchAll(token)) if (tokens.has(found)) return true;
    if (digits.size > 0) for (const found of listDialled(text)) if (digits.has(found)) return true;
    return parts.some((part) => text.includes(part));
  };
};
