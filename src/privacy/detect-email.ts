/** E-mail addresses, written or spoken: "jean point dupont arobase gmail point com". */
import type { Finding } from './finding.ts';
import { listPhrases, phrasesOf, wordsOf } from './languages.ts';
import type { Piece } from './read-pieces.ts';
import type { Claims } from './runs.ts';
import { listSaid, type Part, type ReadPhrase, spellOut } from './spelling.ts';

/** Of bounded length before and behind the sign. */
const written = /@(?<=([\p{L}\p{N}._%+'-]{1,64})@)(?:[\p{L}\p{N}-]{1,63}\.){1,20}\p{L}{2,24}/gu;

/** Addresses in a text, in lower case. */
export const findWrittenEmails = (text: string, utterance: number): Finding[] =>
  Array.from(text.includes('@') ? text.matchAll(written) : [], ({ 0: host, 1: local = '', index }) => {
    const [start, end] = [index - local.length, index + host.length];
    return { detector: 'email', value: text.slice(start, end).toLowerCase(), spans: [{ utterance, start, end }] };
  });

/** "at" needs more than other signs: it is a usual word. */
const weakSign = '\uff20';
const signs = phrasesOf('signs');
const hostsSaid = phrasesOf('hosts');
/** First words of a sign. */
const firstWords = (pattern: RegExp) =>
  new Set(listPhrases('signs').flatMap(([[word], sign]) => (pattern.test(sign) ? word : [])));
const [maySign, mayDot] = [firstWords(/@|at/), firstWords(/\./)];

/** Signs, and hosts behind them, are one part each. */
const readPhrase: ReadPhrase = (words, at) => {
  const sign = signs(words, at);
  if (sign !== undefined) return { kind: 'sign', text: sign.meaning.replace('at', weakSign), end: sign.end };
  const host = hostsSaid(words, at);
  const isBehind = host && words.slice(Math.max(0, at - 2), at).some(({ key }) => maySign.has(key));
  return isBehind ? { kind: 'word', text: host.meaning, end: host.end } : undefined;
};

/** Pieces from the sign to the first dot, at most. */
const dotWithin = 30;

/** @param pieces of one utterance, or of several that follow each other. */
export const claimSpokenEmails = (pieces: readonly Piece[], claims: Claims): void => {
  const hasDot = (at: number): boolean =>
    pieces.slice(at, at + dotWithin).some((piece) => piece.kind !== 'turn' && mayDot.has(piece.key));
  const isSign = (piece: Piece, at: number): boolean =>
    piece.kind !== 'turn' && maySign.has(piece.key) && claims.isFree([piece]) && hasDot(at);
  if (!pieces.some(isSign)) return;
  const all = spellOut(listSaid(pieces), false, readPhrase);
  const parts = all.filter((_, at) => !isHesitation(all, at));
  const starts: number[] = [];
  let text = '';
  for (const [at, part] of parts.entries()) {
    starts.push(text.length);
    text += part.text + betweenParts(part, parts[at + 1]);
  }
  for (const { 0: whole, 1: sign = '', 2: sent = '', 3: host = '', index } of text.matchAll(address)) {
    const local = sent.replace(/^[^\p{L}\p{N}]+/u, '');
    const name = local.replace(/[^\p{L}\p{N}]+$/u, '');
    const own = parts.filter((_, at) => isWithin(starts[at], index - local.length, index + whole.length));
    const isSpelt = starts[starts.indexOf(index) - 1] !== index - local.length;
    const isSure = sign !== weakSign || isSpelt || isAddress(local, host, text.slice(0, index));
    if (local !== '' && isSure) claims.add('email', `${name}@${host}`.replaceAll(/[~≈]/g, ''), own);
  }
};

const isWithin = (place = 0, from: number, to: number): boolean => place >= from && place < to;

/** Words that stand before an address and are no part of it. */
const before = wordsOf('beforeAddress');
/** Ends of addresses; behind "arobase" any short word will do, behind "at" only these. */
const endings = 'com|fr|net|org|eu|be|ch|de|es|it|uk|ca|us|io|co|info|biz|pro|lu|pt|nl|ie|me|gouv|edu|dev|app|re|au|nz';
const label = '[\\p{L}\\p{N}]+(?:[_~≈-][\\p{L}\\p{N}]+){0,9}';
const address = new RegExp(
  `([@${weakSign}])(?<=([\\p{L}\\p{N}._+~-]{1,99}).)((?:${label}\\.){1,9}(?:${endings}|(?<=@[^${weakSign}]*)[a-z]{2,6}))(?![\\p{L}\\p{N}])`,
  'gu',
);
/** Hosts that people have addresses at. */
const usualHost =
  /^(?:gmail|googlemail|outlook|hotmail|yahoo|live|msn|icloud|proton|protonmail|aol|gmx|orange|free|laposte|wanadoo|sfr|btinternet|sky)\./;
const announcement = phrasesOf('announcesAddress');
/** Number of characters before "at" that may announce an address. */
const announcedWithin = 100;

/** "I bought it at amazon dot com" is none: one word before "at" needs something that says so. */
const isAddress = (word: string, host: string, said: string): boolean => {
  if (before.has(word)) return false;
  const words = said
    .slice(-announcedWithin)
    .split(/[^\p{L}]+/u)
    .map((key) => ({ key }));
  return usualHost.test(host) || words.some((_, index) => announcement(words, index) !== undefined);
};

const isFiller = (part: Part | undefined): boolean => part?.kind === 'word' && part.piece.isFiller;
const isAt = (part: Part | undefined): boolean => part?.kind === 'sign' && /[@\uff20]/.test(part.text);
const mostFillers = 4;

/** Fillers beside the sign are no part of an address, if something else can be. */
const isHesitation = (parts: readonly Part[], at: number): boolean => {
  if (!isFiller(parts[at])) return false;
  const last = parts.slice(Math.max(0, at - mostFillers), at).findLast((part) => !isFiller(part));
  const next = parts.slice(at, at + mostFillers).find((part) => !isFiller(part));
  return isAt(last) ? parts[at + 1]?.text !== '.' : isAt(next) && last !== undefined && last.kind !== 'mark';
};

const isSpelled = ({ kind }: Part): boolean => kind === 'letters' || kind === 'number';

/**
 * Nothing stands between parts that are written or spelled as one, or that a sign joins. A word and a number have a sign
 * of their own between them. In names, a number stands behind its word only.
 */
const betweenParts = (part: Part, next: Part | undefined): string => {
  if (next === undefined || part.kind === 'sign' || next.kind === 'sign') return '';
  const isCut = part.utterance !== next.utterance;
  if (isCut && part.kind === 'letters' && next.kind === 'letters') return '';
  if (!isCut && (part.end === next.start || (isSpelled(part) && isSpelled(next)))) return '';
  if ((part.kind === 'number') === (next.kind === 'number')) return ' ';
  return part.kind === 'word' && !isCut && !before.has(part.text) ? '~' : '≈';
};
