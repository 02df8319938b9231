/**
 * A transcript (interface §2.2) by the places of its parts: nearly all of a delivery is words with their times, and making objects
 * of them takes longer than everything else. Utterances of one transcript are written alike: a pattern made of one of them checks
 * the others as strictly as a parser, and every utterance that it does not match is left to one.
 */
import {
  cutObject,
  type FieldPlace,
  type JsonBytes,
  jsonPatterns,
  parsePlace,
  skipString,
  skipValue,
} from './cut-fields.ts';
import { rememberRecent } from './recent.ts';

export interface ScannedUtterance {
  readonly start: number;
  readonly end: number;
  /** Undefined where a parser has to read it. */
  readonly said: ScannedSaid | undefined;
}

/** Its words hold nothing but their values and small numbers, and joined by blanks they are its content. */
export interface ScannedSaid {
  readonly content: string;
  /** Names of the fields of the utterance, and of its words: the same lists for all that are written alike. */
  readonly names: readonly string[];
  readonly wordNames: readonly string[];
  /** Fields beside content and words that are more than a small number, true, false or null. */
  readonly others: readonly ParsedField[];
}

interface ParsedField extends FieldPlace {
  readonly parsed: unknown;
}

export interface ScannedTranscript {
  /** Place of the transcript. */
  readonly from: number;
  readonly to: number;
  /** Fields beside `callData`. */
  readonly fields: readonly FieldPlace[];
  /** Place of `callData`. */
  readonly start: number;
  readonly end: number;
  readonly utterances: readonly ScannedUtterance[];
}

type ScannedList = Pick<ScannedTranscript, 'start' | 'end' | 'utterances'>;

/**
 * The transcript that begins at `from`; undefined where it is no object with one list `callData` of objects.
 * @throws SyntaxError
 */
export const scanTranscript = (json: JsonBytes, from: number): ScannedTranscript | undefined => {
  let list: ScannedList | undefined;
  const cut = cutObject(json, from, (text, at, name) => {
    if (name !== 'callData' || list !== undefined) return skipValue(text, at, name);
    list = scanUtterances(json, at);
    return list?.end ?? at;
  });
  if (cut === undefined || list === undefined) return undefined;
  const fields = cut.fields.filter(({ name }) => name !== 'callData');
  return fields.length === cut.fields.length - 1 ? { ...list, fields, from, to: cut.end } : undefined;
};

const listBegin = new RegExp(`\\[${jsonPatterns.blanks}`, 'y');
const listGoesOn = new RegExp(`${jsonPatterns.blanks}(?:,${jsonPatterns.blanks}(?=\\{)|(\\]))`, 'y');

const scanUtterances = (json: JsonBytes, start: number): ScannedList | undefined => {
  const { text } = json;
  listBegin.lastIndex = start;
  if (!listBegin.test(text)) return undefined;
  const utterances: ScannedUtterance[] = [];
  let at = listBegin.lastIndex;
  if (text[at] === ']') return { start, end: at + 1, utterances };
  if (text[at] !== '{') return undefined;
  const layouts: Layout[] = [];
  let left = mostLayouts;
  for (;;) {
    let said = scanByAny(json, at, layouts);
    if (said === undefined && left > 0) {
      left -= 1;
      const layout = readLayout(json, at);
      if (layout !== undefined) layouts.push(layout);
      said = layout && scanSaid(json, at, layout);
    }
    const end = said?.end ?? skipValue(text, at, '');
    if (end >= text.length) return undefined;
    utterances.push({ start: at, end, said });
    listGoesOn.lastIndex = end;
    const next = listGoesOn.exec(text);
    if (next === null) return undefined;
    at = listGoesOn.lastIndex;
    if (next[1] !== undefined) return { start, end: at, utterances };
  }
};

/** Ways of writing in one transcript: to make a pattern takes as long as to parse some utterances. */
const mostLayouts = 8;

const scanByAny = (json: JsonBytes, at: number, layouts: readonly Layout[]): ReturnType<typeof scanSaid> => {
  for (const layout of layouts) {
    const said = scanSaid(json, at, layout);
    if (said !== undefined) return said;
  }
  return undefined;
};

/** How an utterance is written. */
interface Layout {
  readonly names: readonly string[];
  readonly wordNames: readonly string[];
  /** What stands before each value, with the name. */
  readonly before: readonly string[];
  /** Matches an utterance; its groups are the values. */
  readonly pattern: RegExp;
  /** What stands before the text of each word, with its quote; it stands nowhere else in a list of words. Empty where there is no word. */
  readonly beforeWord: string;
}

/**
 * A number that no detector looks at and no parser rounds, with less digits before its point than any number that is looked for; or
 * true, false, null.
 */
const small = String.raw`-?(?:(?:0|[1-9]\d{0,5})(?:\.\d{1,9})?|(?:0|[1-9]\d{0,2})\.\d{10,12})|true|false|null`;
const { blanks, string, nested } = jsonPatterns;
const mostWritten = 1_000;
const mostFields = 30;
const none = -1;

interface Written {
  readonly names: readonly string[];
  /** What stands before each value, and behind the last. */
  readonly between: readonly string[];
}

interface WrittenObject extends Written {
  readonly fields: readonly FieldPlace[];
}

/** Undefined where a name comes twice, there is no object, or its names are no names of fields that services have. */
const readWritten = (json: JsonBytes, at: number): WrittenObject | undefined => {
  const cut = cutObject(json, at);
  if (cut === undefined || cut.fields.length === 0) return undefined;
  const { fields, end } = cut;
  const names = fields.map(({ name }) => name);
  const between = fields.map(({ start }, index) => json.text.slice(fields[index - 1]?.end ?? at, start));
  const isLong = names.length > mostFields || between.reduce((length, one) => length + one.length, 0) > mostWritten;
  if (isLong || new Set(names).size < names.length) return undefined;
  return { names, between: [...between, json.text.slice(fields.at(-1)?.end, end)], fields };
};

const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

const wordsBegin = new RegExp(`\\[${blanks}(?=\\{)`, 'y');

/** The layout of the utterance at `at`; undefined where only a parser can read it. */
const readLayout = (json: JsonBytes, at: number): Layout | undefined => {
  const written = readWritten(json, at);
  if (written === undefined || !written.names.includes('content')) return undefined;
  const { names, between, fields } = written;
  const word = readFirstWord(json, fields[names.indexOf('words')]);
  return layoutOf(JSON.stringify([{ names, between }, word && { names: word.names, between: word.between }]));
};

/** Undefined where there is none, or it has no value. */
const readFirstWord = (json: JsonBytes, words: FieldPlace | undefined): Written | undefined => {
  wordsBegin.lastIndex = words?.start ?? json.text.length;
  const word = wordsBegin.test(json.text) ? readWritten(json, wordsBegin.lastIndex) : undefined;
  return word?.names.includes('value') ? word : undefined;
};

/** Calls of one service are written alike. @param written an utterance and the first of its words, as JSON. */
const layoutOf = rememberRecent(
  20,
  (written: string): Layout => {
    const [utterance, word] = JSON.parse(written) as [Written, Written | null];
    const valueAt = word?.names.indexOf('value') ?? none;
    const one = word && join(word, (index) => (index === valueAt ? string : `(?:${small})`));
    const list = one === null ? '' : `(?:${one}${blanks}(?:,${blanks}${one}${blanks})*)?`;
    const patternOf = (name: string | undefined): string => {
      if (name === 'content') return string;
      return name === 'words' ? `\\[${blanks}${list}\\]` : `${small}|${string}|${nested}`;
    };
    const { names, between } = utterance;
    return {
      names,
      wordNames: word?.names ?? [],
      before: between.slice(0, -1),
      pattern: new RegExp(
        join(utterance, (index) => `(${patternOf(names[index])})`),
        'y',
      ),
      beforeWord: word === null ? '' : `${word.between[valueAt]}"`,
    };
  },
  4 * mostWritten,
);

const join = ({ names, between }: Written, patternOf: (index: number) => string): string =>
  `${names.map((_name, index) => quoted(between[index] as string) + patternOf(index)).join('')}${quoted(between[names.length] as string)}`;

const scanSaid = (
  json: JsonBytes,
  from: number,
  { names, wordNames, before, pattern, beforeWord }: Layout,
): (ScannedSaid & { readonly end: number }) | undefined => {
  pattern.lastIndex = from;
  const values = pattern.exec(json.text);
  if (values === null) return undefined;
  const others: ParsedField[] = [];
  let content: string | undefined;
  let said = '';
  let words: string | undefined;
  let start = from;
  for (const [index, name] of names.entries()) {
    const value = values[index + 1] as string;
    start += (before[index] as string).length;
    const end = start + value.length;
    if (name === 'content') {
      said = value;
      content = parsePlace(json, { start, end }) as string;
    } else if (name === 'words') words = value;
    else if (value[0] === '"' || value[0] === '{' || value[0] === '[')
      others.push({ name, start, end, parsed: parsePlace(json, { start, end }) });
    start = end;
  }
  if (content === undefined || (words !== undefined && !isJoined(words, beforeWord, said))) return undefined;
  return { content, names, wordNames, others, end: pattern.lastIndex };
};

/**
 * Whether words, with blanks between them, are the content as it is written.
 * @param words a list that matched the pattern.
 * @param content with its quotes.
 */
const isJoined = (words: string, beforeWord: string, content: string): boolean => {
  let next = beforeWord === '' ? -1 : words.indexOf(beforeWord);
  // A list without a word may stand beside any content.
  if (next === -1) return true;
  let at = 1;
  while (next !== -1) {
    const from = next + beforeWord.length;
    const to = skipString(words, from - 1) - 1;
    if (at > 1) {
      if (content.charCodeAt(at) !== 0x20) return false;
      at += 1;
    }
    if (to === from || !content.startsWith(words.slice(from, to), at)) return false;
    at += to - from;
    next = words.indexOf(beforeWord, to);
  }
  return at === content.length - 1;
};
