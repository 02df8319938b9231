/** Fields that no rule may act on, as they came: a transcript is nearly all of a delivery, and parsing it takes nearly all of the time. */
import type { RuleNode } from './rules.ts';

export interface SplitRecord {
  /** The fields that rules may act on. */
  readonly record: unknown;
  /** The others as JSON, each with its name. Their values are not checked: whoever reads the record does. */
  readonly untouched: readonly string[];
}

const fieldBegins = /\s*([{,])\s*("[^"\\]*(?:\\[\s\S][^"\\]*)*")\s*:\s*/y;
const string = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y;
const scalar = /[^\s,{}[\]"]+/y;
/** Up to the next bracket that is in no string. */
const inner = /[^"{}[\]]*(?:"[^"\\]*(?:\\[\s\S][^"\\]*)*"[^"{}[\]]*)*/y;
const ends = /\s*\}\s*$/y;

/** Undefined where there is nothing to leave, or only a parser can tell: no object, a name twice. */
export const splitFields = (text: string, rules: RuleNode, always: string): SplitRecord | undefined => {
  if (rules.child('transcript_json').mayAct) return undefined;
  const names = new Set<string>();
  const touched: string[] = [];
  const untouched: string[] = [];
  let at = 0;
  for (;;) {
    const begin = matchAt(fieldBegins, text, at);
    if (begin === null || (begin[1] === '{') !== (at === 0)) break;
    const from = at + begin[0].length;
    const name = parse(begin[2] as string);
    at = endOf(text, from);
    if (typeof name !== 'string' || names.has(name) || at <= from || at > text.length) return undefined;
    names.add(name);
    const field = `${begin[2]}:${text.slice(from, at)}`;
    (name === always || rules.child(name).mayAct ? touched : untouched).push(field);
  }
  if (matchAt(ends, text, at) === null) return undefined;
  return { record: parse(`{${touched.join(',')}}`), untouched };
};

/** The value of JSON; undefined where it is none. */
export const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

/** Offset behind the value that begins at `at`; beyond the end of the text where it does not end. */
const endOf = (text: string, at: number): number => {
  const first = text[at];
  if (first !== '{' && first !== '[') return at + (matchAt(first === '"' ? string : scalar, text, at)?.[0].length ?? 0);
  let depth = 1;
  for (let next = at + 1; depth > 0; next += 1) {
    inner.lastIndex = next;
    inner.test(text);
    next = inner.lastIndex;
    const sign = text[next];
    if (sign === undefined || sign === '"') return text.length + 1;
    depth += sign === '{' || sign === '[' ? 1 : -1;
    if (depth === 0) return next + 1;
  }
  return text.length + 1;
};
