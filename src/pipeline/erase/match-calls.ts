/** Which stored calls a request to erase means. Pure. */
import { isObject } from '../../calls/field-reader.ts';
import { createQuotedFinder } from '../../calls/quoted-texts.ts';
import { metadataText } from '../../calls/subject-text.ts';

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

/** Shorter texts hold neither a number nor a token, and are found in bytes of others. */
export const leastText = 6;
/** A whole number of as many digits; a fraction is nobody's number. */
const leastWhole = 1e5;

/** Whether one of the texts of an object or list, but for short ones, or of its whole numbers is found. */
export const someText = (value: object, isFound: (text: string) => boolean): boolean => {
  if (Array.isArray(value)) {
    for (const inner of value) if (isFoundIn(inner, isFound)) return true;
    return false;
  }
  for (const name in value) if (isFoundIn((value as Fields)[name], isFound)) return true;
  return false;
};

/** Nearly all of a call is words with their times. */
const isFoundIn = (value: unknown, isFound: (text: string) => boolean): boolean => {
  if (typeof value === 'number')
    return Math.abs(value) >= leastWhole && Number.isInteger(value) && isFound(String(value));
  if (typeof value === 'string') return value.length >= leastText && isFound(value);
  return typeof value === 'object' && value !== null && someText(value, isFound);
};

/** The digits of identifiers and times are nobody's number. */
const plain =
  /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)$/i;

const zero = 0x30;
const nine = 0x39;
const underscore = 0x5f;

/** Whether a text may hold a number or a token: nearly none does, and most are too short for an expression to be worth its call. */
export const mayNameNumber = (text: string): boolean => {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code >= zero && code <= nine) || code === underscore) return !plain.test(text);
  }
  return false;
};

/** Nothing else of a field is read as one number. */
export const numberText = /^[+\d\s().\-/]{6,32}$/;

/** @returns whether a call's fields are meant by the request; a request by call id needs no fields. */
export const createMatcher = (request: RequestByValue, comparison: Comparison): ((fields: Fields) => boolean) => {
  const { normalize, tokensOf, listSaid } = comparison;
  if (request.kind === 'metadata') {
    const values = new Set([...request.values, ...request.values.flatMap(tokensOf)]);
    return ({ metadata }) =>
      isObject(metadata) && Object.hasOwn(metadata, request.key) && values.has(metadataText(metadata[request.key]));
  }
  const numbers = new Set(request.values.map((value) => normalize(value) ?? value));
  const isWritten = createTextMatcher(request, comparison);
  const parts = listParts(request, comparison);
  const isMeant = (text: string): boolean =>
    (mayNameNumber(text) && (isWritten(text) || (numberText.test(text) && numbers.has(normalize(text) ?? '')))) ||
    parts.some((part) => text.includes(part));
  return (fields) => {
    if (someText(fields, isMeant)) return true;
    const transcript = fields.transcript_json;
    return isObject(transcript) && listSaid(transcript.callData).some((number) => numbers.has(number));
  };
};

/** Tokens in a text. */
export const tokenPattern = /ph_[a-z\d]+_[a-z2-7]{52}/g;

/** @returns whether a text, such as bytes that belong to no call, holds a value of the request. */
export const createTextMatcher = (request: RequestByValue, comparison: Comparison): ((text: string) => boolean) => {
  const { listDialled, tokensOf } = comparison;
  const tokens = new Set(request.values.flatMap(tokensOf));
  const digits = new Set(request.values.flatMap((value) => listWritten(request, value, comparison)));
  const parts = listParts(request, comparison);
  const findQuoted = createQuotedFinder(new Set(listQuoted(request)));
  return (text) => {
    if (tokens.size > 0 && text.includes('ph_'))
      for (const [found] of text.matchAll(tokenPattern)) if (tokens.has(found)) return true;
    if (digits.size > 0) for (const found of listDialled(text)) if (digits.has(found)) return true;
    let isQuoted = false;
    findQuoted(text, () => {
      isQuoted = true;
    });
    return isQuoted || parts.some((part) => text.includes(part));
  };
};

/** Digits of each way in which a number of the request may be written. */
const listWritten = (
  { kind }: RequestByValue,
  value: string,
  { normalize, writtenDigits }: Comparison,
): readonly string[] => (kind === 'phone' ? writtenDigits(normalize(value) ?? '') : []);

/** What is searched for as a part of any text, because it is no number. */
const listParts = (request: RequestByValue, comparison: Comparison): readonly string[] =>
  request.kind === 'metadata'
    ? []
    : request.values.filter(
        (value) => value.length >= leastText && listWritten(request, value, comparison).length === 0,
      );

/** What is searched for in quotes. */
const listQuoted = ({ kind, values }: RequestByValue): readonly string[] =>
  kind === 'metadata' ? values.filter(({ length }) => length >= leastText) : [];
