/** The policies on a whole record: pure, and doing it twice changes nothing more. */
import type { CountryCode } from 'libphonenumber-js/max';
import { isObject } from '../calls/field-reader.ts';
import { type DetectOptions, detect } from './detect.ts';
import { announces } from './detect-context.ts';
import type { Finding } from './finding.ts';
import { normalizeNumber } from './phone-number.ts';
import { mayHoldValue } from './prescan.ts';
import { openTranscript, replaceText } from './redact-transcript.ts';
import type { RuleNode } from './rules.ts';
import { isToken, makeToken, type TokenKey, type TokenKind } from './tokens.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface SanitizeOptions extends DetectOptions {
  readonly rules: RuleNode;
  readonly key: TokenKey;
  /** Told of each finding that was replaced, without its value. */
  readonly onFinding?: (detector: string) => void;
}

/** Past this depth a record is refused elsewhere. */
const maxDepth = 200;

const joined = new Set<string>(['phone', 'email', 'iban', 'card', 'nir']);

/** What stands for a finding: a token where values are joined by it, else its name. */
const replacementOf = ({ detector, value }: Finding, { key, onFinding }: SanitizeOptions): string => {
  onFinding?.(detector);
  return joined.has(detector) ? makeToken(key, detector as TokenKind, value) : `[${detector}]`;
};

/** A name as words that may announce a value: "DateOfBirth", "card_cvv". Its digits and tokens are no part of a value. */
const wordsOf = (name: string): string =>
  name
    .replaceAll(/ph_[a-z\d]+_[a-z2-7]{52}/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[_\d.-]+/g, ' ');

/** A value that is replaced may part others that were one run before: looked at again this often, so that twice is once. */
const mostRounds = 4;

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

/** The utterances with findings replaced; the same list where there are none. */
const redactSaid = (callData: unknown, options: SanitizeOptions): unknown => {
  let result = callData;
  for (let round = 0; round < mostRounds; round += 1) {
    const opened = openTranscript(result);
    const said = opened.redact(detect(opened.spoken, options), (finding) => replacementOf(finding, options));
    if (said === undefined) break;
    result = said;
  }
  return result;
};

/** The token of a whole value: of its number or address where it is one. */
export const tokenOf = (
  text: string,
  { key, countries }: { key: TokenKey; countries: readonly CountryCode[] },
): string => {
  if (text === '' || isToken(text)) return text;
  if (text.includes('@')) return makeToken(key, 'email', text.trim().toLowerCase());
  const isNumber = /^[+\d\s().\-/]+$/.test(text) && /\d{2}/.test(text);
  const number = isNumber ? normalizeNumber(text, countries) : undefined;
  return number === undefined ? makeToken(key, 'text', text) : makeToken(key, 'phone', number);
};

const last4Of = (text: string): string => {
  if (/^…\w{0,4}$/.test(text)) return text;
  const characters = text.replaceAll(/[^\p{L}\p{N}]/gu, '');
  return characters.length >= 8 ? `…${characters.slice(-4)}` : '…';
};

const gone = Symbol('gone');

/** @param name of the field, which may announce its value. */
const sanitizeLeaf = (value: unknown, { action }: RuleNode, name: string, options: SanitizeOptions): unknown => {
  if (action === 'drop') return gone;
  if (action === 'keep' || (typeof value !== 'string' && typeof value !== 'number')) return value;
  if (action === 'redact' && typeof value === 'number' && (!Number.isInteger(value) || Math.abs(value) < 1e6))
    return value;
  const text = String(value);
  if (action === 'token') return tokenOf(text, options);
  if (action === 'last4') return last4Of(text);
  const redacted = redactText(text, name, options);
  return redacted === text ? value : redacted;
};

const sanitizeValue = (
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
/** Names of free fields never end. */
const mostNames = 5_000;

/** A field's name as it is stored: detectors look at it too. */
const sanitizeName = (name: string, node: RuleNode, options: SanitizeOptions): string => {
  if (node.action === 'keep') return name;
  const plain = plainNames.get(options) ?? new Set();
  if (plain.has(name)) return name;
  const renamed = redactText(name, '', options);
  if (renamed === name && plain.size < mostNames) plainNames.set(options, plain.add(name));
  return renamed;
};

/** Every field by `sanitizeOne`, and its name by the detectors; the same object when nothing had to change. */
const sanitizeFields = (
  fields: Fields,
  node: RuleNode,
  options: SanitizeOptions,
  sanitizeOne: (value: unknown, node: RuleNode, name: string) => unknown,
): Fields => {
  const names = Object.keys(fields);
  const entries: [string, unknown][] = [];
  let isChanged = false;
  for (const name of names) {
    const value = fields[name];
    const inner = node.child(name);
    const renamed = name === identity && node === options.rules ? name : sanitizeName(name, inner, options);
    // The name announces its value as it will be stored.
    const kept = sanitizeOne(value, renamed === name ? inner : node.child(renamed), renamed);
    if (kept !== value || renamed !== name) isChanged = true;
    if (kept !== gone) entries.push([renamed, kept]);
  }
  return isChanged ? Object.fromEntries(entries) : fields;
};

/** The utterances by spans, everything else of the transcript as any other field. */
const sanitizeTranscript = (transcript: Fields, node: RuleNode, options: SanitizeOptions): unknown => {
  const { callData, ...rest } = transcript;
  const others = sanitizeValue(rest, node, 'transcript_json', options, 1);
  const utterances = sanitizeBeside(redactSaid(callData, options), node.child('callData'), options);
  if (others === rest && utterances === callData) return transcript;
  return { ...(isObject(others) ? others : {}), callData: utterances };
};

/** Fields of utterances beside text and words, and of words beside their value: unknown ones may hold anything. */
const sanitizeBeside = (callData: unknown, node: RuleNode, options: SanitizeOptions): unknown => {
  if (!Array.isArray(callData)) return sanitizeValue(callData, node, 'callData', options, 2);
  const words = node.child('words');
  let isChanged = false;
  const items = callData.map((item: unknown) => {
    if (!isObject(item)) return item;
    const kept = sanitizeFields(item, node, options, (value, inner, name) => {
      if (name === 'content' && typeof value === 'string') return value;
      if (name === 'words' && Array.isArray(value)) return sanitizeWords(value, words, options);
      return sanitizeValue(value, inner, name, options, 4);
    });
    if (kept !== item) isChanged = true;
    return kept;
  });
  return isChanged ? items : callData;
};

const sanitizeWords = (words: readonly unknown[], node: RuleNode, options: SanitizeOptions): readonly unknown[] => {
  let isChanged = false;
  const kept = words.map((word) => {
    if (!isObject(word) || !mayHold(word)) return word;
    const own = sanitizeFields(word, node, options, (value, inner, name) =>
      name === 'value' ? value : sanitizeValue(value, inner, name, options, 6),
    );
    if (own !== word) isChanged = true;
    return own;
  });
  return isChanged ? kept : words;
};

/** A word has a value and small numbers: there are hundreds in a call, and nearly none has more. */
const mayHold = (word: Fields): boolean => {
  for (const name in word) {
    const value = word[name];
    if (name === 'value' || (typeof value === 'number' && (Math.abs(value) < 1e6 || !Number.isInteger(value))))
      continue;
    if (value !== null && typeof value !== 'boolean') return true;
  }
  return false;
};

/** What everything of a call is kept under: it stays as it is. */
const identity = 'unique_id';

const sanitizeTop = (value: unknown, node: RuleNode, name: string, options: SanitizeOptions): unknown =>
  name === 'transcript_json' && isObject(value) && node.child('callData').action === 'redact'
    ? sanitizeTranscript(value, node, options)
    : sanitizeValue(value, node, name, options, 1);

/**
 * The fields with the policies applied; the very same object when nothing had to change.
 * @throws RangeError when nested too deeply.
 */
export const sanitizeRecord = (fields: Fields, options: SanitizeOptions): Fields =>
  sanitizeFields(fields, options.rules, options, (value, node, name) =>
    name === identity ? value : sanitizeTop(value, node, name, options),
  );

/** What becomes of one field of a record; a name that has to change concerns the others too. */
export type SanitizedField = { readonly value: unknown } | 'dropped' | 'renamed';

/** As `sanitizeRecord`, for one of its fields. */
export const sanitizeField = (name: string, value: unknown, options: SanitizeOptions): SanitizedField => {
  if (name === identity) return { value };
  const node = options.rules.child(name);
  if (sanitizeName(name, node, options) !== name) return 'renamed';
  const kept = sanitizeTop(value, node, name, options);
  return kept === gone ? 'dropped' : { value: kept };
};
