/**
 * A transcript (interface §2.2) by the places of its parts in its bytes: nearly all of a delivery is words with their times, and
 * making objects of them takes longer than everything else. It reads what is written as services write it, checks that as strictly as a
 * parser, and leaves every other utterance to one.
 */
import {
  closeBrace,
  colon,
  comma,
  cutObject,
  type FieldBytes,
  openBrace,
  quote,
  skipBlanks,
  skipString,
  skipValue,
} from './cut-fields.ts';

export interface ScannedUtterance {
  readonly start: number;
  readonly end: number;
  /** Undefined where a parser has to read it. */
  readonly said: ScannedSaid | undefined;
}

/** Its words hold nothing but their values and small numbers, and joined by blanks they are its content. */
export interface ScannedSaid {
  readonly content: string;
  /** Names of the fields of the utterance, the same list for all that have the same. */
  readonly names: readonly string[];
  /** Fields beside content and words that are more than a small number, true, false or null. */
  readonly others: readonly ParsedField[];
}

interface ParsedField extends FieldBytes {
  readonly parsed: unknown;
}

export interface ScannedTranscript {
  /** Place of the transcript. */
  readonly from: number;
  readonly to: number;
  /** Fields beside `callData`. */
  readonly fields: readonly FieldBytes[];
  /** Place of `callData`. */
  readonly start: number;
  readonly end: number;
  readonly utterances: readonly ScannedUtterance[];
}

/** Names of an object as they are written, with their quotes. */
interface Layout {
  readonly names: readonly string[];
  readonly written: readonly Buffer[];
  /** Index of `value` among them; -1 where it is none of them. */
  readonly valueAt: number;
}

const openBracket = 0x5b;
const closeBracket = 0x5d;
const none = -1;

type ScannedList = Pick<ScannedTranscript, 'start' | 'end' | 'utterances'>;

/**
 * The transcript that begins at `from`; undefined where it is no object with one list `callData` of objects.
 * @throws SyntaxError
 */
export const scanTranscript = (bytes: Buffer, from: number): ScannedTranscript | undefined => {
  let list: ScannedList | undefined;
  const cut = cutObject(bytes, from, (_bytes, at, name) => {
    if (name !== 'callData' || list !== undefined) return skipValue(bytes, at, name);
    list = scanUtterances(bytes, at);
    return list?.end ?? at;
  });
  if (cut === undefined || list === undefined) return undefined;
  const fields = cut.fields.filter(({ name }) => name !== 'callData');
  return fields.length === cut.fields.length - 1 ? { ...list, fields, from, to: cut.end } : undefined;
};

const scanUtterances = (bytes: Buffer, start: number): ScannedList | undefined => {
  if (bytes[start] !== openBracket) return undefined;
  const scan = createScan(bytes);
  const utterances: ScannedUtterance[] = [];
  let at = skipBlanks(bytes, start + 1);
  if (bytes[at] === closeBracket) return { start, end: at + 1, utterances };
  for (;;) {
    if (bytes[at] !== openBrace) return undefined;
    const utterance = scan(at);
    if (utterance.end >= bytes.length) return undefined;
    utterances.push(utterance);
    at = skipBlanks(bytes, utterance.end);
    const separator = bytes[at];
    if (separator === closeBracket) return { start, end: at + 1, utterances };
    if (separator !== comma) return undefined;
    at = skipBlanks(bytes, at + 1);
  }
};

/** Utterances of one transcript are alike: the names of the one before are expected. */
const createScan = (bytes: Buffer): ((at: number) => ScannedUtterance) => {
  let layout: Layout | undefined;
  let wordLayout: Layout | undefined;
  /** Where the values of the words of the current utterance begin and end, without quotes. */
  let places: number[] = [];

  /** Offset behind the word, or `none`. */
  const scanWord = (from: number): number => {
    wordLayout ??= readLayout(bytes, from);
    if (wordLayout === undefined || bytes[from] !== openBrace) return none;
    const { written, valueAt } = wordLayout;
    const last = written.length - 1;
    let at = from;
    for (let index = 0; index <= last; index += 1) {
      const value = passName(bytes, at + 1, written[index] as Buffer);
      if (value === none) return none;
      if (index !== valueAt) at = passSmall(bytes, value);
      else {
        if (bytes[value] !== quote) return none;
        at = skipString(bytes, value);
        places.push(value + 1, at - 1);
      }
      if (at === none) return none;
      at = skipBlanks(bytes, at);
      if (bytes[at] !== (index === last ? closeBrace : comma)) return none;
    }
    return at + 1;
  };

  const scanWords = (from: number): number => {
    if (bytes[from] !== openBracket) return none;
    let at = skipBlanks(bytes, from + 1);
    if (bytes[at] === closeBracket) return at + 1;
    for (;;) {
      const count = places.length;
      let end = scanWord(at);
      if (end === none) {
        // Other names than those of the words before.
        places.length = count;
        wordLayout = undefined;
        end = scanWord(at);
        if (end === none) return none;
      }
      // Each has a value.
      if (places.length !== count + 2) return none;
      at = skipBlanks(bytes, end);
      if (bytes[at] === closeBracket) return at + 1;
      if (bytes[at] !== comma) return none;
      at = skipBlanks(bytes, at + 1);
    }
  };

  const scanSaid = (from: number, { names, written }: Layout): (ScannedSaid & { readonly end: number }) | undefined => {
    const others: ParsedField[] = [];
    let contentStart = none;
    let contentEnd = none;
    let hasWords = false;
    places = [];
    const end = passObject(bytes, from, written, (at, index) => {
      const name = names[index] as string;
      if (name === 'words') {
        hasWords = true;
        return scanWords(at);
      }
      if (name === 'content') {
        if (bytes[at] !== quote) return none;
        contentStart = at;
        contentEnd = skipString(bytes, at);
        return contentEnd;
      }
      const behind = passSmall(bytes, at);
      if (behind !== none) return behind;
      const valueEnd = skipValue(bytes, at, name);
      if (valueEnd >= bytes.length || valueEnd === at) return none;
      const value = bytes.subarray(at, valueEnd);
      others.push({ name, value, parsed: JSON.parse(value.toString('utf8')) });
      return valueEnd;
    });
    if (end === none || contentStart === none) return undefined;
    if (hasWords && places.length > 0 && !isJoined(bytes, places, contentStart + 1, contentEnd - 1)) return undefined;
    const content = JSON.parse(bytes.toString('utf8', contentStart, contentEnd)) as string;
    return { content, names, others, end };
  };

  return (start) => {
    layout ??= readLayout(bytes, start);
    let said = layout && scanSaid(start, layout);
    if (said === undefined) {
      layout = readLayout(bytes, start);
      said = layout && scanSaid(start, layout);
    }
    return { start, end: said?.end ?? skipValue(bytes, start, ''), said };
  };
};

/** Undefined where a name comes twice, or the bytes are no object. */
const readLayout = (bytes: Buffer, at: number): Layout | undefined => {
  const names = cutObject(bytes, at)?.fields.map(({ name }) => name);
  if (names === undefined || new Set(names).size < names.length) return undefined;
  return { names, written: names.map((name) => Buffer.from(JSON.stringify(name))), valueAt: names.indexOf('value') };
};

/** Offset of the value that stands behind this name from `from` on; `none` where another name does. */
const passName = (bytes: Buffer, from: number, name: Buffer): number => {
  let at = skipBlanks(bytes, from);
  for (let offset = 0; offset < name.length; offset += 1, at += 1) if (bytes[at] !== name[offset]) return none;
  at = skipBlanks(bytes, at);
  return bytes[at] === colon ? skipBlanks(bytes, at + 1) : none;
};

/**
 * Offset behind the object at `from` that has these names in this order; `none` where it has others.
 * @param passValue gives the offset behind the value at `at`, or `none`.
 */
const passObject = (
  bytes: Buffer,
  from: number,
  written: readonly Buffer[],
  passValue: (at: number, index: number) => number,
): number => {
  if (bytes[from] !== openBrace || written.length === 0) return none;
  let at = from;
  for (let index = 0; index < written.length; index += 1) {
    const value = passName(bytes, at + 1, written[index] as Buffer);
    if (value === none) return none;
    at = passValue(value, index);
    if (at === none) return none;
    at = skipBlanks(bytes, at);
    if (bytes[at] !== (index === written.length - 1 ? closeBrace : comma)) return none;
  }
  return at + 1;
};

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;
const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text));
/** Digits before the point: no number with a point is more, and no whole number below a million. */
const mostWhole = 6;
const mostDigits = 15;

/** Offset behind a number that no detector looks at and no parser rounds, or behind true, false or null; else `none`. */
const passSmall = (bytes: Buffer, from: number): number => {
  let at = bytes[from] === 0x2d ? from + 1 : from;
  if (isDigit(bytes[at])) {
    const begin = at;
    while (isDigit(bytes[at])) at += 1;
    const whole = at - begin;
    if (whole > mostWhole || (whole > 1 && bytes[begin] === 0x30)) return none;
    if (bytes[at] !== 0x2e) return at;
    const point = at;
    at += 1;
    while (isDigit(bytes[at])) at += 1;
    return at === point + 1 || whole + at - point - 1 > mostDigits ? none : at;
  }
  for (const literal of literals) {
    if (bytes[from] === literal[0] && literal.compare(bytes, from, from + literal.length) === 0)
      return from + literal.length;
  }
  return none;
};

/** Whether the words at these places, with blanks between them, are the bytes from `start` to `end`. */
const isJoined = (bytes: Buffer, places: readonly number[], start: number, end: number): boolean => {
  let at = start;
  for (let index = 0; index < places.length; index += 2) {
    const from = places[index] as number;
    const to = places[index + 1] as number;
    if (index > 0) {
      if (bytes[at] !== 0x20) return false;
      at += 1;
    }
    if (to <= from || at + to - from > end) return false;
    for (let next = from; next < to; next += 1, at += 1) if (bytes[next] !== bytes[at]) return false;
  }
  return at === end;
};
