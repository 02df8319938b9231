/** The policies on a whole record: pure, and doing it twice changes nothing more. */
import type { CountryCode } from 'libphonenumber-js/max';
import { isObject } from '../calls/field-reader.ts';
import { type DetectOptions, detect } from './detect.ts';
import type { Finding } from './finding.ts';
import { normalizeNumber } from './phone-number.ts';
import { openTranscript, replaceText } from './redact-transcript.ts';
import type { CompiledRules } from './rules.ts';
import { isToken, makeToken, type TokenKey, type TokenKind } from './tokens.ts';

type Fields = Readonly<Record<string, unknown>>;

export interface SanitizeOptions extends DetectOptions {
  readonly rules: CompiledRules;
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

/** Text with findings replaced; the same text where there are none. */
const redactText = (text: string, name: string, options: SanitizeOptions): string => {
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

/** Numbers of this many digits may be a person's. */
const leastDigits = 7;

const gone = Symbol('gone');

const sanitizeLeaf = (value: unknown, path: readonly string[], options: SanitizeOptions): unknown => {
  const action = options.rules.actionOn(path);
  if (action === 'drop') return gone;
  if (action === 'keep' || (typeof value !== 'string' && typeof value !== 'number')) return value;
  const text = String(value);
  if (action === 'token') return tokenOf(text, options);
  if (action === 'last4') return last4Of(text);
  if (typeof value === 'number' && (!Number.isInteger(value) || text.length < leastDigits)) return value;
  const redacted = redactText(text, path.at(-1) ?? '', options);
  return redacted === text ? value : redacted;
};

const sanitizeValue = (value: unknown, path: readonly string[], options: SanitizeOptions, depth: number): unknown => {
  if (typeof value !== 'object' || value === null) return sanitizeLeaf(value, path, options);
  if (depth > maxDepth) throw new RangeError('nested too deeply');
  if (!options.rules.mayAct(path)) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => sanitizeValue(item, path, options, depth + 1));
    if (items.every((item) => item === gone) && options.rules.actionOn(path) === 'drop') return gone;
    if (items.every((item, index) => item === value[index])) return value;
    return items.filter((item) => item !== gone);
  }
  const fields = sanitizeFields(value as Fields, path, options, (item, inner) =>
    sanitizeValue(item, inner, options, depth + 1),
  );
  return options.rules.actionOn(path) === 'drop' && Object.keys(fields).length === 0 ? gone : fields;
};

/** Every field by `sanitizeOne`, and its name by the detectors; the same object when nothing had to change. */
const sanitizeFields = (
  fields: Fields,
  path: readonly string[],
  options: SanitizeOptions,
  sanitizeOne: (value: unknown, path: readonly string[]) => unknown,
): Fields => {
  const entries: [string, unknown][] = [];
  let isChanged = false;
  for (const [name, value] of Object.entries(fields)) {
    const inner = [...path, name];
    const isKept = inner.join('.') === identity || options.rules.actionOn(inner) === 'keep';
    const renamed = isKept ? name : redactText(name, '', options);
    // The name announces its value as it will be stored.
    const kept = sanitizeOne(value, [...path, renamed]);
    if (kept !== value || renamed !== name) isChanged = true;
    if (kept !== gone) entries.push([renamed, kept]);
  }
  return isChanged ? Object.fromEntries(entries) : fields;
};

/** The utterances by spans, everything else of the transcript as any other field. */
const sanitizeTranscript = (transcript: Fields, path: readonly string[], options: SanitizeOptions): unknown => {
  const { callData, ...rest } = transcript;
  const others = sanitizeValue(rest, path, options, 1);
  const utterances = sanitizeBeside(redactSaid(callData, options), [...path, 'callData'], options);
  if (others === rest && utterances === callData) return transcript;
  return { ...(isObject(others) ? others : {}), callData: utterances };
};

/** Fields of utterances beside text and words, and of words beside their value: unknown ones may hold anything. */
const sanitizeBeside = (callData: unknown, path: readonly string[], options: SanitizeOptions): unknown => {
  if (!Array.isArray(callData)) return sanitizeValue(callData, path, options, 2);
  let isChanged = false;
  const items = callData.map((item) => {
    if (!isObject(item)) return item;
    const { content, words, ...rest } = item;
    const kept = sanitizeValue(rest, path, options, 3);
    if (kept === rest) return item;
    isChanged = true;
    const own = { ...(content === undefined ? {} : { content }), ...(words === undefined ? {} : { words }) };
    return { ...(isObject(kept) ? kept : {}), ...own };
  });
  return isChanged ? items : callData;
};

/** What everything of a call is kept under: it stays as it is. */
const identity = 'unique_id';

/**
 * The fields with the policies applied; the very same object when nothing had to change.
 * @throws RangeError when nested too deeply.
 */
export const sanitizeRecord = (fields: Fields, options: SanitizeOptions): Fields =>
  sanitizeFields(fields, [], options, (value, path) => {
    const [name = ''] = path;
    if (name === identity) return value;
    return name === 'transcript_json' && isObject(value) && options.rules.actionOn([name, 'callData']) === 'redact'
      ? sanitizeTranscript(value, path, options)
      : sanitizeValue(value, path, options, 1);
  });
