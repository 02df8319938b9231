/** The rules on a whole record: pure, and doing it twice changes nothing more. */
import { isDeepStrictEqual } from 'node:util';
import { knownField, type Redaction, redactionsField } from '../calls/own-fields.ts';
import { isObject } from '../lib/parse-json.ts';
import { rememberRecent } from '../lib/recent.ts';
import { detect } from './detect.ts';
import { announces, findMentions } from './detect-context.ts';
import { type Finding, joinedDetectors, type Span } from './finding.ts';
import { lookAt } from './first-look.ts';
import { findKnown, type Known, listNamed, openKnown } from './known.ts';
import { normalizeNumber } from './phone-number.ts';
import { isWhole, readTokens } from './read-text.ts';
import { type RuleNode, readsSpeech } from './rules.ts';
import { leastDigits } from './runs.ts';
import { type Aliases, isToken, makeTokens, shortHashes, type TokenKeys, type Tokens, tokens } from './tokens.ts';
import { listRedactions, readUtterances, replaceFindings } from './transcript.ts';

type DetectOptions = Parameters<typeof detect>[1];
type Fields = Readonly<Record<string, unknown>>;

interface CleanOptions extends DetectOptions {
  readonly rules: RuleNode;
  readonly keys: TokenKeys;
  /** Rule on the values that a record names, and the rules on keys of its metadata. */
  readonly known?: { readonly action: RuleNode['action']; readonly metadata: RuleNode; readonly note: () => void };
}

type Rules = ReturnType<typeof openRules>;

/** Lines, agents and customers recur; working a token out takes as long as reading the rest of a small record. */
const mostTokens = 1_000;
/** Names of free fields never end. */
const mostNames = 5_000;
/**
 * A replaced value may split a run of other values. The text is therefore cleaned again at most this often, so that
 * cleaning twice changes nothing.
 */
const mostRounds = 4;
/** Fields that identify a call; they stay as they are. */
const identity = 'unique_id';
/** Replaces a value that is left out. */
const gone = Symbol('gone');

/** Options, and their decisions on repeated values. */
export const openRules = (options: CleanOptions) => ({
  ...options,
  /** The tokens of a whole value: of its number or address where it is one. */
  hashesOf: rememberRecent(mostTokens, (text) => shortHashes(options.keys, text)),
  tokensOf: rememberRecent(mostTokens, (text) => makeTokensOf(text, options)),
  /** Tokens since the last clearing. */
  aliases: new Map() as Aliases,
});

/**
 * The fields with the rules applied.
 * @param fields may be plain JSON (see `FieldSpan`): bytes that no rule changes stay bytes.
 * `fields` = the very same object when nothing had to change.
 * `findings` = the detector of each finding that was replaced.
 */
export const clean = (fields: Fields, rules: Rules) => {
  const pass: Pass = { rules, findings: [] };
  pass.known = readKnown(fields, pass);
  const kept = cleanFields(fields, rules.rules, pass, (...field) => cleanField(...field, pass));
  const hashes = pass.known?.hashes ?? [];
  const isSame = pass.known === undefined || isDeepStrictEqual(kept[knownField] ?? [], hashes);
  const { [knownField]: _sent, ...others } = kept;
  const marked = hashes.length === 0 ? others : { ...others, [knownField]: hashes };
  return { fields: isSame ? kept : marked, findings: pass.findings };
};

type Pass = { readonly rules: Rules; readonly findings: string[]; known?: Known | undefined };

/** The values that a record names, or that others of its call have named. */
const readKnown = (fields: Fields, pass: Pass): Known | undefined => {
  const { known, countries, tokensOf } = pass.rules;
  if (known === undefined || known.action === 'keep') return undefined;
  const labelOf = (value: string): string => {
    if (known.action === 'drop') return '…';
    if (known.action === 'last4') return /\d/.test(value) ? last4Of(value) : '…';
    const isPhone = normalizeNumber(value, countries)?.startsWith('+') === true;
    return known.action === 'token' || isPhone ? noteTokens(tokensOf(value), pass) : '[known]';
  };
  const named = listNamed(fields, known.metadata);
  if (named.length > 0) known.note();
  const labels = named.map((value) => [value, labelOf(value)] as const);
  return openKnown(labels, fields[knownField], pass.rules);
};

const cleanField = (value: unknown, node: RuleNode, name: string, pass: Pass): unknown => {
  if (name === identity || (name === knownField && pass.known !== undefined)) return value;
  const isRead =
    name === 'transcript_json' &&
    (readsSpeech(node) || (pass.known !== undefined && node.child('callData').action === 'keep'));
  if (Buffer.isBuffer(value)) {
    if (!node.mayAct && !isRead) return value;
    const parsed: unknown = JSON.parse(value.toString('utf8'));
    const kept = cleanField(parsed, node, name, pass);
    return kept === parsed ? value : kept;
  }
  return isRead && isObject(value) ? cleanTranscript(value, node, pass) : cleanValue(value, node, { name }, pass);
};

/** Where a value stands: its field's name may announce it. `text` = name of the said text in the items of a list. */
type At = { readonly name: string; readonly text?: 'content' | 'value' | undefined };

/** The value with the rules applied; the same one where nothing had to change. */
const cleanValue = (value: unknown, node: RuleNode, { name, text }: At, pass: Pass): unknown => {
  if (typeof value !== 'object' || value === null) return cleanLeaf(value, node, name, pass);
  if (!node.mayAct) return value;
  if (Array.isArray(value)) {
    const items = mapChanged(value, (item) =>
      cleanValue(item, node, { name, text: isObject(item) ? text : undefined }, pass),
    );
    if (text === undefined && items.every((item) => item === gone) && node.action === 'drop') return gone;
    return text !== undefined || items === value ? items : items.filter((item) => item !== gone);
  }
  const fields = cleanFields(value as Fields, node, pass, (item, inner, own) => {
    if (own === text && isSaid(item, inner)) return item;
    if (typeof item !== 'object') return cleanLeaf(item, inner, own, pass);
    const isList = own === 'words' && text === 'content' && Array.isArray(item) && inner.action !== 'drop';
    return cleanValue(item, inner, { name: own, text: isList ? 'value' : undefined }, pass);
  });
  return text === undefined && node.action === 'drop' && Object.keys(fields).length === 0 ? gone : fields;
};

/** Spoken text is replaced already, and needs another look only under a further rule. */
const isSaid = (value: unknown, { action }: RuleNode): boolean =>
  typeof value === 'string' && (action === 'redact' || action === 'keep');

const isSmall = (value: unknown) => typeof value === 'number' && (!Number.isInteger(value) || Math.abs(value) < 1e6);

const cleanLeaf = (value: unknown, { action }: RuleNode, name: string, pass: Pass): unknown => {
  if (action === 'drop') return gone;
  if (action === 'keep' || (typeof value !== 'string' && typeof value !== 'number')) return value;
  // A code of three digits is a number too.
  if (action === 'redact' && isSmall(value) && !isAnnouncing(name)) return value;
  const text = String(value);
  if (action === 'token') return noteTokens(pass.rules.tokensOf(text), pass);
  if (action === 'last4') return last4Of(text);
  const redacted = redactText(text, name, pass);
  return redacted === text ? value : redacted;
};

/** Every field by `cleanOne`, and its name by the detectors; the same object when nothing had to change. */
const cleanFields = (
  fields: Fields,
  node: RuleNode,
  pass: Pass,
  cleanOne: (value: unknown, node: RuleNode, name: string) => unknown,
): Fields => {
  const names = Object.keys(fields);
  let entries: [string, unknown][] | undefined;
  // Every word of every call comes here: nothing is made for a field that stays.
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    const value = fields[name];
    const inner = node.child(name);
    const renamed = name === identity && node === pass.rules.rules ? name : cleanName(name, inner, pass);
    // The name announces its value as it will be stored.
    const kept = cleanOne(value, renamed === name ? inner : node.child(renamed), renamed);
    if (entries === undefined && kept === value && renamed === name) continue;
    entries ??= names.slice(0, index).map((before) => [before, fields[before]]);
    if (kept !== gone) entries.push([renamed, kept]);
  }
  return entries === undefined ? fields : Object.fromEntries(entries);
};

/** A field's name as it is stored: detectors look at it too. */
const cleanName = (name: string, node: RuleNode, pass: Pass): string => {
  if (node.action === 'keep' || node.isNamePlain) return name;
  const renamed = redactText(name, '', pass);
  node.isNamePlain = renamed === name;
  return renamed;
};

/** A transcript: utterances by spans, everything beside them as any other field. */
const cleanTranscript = (transcript: Fields, node: RuleNode, pass: Pass): unknown => {
  const { callData, [redactionsField]: held, ...rest } = transcript;
  const others = cleanValue(rest, node, { name: 'transcript_json' }, pass);
  const sent = readUtterances(callData);
  const { utterances, redactions } = redactSaid(sent, readsSpeech(node), pass);
  const said = Array.isArray(callData)
    ? mapChanged(callData, (item, at) => (utterances[at] === sent[at] ? item : utterances[at]?.fields))
    : callData;
  const at = { name: 'callData', text: Array.isArray(callData) ? ('content' as const) : undefined };
  const kept = cleanValue(said, node.child('callData'), at, pass);
  const patterns = pass.rules.patterns.map(({ name }) => name);
  const marks =
    node.child(redactionsField).action === 'drop' ? undefined : listRedactions(held, redactions, sent, patterns);
  if (others === rest && kept === callData && isDeepStrictEqual(marks, held)) return transcript;
  return {
    ...(isObject(others) ? others : {}),
    callData: kept,
    ...(marks === undefined ? {} : { [redactionsField]: marks }),
  };
};

/** The utterances with findings replaced from the first on, and where; others stay the same objects. */
const redactSaid = (sent: ReturnType<typeof readUtterances>, isSpeech: boolean, pass: Pass, first = 0) => {
  const { rules, known } = pass;
  let utterances = sent;
  const redactions: Redaction[] = [];
  const isOwn = ({ utterance }: Span): boolean => utterance >= first;
  const replace = (findings: readonly Finding[]): boolean => {
    const replaced = replaceFindings(utterances, findings, (finding) => labelOf(finding, pass));
    utterances = replaced.utterances;
    redactions.push(...replaced.redactions);
    return findings.length > 0;
  };
  for (let round = 0; isSpeech && round < mostRounds; round += 1) {
    const found = detect(utterances, rules).map(({ spans, ...one }) => ({ ...one, spans: spans.filter(isOwn) }));
    if (!replace(found.filter(({ spans }) => spans.length > 0))) break;
  }
  // Detectors come first: an address is more than the name in it.
  if (known !== undefined) {
    const phones = isSpeech ? [] : detect(utterances, { ...rules, patterns: [], isOn: (name) => name === 'phone' });
    const labelled = phones.map((finding) => ({ ...finding, label: known.labelOf(finding.value.slice(1)) }));
    replace(
      labelled.flatMap(({ label, spans }) => (label === undefined ? [] : { detector: 'known', value: label, spans })),
    );
    replace(findKnown(utterances, known));
  }
  return { utterances, redactions };
};

/** The same list where nothing changed. */
const mapChanged = (items: readonly unknown[], change: (item: unknown, index: number) => unknown) => {
  const changed = items.map(change);
  return changed.every((item, index) => item === items[index]) ? items : changed;
};

const joined = new Set<string>(joinedDetectors);

/** Replacement of a finding: a token if values are joined by it, else its name. */
const labelOf = ({ detector, value }: Finding, pass: Pass): string => {
  pass.findings.push(detector);
  if (detector === 'known') return value;
  if (!joined.has(detector)) return `[${detector}]`;
  return noteTokens(makeTokens(pass.rules.keys, detector as Parameters<typeof makeTokens>[1], value), pass);
};

/** The present token, with the others noted as its aliases. */
const noteTokens = ([token, ...others]: Tokens, { rules: { aliases } }: Pass): string => {
  for (const other of others) aliases.set(other, token);
  return token;
};

/** A name as words that may announce a value: "DateOfBirth", "card_cvv". Digits and tokens of a name are no part of a value. */
const wordsOf = rememberRecent(mostNames, (name) =>
  name
    .replaceAll(tokens, ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[_\d.-]+/g, ' '),
);

/** Whether a name by itself announces a card verification value or a date of birth. */
const isAnnouncing = rememberRecent(mostNames, (name) => announces(findMentions(readTokens(wordsOf(name)))));

/** Most values of a record are ids, times and single words, which hold no personal value. */
const isPlain = (text: string, name: string): boolean => {
  const { digits, hasSign, hasDot, hasCue } = lookAt(text);
  if (digits === 0 && !(hasSign && hasDot)) return true;
  const isLittle = digits < leastDigits && !hasSign && !hasCue;
  return (isLittle || isWhole(text)) && !isAnnouncing(name);
};

/** Text with findings replaced; the same text where there are none. @param name of the field, which may announce its value. */
const redactText = (text: string, name: string, pass: Pass): string => {
  if (pass.rules.patterns.length === 0 && isPlain(text, name)) return text;
  const said = readUtterances([{ content: wordsOf(name) }, { content: text }]);
  return redactSaid(said, true, { ...pass, known: undefined }, 1).utterances[1]?.text ?? '';
};

const makeTokensOf = (text: string, { keys, countries }: CleanOptions): Tokens => {
  if (text === '' || isToken(text)) return [text];
  if (text.includes('@')) return makeTokens(keys, 'email', text.trim().toLowerCase());
  const isNumber = /^[+\d\s().\-/]+$/.test(text) && /\d{2}/.test(text);
  const number = isNumber ? normalizeNumber(text, countries) : undefined;
  return makeTokens(keys, number === undefined ? 'text' : 'phone', number ?? text);
};

const last4Of = (text: string): string => {
  if (/^…[\p{L}\p{N}]{0,4}$/u.test(text)) return text;
  const characters = text.replaceAll(/[^\p{L}\p{N}]/gu, '');
  return characters.length >= 8 ? `…${characters.slice(-4)}` : '…';
};
