/** The policies on single values, texts and names: pure, and doing it twice changes nothing more. */
import { type FormerKeys, makeTokens, noteTokens, type Tokens } from './aliases.ts';
import { type DetectOptions, detect } from './detect.ts';
import { announces } from './detect-context.ts';
import type { Finding } from './finding.ts';
import { normalizeNumber } from './phone-number.ts';
import { rememberRecent } from './recent.ts';
import { replaceText } from './redact-transcript.ts';
import type { RuleNode } from './rules.ts';
import { mayHoldValue } from './sketch.ts';
import { isToken, type TokenKey, type TokenKind } from './tokens.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface SanitizeOptions extends DetectOptions {
  readonly rules: RuleNode;
  readonly key: TokenKey;
  /** Where there are any, aliases of the tokens are noted in it. */
  readonly former?: FormerKeys | undefined;
  /** Told of each finding that was replaced, without its value. */
  readonly onFinding?: (detector: string) => void;
}

/** Past this depth a record is refused elsewhere. */
const maxDepth = 200;

const joined = new Set<string>(['phone', 'email', 'iban', 'card', 'nir']);

/** What stands for a finding: a token where values are joined by it, else its name. */
export const replacementOf = ({ detector, value }: Finding, options: SanitizeOptions): string => {
  options.onFinding?.(detector);
  if (!joined.has(detector)) return `[${detector}]`;
  return noteTokens(makeTokens(options, detector as TokenKind, value), options);
};

/** Names of free fields never end. */
const mostNames = 5_000;

/** A name as words that may announce a value: "DateOfBirth", "card_cvv". Its digits and tokens are no part of a value. */
const wordsOf = rememberRecent(mostNames, (name) =>
  name
    .replaceAll(/ph_[a-z\d]+_[a-z2-7]{52}/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[_\d.-]+/g, ' '),
);

/** A value that is replaced may part others that were one run before: looked at again this often, so that twice is once. */
export const mostRounds = 4;

const identifier = /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|ph_[a-z\d]+_[a-z2-7]{52})$/;
const timestamp = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$/;

/** Most values of a record are ids, times and words, in which nothing can be found. */
const isPlain = (text: string, name: string): boolean =>
  !mayHoldValue(text) || identifier.test(text) || (timestamp.test(text) && !announces(wordsOf(name)));

/** Text with findings replaced; the same text where there are none. */
const redactText = (text: string, name: string, options: SanitizeOptions): string => {
  if (options.patterns.length === 0 && isPlain(text, name)) return text;
  let result = text;
  for (let round = 0; round < mostRounds; round += 1) {
    const spoken = [wordsOf(name), result].map((part) => ({ speaker: '', text: part }));
    const replacements = detect(spoken, options).flatMap((finding) => {
      const own = finding.spans.filter(({ utterance }) => utterance === 1);
      if (own.length === 0) return [];
      const label = replacementOf(finding, options);
      return own.map(({ start, end }) => ({ start, end, label }));
    });
    if (replacements.length === 0) break;
    result = replaceText(result, replacements);
  }
  return result;
};

type TokenOptions = Pick<SanitizeOptions, 'key' | 'former' | 'countries'>;

const makeTokensOf = (text: string, options: TokenOptions): Tokens => {
  if (text === '' || isToken(text)) return { token: text, former: [] };
  if (text.includes('@')) return makeTokens(options, 'email', text.trim().toLowerCase());
  const isNumber = /^[+\d\s().\-/]+$/.test(text) && /\d{2}/.test(text);
  const number = isNumber ? normalizeNumber(text, options.countries) : undefined;
  return number === undefined ? makeTokens(options, 'text', text) : makeTokens(options, 'phone', number);
};

/** Lines, agents and customers recur; working a token out takes as long as reading the rest of a small record. */
const recentTokens = new WeakMap<TokenOptions, (text: string) => Tokens>();
const mostTokens = 1_000;

/** The tokens of a whole value: of its number or address where it is one. */
export const tokensOf = (text: string, options: TokenOptions): Tokens => {
  const known = recentTokens.get(options) ?? rememberRecent(mostTokens, (one) => makeTokensOf(one, options));
  recentTokens.set(options, known);
  return known(text);
};

const last4Of = (text: string): string => {
  if (/^…[\p{L}\p{N}]{0,4}$/u.test(text)) return text;
  const characters = text.replaceAll(/[^\p{L}\p{N}]/gu, '');
  return characters.length >= 8 ? `…${characters.slice(-4)}` : '…';
};

/** Stands for a value that is left out. */
export const gone = Symbol('gone');

/** @param name of the field, which may announce its value. */
const sanitizeLeaf = (value: unknown, { action }: RuleNode, name: string, options: SanitizeOptions): unknown => {
  if (action === 'drop') return gone;
  if (action === 'keep' || (typeof value !== 'string' && typeof value !== 'number')) return value;
  if (action === 'redact' && typeof value === 'number' && (!Number.isInteger(value) || Math.abs(value) < 1e6))
    return value;
  const text = String(value);
  if (action === 'token') return noteTokens(tokensOf(text, options), options);
  if (action === 'last4') return last4Of(text);
  const redacted = redactText(text, name, options);
  return redacted === text ? value : redacted;
};

/** The value with the policies applied; the same one where nothing had to change. @throws RangeError when nested too deeply. */
export const sanitizeValue = (
  value: unknown,
  node: RuleNode,
  name: string,
  options: SanitizeOptions,
  depth: number,
): unknown => {
  if (typeof value !== 'object' || value === null) return sanitizeLeaf(value, node, name, options);
  if (depth > maxDepth) throw new RangeError('nested too deeply');
  if (!node.mayAct) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => sanitizeValue(item, node, name, options, depth + 1));
    if (items.every((item) => item === gone) && node.action === 'drop') return gone;
    if (items.every((item, index) => item === value[index])) return value;
    return items.filter((item) => item !== gone);
  }
  const fields = sanitizeFields(value as Fields, node, options, (item, inner, own) =>
    sanitizeValue(item, inner, own, options, depth + 1),
  );
  return node.action === 'drop' && Object.keys(fields).length === 0 ? gone : fields;
};

/** Names in which nothing was found, by the options that looked: the same few come again and again. */
const plainNames = new WeakMap<SanitizeOptions, Set<string>>();
/** A field's name as it is stored: detectors look at it too. */
export const sanitizeName = (name: string, node: RuleNode, options: SanitizeOptions): string => {
  if (node.action === 'keep') return name;
  const plain = plainNames.get(options) ?? new Set();
  if (plain.has(name)) return name;
  const renamed = redactText(name, '', options);
  if (renamed === name && plain.size < mostNames) plainNames.set(options, plain.add(name));
  return renamed;
};

/** What everything of a call is kept under: it stays as it is. */
export const identity = 'unique_id';

/** Every field by `sanitizeOne`, and its name by the detectors; the same object when nothing had to change. */
export const sanitizeFields = (
  fields: Fields,
  node: RuleNode,
  options: SanitizeOptions,
  sanitizeOne: (value: unknown, node: RuleNode, name: string) => unknown,
): Fields => {
  const names = Object.keys(fields);
  let entries: [string, unknown][] | undefined;
  for (const [index, name] of names.entries()) {
    const value = fields[name];
    const inner = node.child(name);
    const renamed = name === identity && node === options.rules ? name : sanitizeName(name, inner, options);
    // The name announces its value as it will be stored.
    const kept = sanitizeOne(value, renamed === name ? inner : node.child(renamed), renamed);
    if (entries === undefined && kept === value && renamed === name) continue;
    entries ??= names.slice(0, index).map((before) => [before, fields[before]]);
    if (kept !== gone) entries.push([renamed, kept]);
  }
  return entries === undefined ? fields : Object.fromEntries(entries);
};
