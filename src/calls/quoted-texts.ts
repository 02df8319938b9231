/** Texts in quotes: of JSON, and of what is cut off or broken. Time grows with the length of a text only, whatever is in it. Pure. */

const backslash = 0x5c;
const blank = 0x20;

/** Takes what is between two quotes, by offsets. */
type Visit = (start: number, end: number) => void;

/** Whether backslashes before a quote make it a part of the text around it. */
const isEscaped = (text: string, at: number): boolean => {
  let from = at;
  while (text.charCodeAt(from - 1) === backslash) from -= 1;
  return (at - from) % 2 === 1;
};

/**
 * The strings of JSON, names of fields among them.
 * @returns false where a quote is missing or one too many, so that what was visited may be the text between strings.
 */
const visitStrings = (text: string, visit: Visit): boolean => {
  let isSound = true;
  let behind = 0;
  for (let open = text.indexOf('"'); open !== -1; open = text.indexOf('"', behind)) {
    isSound &&= isBetweenStrings(text, behind, open);
    let close = text.indexOf('"', open + 1);
    while (close !== -1 && isEscaped(text, close)) close = text.indexOf('"', close + 1);
    if (close === -1) return false;
    visit(open + 1, close);
    behind = close + 1;
  }
  return isSound;
};

/** Of each character whether it may be between strings of JSON (1), the first behind one (2), and the last before one (4). */
const places = new Uint8Array(128);
for (const sign of '+-.0123456789Eaeflnrstu \t\r\n') places[sign.charCodeAt(0)] = 1;
for (const sign of '}]') places[sign.charCodeAt(0)] = 1 | 2;
for (const sign of '{[') places[sign.charCodeAt(0)] = 1 | 4;
for (const sign of ':,') places[sign.charCodeAt(0)] = 1 | 2 | 4;

/** Whether JSON has such a text before the string at `to`, behind the one that ends at `from` or at its beginning. No name looks like it. */
const isBetweenStrings = (text: string, from: number, to: number): boolean => {
  let first = from;
  while (text.charCodeAt(first) <= blank) first += 1;
  if (first === to) return from === 0;
  let last = to - 1;
  while (text.charCodeAt(last) <= blank) last -= 1;
  if (from > 0 && !((places[text.charCodeAt(first)] as number) & 2)) return false;
  if (!((places[text.charCodeAt(last)] as number) & 4)) return false;
  for (let at = first; at < last; at += 1) if (!places[text.charCodeAt(at)]) return false;
  return true;
};

/**
 * What is between any two neighbouring quotes that are not escaped: all strings of JSON and also what is between them, so that a quote
 * that is missing or one too many hides nothing behind it. A backslash that belongs to no string hides nothing either: an escaped quote
 * may begin a text.
 */
const visitBetweenQuotes = (text: string, visit: Visit): void => {
  let start = -1;
  let escapedStart = -1;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) {
    if (isEscaped(text, at)) {
      escapedStart = at + 1;
      continue;
    }
    if (start !== -1) visit(start, at);
    if (escapedStart !== -1) visit(escapedStart, at);
    start = at + 1;
    escapedStart = -1;
  }
};

/** @returns what is between two quotes, without its escapes; as it is where they are none of JSON. */
const readBetween = (text: string, start: number, end: number): string => {
  const written = text.slice(start, end);
  if (!written.includes('\\')) return written;
  try {
    return String(JSON.parse(`"${written}"`));
  } catch {
    return written;
  }
};

/**
 * Strings of JSON. Of any other text more than its strings: what is between any two neighbouring quotes. None that is empty.
 * @param visit takes a string and the offset at which it begins.
 */
export const visitQuoted = (text: string, visit: (value: string, start: number) => void): void => {
  const read: Visit = (start, end) => {
    if (end > start) visit(readBetween(text, start, end), start);
  };
  if (!visitStrings(text, read)) visitBetweenQuotes(text, read);
};

const idName = '"unique_id"';
const colon = 0x3a;

const numericId = /"unique_id"\s*:\s*(-?\d+)(?![\d.eE])/g;

/** Whole numbers that a text has in place of a call id, which is text. */
export const listNumericIds = (text: string): readonly string[] =>
  text.includes(idName) ? Array.from(text.matchAll(numericId), ([, id]) => id as string) : [];

/** Whether the string whose quote is at `at` is the value of `unique_id`. */
export const isCallId = (text: string, at: number): boolean => {
  const behindColon = skipBlanksBack(text, at);
  return text.charCodeAt(behindColon - 1) === colon && text.endsWith(idName, skipBlanksBack(text, behindColon - 1));
};

/** Offset behind the last character before `at` that is no blank. */
const skipBlanksBack = (text: string, at: number): number => {
  let end = at;
  while (end > 0 && text.charCodeAt(end - 1) <= blank) end -= 1;
  return end;
};
