/** Texts in quotes: of JSON, and of what is cut off or broken. Time grows with the length of a text only, whatever is in it. Pure. */

const backslash = 0x5c;
const blank = 0x20;

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
export const visitQuoted = (text: string, visit: (value: string, start: number) => void): void => {
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
