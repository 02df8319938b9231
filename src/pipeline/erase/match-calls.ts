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
  /** The ways in which text may hold a normalised number; undefined where it is none that can be told from others. */
  readonly writtenForms: (number: string) => RegExp | undefined;
  /** Every token that may stand for a value. */
  readonly tokensOf: (value: string) => readonly string[];
}

type RequestByValue = Exclude<ErasureRequest, { kind: 'call' }>;

const textsIn = function* (value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'number') yield String(value);
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner);
};

/** @returns whether a call's fields are meant by the request; a request by call id needs no fields. */
export const createMatcher = (request: RequestByValue, comparison: Comparison): ((fields: Fields) => boolean) => {
  const { normalize, tokensOf } = comparison;
  if (request.kind === 'metadata') {
    const values = new Set([...request.values, ...request.values.flatMap(tokensOf)]);
    return ({ metadata }) => isObject(metadata) && values.has(String(metadata[request.key]));
  }
  const numbers = new Set(request.values.map((value) => normalize(value) ?? value));
  const isWritten = createTextMatcher(request, comparison);
  return (fields) => {
    for (const text of textsIn(fields)) {
      if (isWritten(text)) return true;
      if (text.length >= 6 && text.length <= 32 && numbers.has(normalize(text) ?? '')) return true;
    }
    return false;
  };
};

/** Shorter texts are found in bytes of others. */
const leastText = 6;

/** @returns whether a text, such as bytes that belong to no call, holds a value of the request. */
export const createTextMatcher = (
  request: RequestByValue,
  { normalize, writtenForms, tokensOf }: Comparison,
): ((text: string) => boolean) => {
  const parts = request.values.flatMap((value) => {
    const own = request.kind === 'phone' ? value : JSON.stringify(value);
    return [...(value.length < leastText ? [] : [own]), ...tokensOf(value)];
  });
  const forms =
    request.kind === 'phone' ? request.values.flatMap((value) => writtenForms(normalize(value) ?? '') ?? []) : [];
  return (text) => parts.some((part) => text.includes(part)) || forms.some((form) => form.test(text));
};
