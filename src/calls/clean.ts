/** Text that every warehouse can hold: no NUL, no lone surrogate. */

const suspicious = /[\0\ud800-\udfff]/;

/** True when the text has a NUL or a lone surrogate, which Postgres refuses and BigQuery replaces. */
export const isDirty = (text: string): boolean =>
  suspicious.test(text) && (text.includes('\0') || !text.isWellFormed());

/** The text with each such character replaced by U+FFFD. */
export const cleanText = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed();

/** Deepest nesting that is stored as JSON: BigQuery takes 500 levels, and no client reads more. */
export const maxJsonDepth = 200;

/** Order of code units, the same everywhere. */
export const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0;

/**
 * Cleans every text and key of a JSON value and sorts its keys, so that equal values read the same.
 * @throws RangeError past `maxJsonDepth`.
 */
export const cleanJson = (value: unknown, depth = 0): unknown => {
  if (depth > maxJsonDepth) throw new RangeError('nested too deeply');
  if (typeof value === 'string') return isDirty(value) ? cleanText(value) : value;
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, depth + 1));
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).sort(byKey);
    return Object.fromEntries(members.map(([key, item]) => [cleanText(key), cleanJson(item, depth + 1)]));
  }
  return value;
};
