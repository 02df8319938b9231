/** Whether a call is meant by a request, by reading all of it: what the index of subjects is held against. */
import type { CountryCode } from 'libphonenumber-js/max';
import { isObject } from '../../src/lib/parse-json.ts';
import type { PersonRequest } from '../../src/persons/request.ts';
import { detect } from '../../src/privacy/detect.ts';
import { listDialled, normalizeNumber, writtenDigits } from '../../src/privacy/phone-number.ts';
import { readUtterances } from '../../src/privacy/transcript.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface Reading {
  readonly countries: readonly CountryCode[];
  readonly tokensOf: (value: string) => readonly string[];
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'number' && Math.abs(value) >= 1e5 && Number.isInteger(value)) yield String(value);
  else if (typeof value === 'string' && value.length >= 6) yield value;
  else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner);
}

const plain =
  /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)$/i;
const token = /ph_[a-z\d]+_[a-z2-7]{52}/g;

/** Undefined where a number is too short to be looked for within texts, or none. */
export const createMatcher = (
  request: Exclude<PersonRequest, { kind: 'call' }>,
  { countries, tokensOf }: Reading,
): ((fields: Fields) => boolean) | undefined => {
  const tokens = new Set(request.values.flatMap((value) => tokensOf(value)));
  if (request.kind === 'metadata') {
    const values = new Set([...request.values, ...tokens]);
    const textOf = (value: unknown): string =>
      typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
    return ({ metadata }) =>
      isObject(metadata) && Object.hasOwn(metadata, request.key) && values.has(textOf(metadata[request.key]));
  }
  const numbers = new Set(request.values.map((value) => normalizeNumber(value, countries) ?? value));
  const written = [...numbers].map(writtenDigits);
  if (written.some((digits) => digits.length === 0 || digits.some(({ length }) => length < 7))) return undefined;
  const digits = new Set(written.flat());
  const isMeant = (text: string): boolean => {
    for (const [found] of text.matchAll(token)) if (tokens.has(found)) return true;
    if (plain.test(text)) return false;
    for (const found of listDialled(text)) if (digits.has(found)) return true;
    return /^[+\d\s().\-/]{6,32}$/.test(text) && numbers.has(normalizeNumber(text, countries) ?? '');
  };
  const isSaid = ({ transcript_json: transcript }: Fields): boolean => {
    if (!isObject(transcript)) return false;
    const said = readUtterances(transcript.callData).map(({ speaker, text }) => ({
      speaker,
      text: text.replaceAll(token, 'pseudonym'),
    }));
    const only = { isOn: (name: string) => name === 'phone', countries, patterns: [] };
    return detect(said, only).some(({ value }) => numbers.has(value));
  };
  return (fields) => [...textsIn(fields)].some(isMeant) || isSaid(fields);
};
