/**
 * Subjects: what names a call or a person, as text, the same text however it is written. Only keyed hashes of it are kept. A call id
 * is its own subject; no id has the character between the parts of the others. Pure.
 */

import { createRequire } from 'node:module';
import type { CountryCode } from 'libphonenumber-js/max';
import type { CallDocument } from '../../schemas/call.ts';
import { backslash } from '../lib/json-signs.ts';
import { isObject, parseQuietly } from '../lib/parse-json.ts';
import { rememberRecent } from '../lib/recent.ts';
import { detect } from '../privacy/detect.ts';
import { findWrittenEmails } from '../privacy/detect-email.ts';
import { type JoinedDetector, joinedDetectors, versionOf } from '../privacy/finding.ts';
import { normalizeNumber } from '../privacy/phone-number.ts';
import type { Spoken } from '../privacy/read-pieces.ts';
import { joinedValue } from '../privacy/tokens.ts';
import { readUtterances } from '../privacy/transcript.ts';
import { listDialled } from './list-dialled.ts';

/** A value as its detector has it. */
export const foundSubject = (kind: JoinedDetector, value: string): string => `${kind}\0${joinedValue(kind, value)}`;
/** @param number E.164 where it is one, else its digits. */
export const phoneSubject = (number: string): string => foundSubject('phone', number);
/** A whole value, or a token anywhere, in a text or in contacts and metadata. */
export const textSubject = (value: string): string => `text\0${value}`;
/** A token anywhere in a call. */
export const tokenSubject = (token: string): string => `token\0${token}`;
/** Calls by the value of a metadata key. */
export const metadataSubject = (key: string, value: string): string => `metadata\0${key}\0${value}`;

/** Shorter texts name nobody: they may be a part of anything. */
export const leastText = 6;
/** Shorter numbers count as whole values only. */
export const leastDigits = 7;
/** A whole number of as many digits; a fraction is nobody's number. */
const leastWhole = 1e5;
/** Lines recur in nearly every call, and numbers of some countries take long to read. */
const mostNumbers = 1_000;
/** Raise this number if a function below returns other subjects for the same call. */
const subjectsVersion = 3;
/** The library decides about numbers, and its versions differ. */
const { version: numbersVersion } = createRequire(import.meta.url)('libphonenumber-js/package.json') as {
  version: string;
};

/**
 * @param options.countries of national numbers; the first is the default.
 * @param options.leavesSpeech whether rules of a version, or none, may leave values that are said in a call.
 */
export const openSubjects = (options: {
  readonly countries: readonly CountryCode[];
  readonly leavesSpeech: (rules: string | null) => boolean;
}) => {
  const { countries } = options;
  const normalize = rememberRecent(mostNumbers, (text) => normalizeNumber(text, countries));
  const addNumber = (subjects: Set<string>, text: string): void => {
    subjects.add(phoneSubject(normalize(text) ?? text));
  };
  const findIn = (said: readonly Spoken[], isOn: (name: string) => boolean): readonly string[] =>
    detect(said, { isOn, countries, patterns: [] }).flatMap(({ detector, value }) =>
      isOn(detector) ? foundSubject(detector as JoinedDetector, value) : [],
    );
  const addNumbersIn = (subjects: Set<string>, text: string): void => {
    for (const digits of listDialled(text)) if (digits.length >= leastDigits) addNumber(subjects, digits);
  };
  const listWritten = (fields: CallDocument): Set<string> => {
    const subjects = new Set(listPairs(fields.metadata));
    visitTexts(fields, (text) => {
      if (mayNameOthers(text)) for (const subject of findIn([{ speaker: '', text }], isOther)) subjects.add(subject);
      // Most texts are words.
      if (!mayNameNumber(text)) return;
      for (const token of listTokens(text)) subjects.add(tokenSubject(token));
      if (numberText.test(text)) addNumber(subjects, text);
      addNumbersIn(subjects, text);
    });
    for (const contact of [fields.in, fields.out])
      if (isObject(contact) && typeof contact.data === 'string' && !numberText.test(contact.data))
        subjects.add(phoneSubject(contact.data));
    return subjects;
  };
  const subjectsInText = (text: string): Set<string> => {
    const subjects = new Set(listNumericIds(text));
    visitQuoted(text, (value, start) => {
      if (value.length >= leastText || isCallId(text, start - 1)) subjects.add(value);
      if (value.length < leastText) return;
      subjects.add(textSubject(value));
      if (numberText.test(value)) addNumber(subjects, value);
    });
    const id = readBareId(text);
    if (id !== undefined) subjects.add(id);
    for (const token of listTokens(text)) subjects.add(textSubject(token));
    for (const { value } of findWrittenEmails(text, 0)) subjects.add(foundSubject('email', value));
    addNumbersIn(subjects, text);
    return subjects;
  };
  /** Values that are said, over several utterances too. */
  const listSaid = (fields: CallDocument): readonly string[] => {
    const said = readUtterances(callDataOf(fields)).map(({ speaker, text }) => ({
      speaker,
      // Texts whose letters and digits are not speech.
      text: text.replaceAll(spokenToken, 'pseudonym'),
    }));
    return [...findIn(said, (name) => name === 'phone'), ...findIn(said, isOther)];
  };
  return {
    /** Raise it if another function returns other subjects for the same call. */
    version: `${subjectsVersion}\0${joinedDetectors.map(versionOf).join()}\0${numbersVersion}\0${countries.join()}`,
    /** Subjects of a whole call; `party` has those of contacts and metadata. */
    subjectsOf: (fields: CallDocument) => ({
      party: new Set([
        ...subjectsInText(JSON.stringify([fields.in, fields.out, fields.metadata])),
        ...listPairs(fields.metadata),
      ]),
      all: new Set([...listWritten(fields), ...listSaid(fields)]),
    }),
    /** `all` while the call is folded; undefined where it takes a look at everything that is said, for which no fold waits. */
    subjectsWhileFolded: (fields: CallDocument, rules: string | null): ReadonlySet<string> | undefined => {
      const callData = callDataOf(fields);
      const isSaid = Array.isArray(callData) && callData.length > 0;
      return isSaid && options.leavesSpeech(rules) ? undefined : listWritten(fields);
    },
    /**
     * All subjects that a text may contain, such as truncated JSON. If the text is not valid JSON, every part between
     * two neighbouring quotes counts as a string. Ids of fewer than 6 characters count only as the whole text or as the
     * value of `unique_id`.
     */
    subjectsInText,
  };
};

/** Metadata by its keys; objects and lists, which may have any field of their own, as JSON. */
const listPairs = (metadata: unknown): readonly string[] =>
  Object.entries(isObject(metadata) ? metadata : {}).map(([key, value]) =>
    metadataSubject(key, typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)),
  );

const callDataOf = ({ transcript_json: transcript }: CallDocument): unknown =>
  isObject(transcript) ? transcript.callData : undefined;

/** Texts of an object or list, but for short ones, and its whole numbers. Nearly all of a call is words with their times. */
const visitTexts = (value: unknown, visit: (text: string) => void): void => {
  if (typeof value === 'string') {
    if (value.length >= leastText) visit(value);
  } else if (typeof value === 'number') {
    if (Math.abs(value) >= leastWhole && Number.isInteger(value)) visit(String(value));
  } else if (Array.isArray(value)) for (const inner of value) visitTexts(inner, visit);
  else if (isObject(value)) for (const name in value) visitTexts(value[name], visit);
};

/** Nothing else of a field is read as one number. */
const numberText = /^[+\d\s().\-/]{6,32}$/;
/** The digits of identifiers and times are nobody's number. */
const plain =
  /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)$/i;
/** The digits of the shortest value with a check digit, or the sign of an address. */
const otherText = /@|\d(?:\D*\d){12}/;
/** Each detector reads all the text, because a match of one would hide telephone numbers from the next. */
const isOther = (name: string): boolean => name !== 'phone' && joinedDetectors.some((one) => one === name);
const mayNameOthers = (text: string): boolean => otherText.test(text) && !plain.test(text);

/** Whether a text may hold a number or a token. Nearly none does. */
const mayNameNumber = (text: string): boolean => /[\d_]/.test(text) && !plain.test(text);

const tokenPattern = /ph_[a-z\d]+_[a-z2-7]{52}/g;
/** A word that is neither a number nor said within one. */
const spokenToken = /(?<![\p{L}\d])ph_[a-z\d]+_[a-z2-7]{52}(?![\p{L}\d])/gu;

const listTokens = (text: string): readonly string[] => (text.includes('ph_') ? (text.match(tokenPattern) ?? []) : []);

/** The id that is the whole of a text, in quotes or not; undefined for an object or a list. */
const readBareId = (text: string): string | undefined => {
  const bare = text.trim();
  if (bare === '' || bare.startsWith('{') || bare.startsWith('[')) return undefined;
  if (!bare.startsWith('"')) return bare;
  const id = parseQuietly(bare);
  return id === undefined ? undefined : String(id);
};

// Quoted strings of JSON, also of truncated or broken JSON. Time is linear in the length of the text. Pure.

/** Whether backslashes before a quote make it a part of the text around it. */
const isEscaped = (text: string, at: number): boolean => {
  let from = at;
  while (text.charCodeAt(from - 1) === backslash) from -= 1;
  return (at - from) % 2 === 1;
};

/** JSON between two of its strings; no name looks like it. */
const between = /^[:,}\]](?:[-+.\deE\s:,[\]{}]|true|false|null)*$/;

/**
 * Texts between any two neighbouring unescaped quotes: all strings of JSON, and texts that a missing or extra quote
 * could hide. An escaped quote outside a string may begin a text. Empty texts are skipped.
 * @param visit takes an unescaped text and its offset.
 */
const visitQuoted = (text: string, visit: (value: string, start: number) => void): void => {
  let start = -1;
  let escapedStart = -1;
  const read = (from: number, to: number): void => {
    if (from === -1 || from === to) return;
    const value = readBetween(text, from, to);
    if (!between.test(value)) visit(value, from);
  };
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) {
    if (isEscaped(text, at)) {
      escapedStart = at + 1;
      continue;
    }
    read(start, at);
    read(escapedStart, at);
    start = at + 1;
    escapedStart = -1;
  }
};

/** @returns the text between two quotes, unescaped; unchanged if its escapes are not those of JSON */
const readBetween = (text: string, start: number, end: number): string => {
  const written = text.slice(start, end);
  return written.includes('\\') ? String(parseQuietly(`"${written}"`) ?? written) : written;
};

const idName = '"unique_id"';

const numericId = /"unique_id"\s*:\s*(-?\d+)(?![\d.eE])/g;

/** Whole numbers in a text that stand for a call id, although ids are text. */
const listNumericIds = (text: string): readonly string[] =>
  text.includes(idName) ? Array.from(text.matchAll(numericId), ([, id]) => id as string) : [];

/** Matches behind the name of a call's id. */
const behindIdName = /(?<="unique_id"\s*:\s*)/y;

/** Whether the string whose quote is at `at` is the value of `unique_id`. */
const isCallId = (text: string, at: number): boolean => {
  behindIdName.lastIndex = at;
  return behindIdName.test(text);
};
