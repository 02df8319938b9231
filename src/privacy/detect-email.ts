/** E-mail addresses, written or spoken: "jean point dupont arobase gmail point com". */
import type { Finding } from './finding.ts';
import { compilePhrases, languages, phrasesOf, wordsOf } from './languages.ts';
import type { Piece } from './read-pieces.ts';
import { setOf } from './read-text.ts';
import type { Claims } from './runs.ts';
import { keyOf, listSaid, type Part, type Said, spellOut } from './spelling.ts';

/** Most characters of an address before its sign, and after it. */
const mostLocal = 64;
const mostDomain = 255;
const localCharacter = /[\p{L}\p{N}._%+'-]/u;
const domain = /^@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.\p{L}{2,24}/u;

/** Addresses in a text, in lower case. */
export const findWrittenEmails = (text: string, utterance: number): Finding[] => {
  const found: Finding[] = [];
  let from = 0;
  for (let sign = text.indexOf('@'); sign !== -1; sign = text.indexOf('@', sign + 1)) {
    let start = sign;
    while (start > from && start > sign - mostLocal && localCharacter.test(text.charAt(start - 1))) start -= 1;
    const end = sign + (start < sign ? (domain.exec(text.slice(sign, sign + mostDomain))?.[0].length ?? 0) : 0);
    if (end === sign) continue;
    found.push({ detector: 'email', value: text.slice(start, end).toLowerCase(), spans: [{ utterance, start, end }] });
    from = end;
  }
  return found;
};

/** `at` needs more: it is a usual word. */
type Sign = '@' | 'at' | '.' | '-' | '_' | '+';
const phrases = compilePhrases<{ readonly sign: Sign } | { readonly host: string }>([
  ...languages.flatMap(({ signs }) => (['@', '.', '-', '_'] as const).map((sign) => [signs[sign], { sign }] as const)),
  ...(['@', '.', '-', '_', '+'] as const).map((sign) => [sign, { sign }] as const),
  ['at, chez', { sign: 'at' }],
  ...languages.flatMap(({ hosts }) => Object.entries(hosts).map(([host, said]) => [said, { host }] as const)),
]);
/** Ends of addresses; behind "arobase" any short word will do, behind "at" only these. */
const endings = setOf(
  'com fr net org eu be ch de es it uk ca us io co info biz pro lu pt nl ie me gouv edu dev app re au nz',
);
/** Words that stand before an address and are no part of it. */
const before = wordsOf((language) => language.beforeAddress);

type AddressPart = Part & { readonly sign?: Sign | undefined };

/** Signs and hosts of several words are one part each. */
const readParts = (said: readonly Said[]): readonly AddressPart[] => {
  const words = said.map((piece) => ({ key: keyOf(piece) }));
  const parts: AddressPart[] = [];
  let plain: Said[] = [];
  const flush = (): void => {
    parts.push(...spellOut(plain, false));
    plain = [];
  };
  for (let at = 0; at < said.length; ) {
    const found = phrases(words, at);
    const [first, last] = [said[at] as Said, said[(found?.end ?? at + 1) - 1] as Said];
    const isHost = said.slice(Math.max(0, at - 2), at).some((piece) => maySign.has(keyOf(piece)));
    if (found === undefined || first.utterance !== last.utterance || ('host' in found.meaning && !isHost)) {
      plain.push(first);
      at += 1;
      continue;
    }
    flush();
    const { meaning, end } = found;
    const place = { utterance: first.utterance, start: first.start, end: last.end, piece: first };
    if ('host' in meaning) parts.push({ kind: 'word', text: meaning.host, ...place });
    else parts.push({ kind: 'mark', text: meaning.sign, sign: meaning.sign, ...place });
    at = end;
  }
  flush();
  return parts;
};

/** @param pieces of one utterance, or of several that follow each other. */
export const claimSpokenEmails = (pieces: readonly Piece[], claims: Claims): void => {
  const hasDot = (at: number): boolean =>
    pieces.slice(at, at + dotWithin).some((piece) => piece.kind !== 'turn' && mayDot.has(keyOf(piece)));
  const isSign = (piece: Piece, at: number): boolean =>
    piece.kind !== 'turn' && maySign.has(keyOf(piece)) && claims.isFree([piece]) && hasDot(at);
  if (!pieces.some(isSign)) return;
  const parts = readParts(listSaid(pieces));
  for (const [at, part] of parts.entries()) {
    if (part.sign !== '@' && part.sign !== 'at') continue;
    const host = readDomain(parts, at + 1, part.sign === 'at');
    const local = host === undefined ? [] : readLocal(parts, skipHesitation(parts, at));
    if (host === undefined || local.length === 0) continue;
    if (part.sign === 'at' && !isAddress(parts, at, local, host)) continue;
    const all = [...local, part, ...host];
    const value = `${local.map(({ text }) => text).join('')}@${host.map(({ text }) => text).join('')}`;
    claims.add('email', value, all);
  }
};
/** Pieces from the sign to the first dot, at most. */
const dotWithin = 30;
/** First words of a sign. */
const firstWords = (sign: '@' | '.'): readonly string[] =>
  languages.flatMap(({ signs }) => signs[sign].split(',').map((phrase) => phrase.trim().split(' ')[0] ?? ''));
const maySign = new Set(['@', 'at', 'chez', ...firstWords('@')]);
const mayDot = new Set(['.', ...firstWords('.')]);

/** Hosts that people have addresses at. */
const hosts = setOf(
  'gmail googlemail outlook hotmail yahoo live msn icloud proton protonmail aol gmx orange free laposte wanadoo sfr btinternet sky',
);
const announcement = phrasesOf((language) => language.announcesAddress);
/** Number of words before "at" that may announce an address. */
const announcedWithin = 40;

/** "I bought it at amazon dot com" is none: one word before "at" needs something that says so. */
const isAddress = (parts: readonly Part[], at: number, local: readonly Part[], host: readonly Part[]): boolean => {
  const [word] = local;
  if (local.length > 1) return true;
  if (word === undefined || (word.kind === 'word' && before.has(word.text))) return false;
  if (hosts.has(host[0]?.text ?? '')) return true;
  const words = parts.slice(Math.max(0, at - announcedWithin), at).map(({ text }) => ({ key: text }));
  return words.some((_, index) => announcement(words, index) !== undefined);
};

const isFiller = (part: Part | undefined): boolean =>
  part?.kind === 'word' && part.piece.kind === 'word' && part.piece.isFiller;

/** Index of the part before the sign: fillers count only where nothing else is before them. */
const skipHesitation = (parts: readonly AddressPart[], at: number): number => {
  let last = at - 1;
  while (isFiller(parts[last]) && parts[last]?.sign === undefined) last -= 1;
  const part = parts[last];
  const isNone =
    part === undefined ||
    (part.kind === 'mark' && part.sign === undefined) ||
    (part.kind === 'word' && before.has(part.text) && parts[last - 1]?.sign === undefined);
  return isNone ? at - 1 : last;
};

const isSpelled = ({ kind }: Part): boolean => kind === 'letters' || kind === 'number';
/** Whether two parts are written or spelled as one. */
const isOne = (part: Part, next: Part): boolean =>
  part.utterance === next.utterance
    ? part.end === next.start || (isSpelled(part) && isSpelled(next))
    : part.kind === 'letters' && next.kind === 'letters';

/** "agence 24", "24 heures": a number in a name. */
const isNumbered = (part: Part, next: Part): boolean => (part.kind === 'number') !== (next.kind === 'number');

/** "gmail point com", "yahoo dot co dot uk", "agence 24 point fr". */
const readDomain = (parts: readonly AddressPart[], from: number, needsEnding: boolean): Part[] | undefined => {
  const own: AddressPart[] = [];
  let [end, at] = [0, from];
  while (isFiller(parts[at]) && parts[at + 1]?.sign !== '.') at += 1;
  for (let sign: Sign | undefined; own.length < mostParts; own.push(parts[at] as AddressPart), at += 1) {
    let label = '';
    for (let part = parts[at]; part !== undefined && part.kind !== 'mark'; part = parts[at]) {
      const last = own.at(-1);
      const isFirst = label === '' || last === undefined;
      if (!isFirst && (endings.has(label) || !(isOne(last, part) || (end === 0 && isNumbered(last, part))))) break;
      label += part.text;
      own.push(part);
      at += 1;
    }
    if (sign === '.' && (endings.has(label) || (!needsEnding && /^[a-z]{2,6}$/.test(label)))) end = own.length;
    sign = parts[at]?.sign;
    if (label === '' || sign === undefined || !/[._-]/.test(sign)) break;
  }
  return end === 0 ? undefined : own.slice(0, end);
};
const mostParts = 40;

/** Reads backwards: a word, and the parts that signs or spelling join to it. */
const readLocal = (parts: readonly AddressPart[], from: number): AddressPart[] => {
  const own: AddressPart[] = [];
  for (let at = from; at >= 0 && own.length < mostParts; at -= 1) {
    const part = parts[at] as AddressPart;
    const [next] = own;
    const isSign = part.sign !== undefined && part.sign !== '@' && part.sign !== 'at';
    if (next === undefined ? isSign : !isSign && !joins(part, next)) break;
    if (part.kind === 'mark' && !isSign) break;
    own.unshift(part);
  }
  while (own[0]?.sign !== undefined) own.shift();
  return own;
};

const joins = (part: Part, next: AddressPart): boolean =>
  next.sign !== undefined ||
  isOne(part, next) ||
  (part.kind === 'word' && next.kind === 'number' && part.utterance === next.utterance && !before.has(part.text));
