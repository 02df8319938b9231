/**
 * The fields of a JSON object by their places in it. It finds where values end and does not check them: what a rule acts on is
 * parsed, and text that is no JSON between braces that agree is found by whoever reads the record.
 */
import { isEscaped } from '../calls/quoted-texts.ts';

/** JSON as it came: its bytes, and the same as Latin-1, in which places are those of the bytes and which is searched faster. */
export interface JsonBytes {
  readonly bytes: Buffer;
  readonly text: string;
}

export interface FieldPlace {
  readonly name: string;
  /** Place of the value. */
  readonly start: number;
  readonly end: number;
}

/** Where a value ends that begins at `at`; beyond the end of the text where it does not. */
type FindEnd = (text: string, at: number, name: string) => number;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
/** A double keeps so many digits; an exponent may hide more. */
const safeDigits = 15;

/** Patterns of JSON over Latin-1. Loops in them share no character with what follows, so that no text is tried twice. */
const string = String.raw`"[^"\\]*(?:\\[^][^"\\]*)*"`;
const flat = `[^"{}[\\]]*(?:${string}[^"{}[\\]]*)*`;
const inner = `${flat}(?:(?:\\{${flat}\\}|\\[${flat}\\])${flat})*`;
export const jsonPatterns = {
  blanks: '[ \\n\\r\\t]*',
  string,
  /** An object or a list, with one more level in it at most. */
  nested: `\\{${inner}\\}|\\[${inner}\\]`,
} as const;

export const openJson = (bytes: Buffer): JsonBytes => ({ bytes, text: bytes.toString('latin1') });

/** The value at a place. @throws SyntaxError */
export const parsePlace = ({ bytes }: JsonBytes, { start, end }: Omit<FieldPlace, 'name'>): unknown => {
  let all = 0;
  let isPlain = end - start > 1 && bytes[start] === quote && bytes[end - 1] === quote;
  for (let at = start + 1; at < end - 1; at += 1) {
    const byte = bytes[at] as number;
    all |= byte;
    if (byte < 0x20 || byte === quote || byte === backslash) isPlain = false;
  }
  const encoding = all < 0x80 ? 'latin1' : 'utf8';
  // A string without escapes; cut out of the bytes it is read faster than as a part of the whole text.
  return isPlain ? bytes.toString(encoding, start + 1, end - 1) : JSON.parse(bytes.toString(encoding, start, end));
};

/** Offset of the first character from `at` on that is no blank. */
const skipBlanks = (text: string, at: number): number => {
  let next = at;
  for (;;) {
    const code = text.charCodeAt(next);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return next;
    next += 1;
  }
};

/** Offset behind the string that begins at `at`; beyond the end where it does not end. */
export const skipString = (text: string, at: number): number => {
  let end = text.indexOf('"', at + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length + 1 : end + 1;
};

const skipInner = new RegExp(inner, 'y');
const scalar = /[!-+\--\\^-|~-\uffff]*/y;

/** Offset behind the value that begins at `at`. */
export const skipValue: FindEnd = (text, at) => {
  const first = text.charCodeAt(at);
  if (first === quote) return skipString(text, at);
  if (first !== openBrace && first !== openBracket) {
    scalar.lastIndex = at;
    scalar.test(text);
    return scalar.lastIndex;
  }
  let depth = 1;
  for (let next = at + 1; ; next += 1) {
    skipInner.lastIndex = next;
    skipInner.test(text);
    next = skipInner.lastIndex;
    const code = text.charCodeAt(next);
    if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) depth -= 1;
    else return text.length + 1;
    if (depth === 0) return next + 1;
  }
};

/**
 * The object that begins at `from`, with the offset behind it; undefined where there is none, or it does not end.
 * @param findEnd finds where the value of a field ends.
 * @throws SyntaxError where a name is no JSON.
 */
export const cutObject = (
  json: JsonBytes,
  from: number,
  findEnd: FindEnd = skipValue,
): { readonly fields: readonly FieldPlace[]; readonly end: number } | undefined => {
  const { text } = json;
  const fields: FieldPlace[] = [];
  let at = skipBlanks(text, from);
  if (text.charCodeAt(at) !== openBrace) return undefined;
  at = skipBlanks(text, at + 1);
  if (text.charCodeAt(at) === closeBrace) return { fields, end: at + 1 };
  for (;;) {
    if (text.charCodeAt(at) !== quote) return undefined;
    const behind = skipString(text, at);
    const name = parsePlace(json, { start: at, end: behind }) as string;
    at = skipBlanks(text, behind);
    if (text.charCodeAt(at) !== colon) return undefined;
    const start = skipBlanks(text, at + 1);
    const end = findEnd(text, start, name);
    if (end >= text.length || end === start) return undefined;
    fields.push({ name, start, end });
    at = skipBlanks(text, end);
    const separator = text.charCodeAt(at);
    if (separator === closeBrace) return { fields, end: at + 1 };
    if (separator !== comma) return undefined;
    at = skipBlanks(text, at + 1);
  }
};

/** The fields of text that is one object and nothing else. @throws SyntaxError where a name is no JSON. */
export const cutFields = (json: JsonBytes, findEnd?: FindEnd): readonly FieldPlace[] | undefined => {
  const cut = cutObject(json, 0, findEnd);
  return cut !== undefined && skipBlanks(json.text, cut.end) === json.text.length ? cut.fields : undefined;
};

interface Wording {
  /** Names in a value, repeated ones too: a parsed value that has fewer has lost some. */
  readonly keys: number;
  /** It may hold a number of which a parsed value keeps a part only. */
  readonly hasLongNumber: boolean;
}

const strings = new RegExp(string, 'g');
/** More digits in a number than a double keeps, or an exponent behind any. */
const longNumber = new RegExp(`(?:\\d[^\\d,:}\\]"]*){${safeDigits + 1}}|\\d[^,:}\\]"]*[eE]`);

/** @param text of one value. */
export const readWording = (text: string): Wording => {
  const bare = text.replace(strings, '""');
  return { keys: bare.split(':').length - 1, hasLongNumber: longNumber.test(bare) };
};
