/**
 * By what a call is found without reading it. Every call that `createMatcher` means for a request has one of the request's subjects
 * among its own; others may have one too, so what is found is read. Pure.
 */
import { isObject } from '../../calls/field-reader.ts';
import { metadataSubject, metadataText, phoneSubject, textSubject } from '../../calls/subject-text.ts';
import {
  type Comparison,
  type ErasureRequest,
  mayNameNumber,
  numberText,
  someText,
  tokenPattern,
} from './match-calls.ts';

/** Changes with what `listCallSubjects` gives for the same call. */
export const subjectsVersion = 1;

/** Fewer digits are parts of too much: a number that is written with fewer is searched for in every call. */
const leastDigits = 7;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Values of metadata with their keys, and of the whole call: tokens, numbers in text in each grouping, fields that are one number,
 * numbers that are said.
 */
export const listCallSubjects = (
  fields: Fields,
  comparison: Pick<Comparison, 'listDialled' | 'listSaid' | 'normalize'>,
): ReadonlySet<string> => {
  const subjects = listWrittenSubjects(fields, comparison);
  for (const number of comparison.listSaid(callDataOf(fields))) subjects.add(phoneSubject(number));
  return subjects;
};

/** Whether anything is said in a call. */
export const hasSpeech = (fields: Fields): boolean => {
  const callData = callDataOf(fields);
  return Array.isArray(callData) && callData.length > 0;
};

/** As `listCallSubjects`, of a call in which no number is said: to look for one takes longest. */
export const listWrittenSubjects = (
  fields: Fields,
  { normalize, listDialled }: Pick<Comparison, 'listDialled' | 'normalize'>,
): Set<string> => {
  const subjects = new Set<string>();
  const addNumber = (text: string): void => {
    subjects.add(phoneSubject(normalize(text) ?? text));
  };
  const { metadata } = fields;
  if (isObject(metadata))
    for (const [key, value] of Object.entries(metadata)) subjects.add(metadataSubject(key, metadataText(value)));
  someText(fields, (text) => {
    // Most texts are words.
    if (!mayNameNumber(text)) return false;
    if (text.includes('ph_')) for (const [token] of text.matchAll(tokenPattern)) subjects.add(textSubject(token));
    if (numberText.test(text)) addNumber(text);
    for (const digits of listDialled(text)) if (digits.length >= leastDigits) addNumber(digits);
    return false;
  });
  return subjects;
};

const callDataOf = ({ transcript_json: transcript }: Fields): unknown =>
  isObject(transcript) ? transcript.callData : undefined;

/** Subjects of which a call that is meant has at least one; undefined where only reading every call tells. */
export const listRequestSubjects = (
  request: Exclude<ErasureRequest, { kind: 'call' }>,
  { normalize, writtenDigits, tokensOf }: Pick<Comparison, 'normalize' | 'tokensOf' | 'writtenDigits'>,
): readonly string[] | undefined => {
  const tokens = request.values.flatMap(tokensOf);
  if (request.kind === 'metadata')
    return [...request.values, ...tokens].map((value) => metadataSubject(request.key, value));
  const subjects = tokens.map(textSubject);
  for (const value of request.values) {
    const number = normalize(value);
    const written = number === undefined ? [] : writtenDigits(number);
    // It may be a part of any text.
    if (number === undefined || written.length === 0 || written.some(({ length }) => length < leastDigits))
      return undefined;
    subjects.push(phoneSubject(number), ...written.map((digits) => phoneSubject(normalize(digits) ?? digits)));
  }
  return [...new Set(subjects)];
};
