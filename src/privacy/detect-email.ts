/** E-mail addresses, written or spoken: "jean point dupont arobase gmail point com". */
import type { Finding } from './finding.ts';
import { compilePhrases, listPhrases, phrasesOf, wordsOf } from './languages.ts';
import type { Piece } from './read-pieces.ts';
import { setOf } from './read-text.ts';
import type { Claims } from './runs.ts';
import { listSaid, type Part, type ReadPhrase, spellOut } from './spelling.ts';

/** Of bounded length before the sign, which is looked for first: text without one costs nothing. */
const written = /(?<=([\p{L}\p{N}._%+'-]{1,64}))@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/gu;

/** Addresses in a text, in lower case. */
export const findWrittenEmails = (text: string, utterance: number): Finding[] =>
  Array.from(text.matchAll(written), ({ 0: host, 1: local = '', index }) => {
    const [start, end] = [index - local.length, index + host.length];
    return { detector: 'email', value: text.slice(start, end).toLowerCase(), spans: [{ utterance, start, end }] };
  });

/** `at` needs more: it is a usual word. */
const signPhrases = [...listPhrases('signs'), ...[...'@.-_+'].map((sign) => [[sign], sign] as const)];
const signs = compilePhrases(signPhrases);
const hostsSaid = phrasesOf('hosts');
/** First words of a sign. */
const firstWords = (pattern: RegExp) =>
  new Set(signPhrases.flatMap(([[word], sign]) => (pattern.test(sign) ? word : [])));
const [maySign, mayDot] = [firstWords(/@|at/), firstWords(/\./)];

/** Signs, and hosts behind them, are one part each. */
const readPhrase: ReadPhrase = (words, at) => {
  const sign = signs(words, at);
  if (sign !== undefined) return { kind: 'sign', text: sign.meaning, end: sign.end };
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
  const parts = spellOut(listSaid(pieces), false, readPhrase);
  for (const [at, part] of parts.entries()) {
    if (part.kind !== 'sign' || !/@|at/.test(part.text)) continue;
    const isWord = part.text === 'at';
    const host = readDomain(parts, at + 1, isWord ? ending : looseEnding);
    const local = host.length === 0 ? [] : readLocal(parts, skipHesitation(parts, at));
    if (local.length === 0 || (isWord && !isAddress(parts, at, local, host))) continue;
    const textOf = (own: readonly Part[]): string => own.map(({ text }) => text).join('');
    claims.add('email', `${textOf(local)}@${textOf(host)}`, [...local, part, ...host]);
  }
};

/** Words that stand before an address and are no part of it. */
const before = wordsOf('beforeAddress');
/** Hosts that people have addresses at. */
const hosts = setOf(
  'gmail googlemail outlook hotmail yahoo live msn icloud proton protonmail aol gmx orange free laposte wanadoo sfr btinternet sky',
);
const announcement = phrasesOf('announcesAddress');
/** Number of words before "at" that may announce an address. */
const announcedWithin = 40;

/** "I bought it at amazon dot com" is none: one word before "at" needs something that says so. */
const isAddress = (
  parts: readonly Part[],
  at: number,
  [word, ...more]: readonly Part[],
  host: readonly Part[],
): boolean => {
  if (more.length > 0) return true;
  if (word?.kind === 'word' && before.has(word.text)) return false;
  if (hosts.has(host[0]?.text ?? '')) return true;
  const words = parts.slice(Math.max(0, at - announcedWithin), at).map(({ text }) => ({ key: text }));
  return words.some((_, index) => announcement(words, index) !== undefined);
};

const isFiller = (part: Part | undefined): boolean => part?.kind === 'word' && part.piece.isFiller;

/** Index of the part before the sign: fillers count only where nothing else is before them. */
const skipHesitation = (parts: readonly Part[], at: number): number => {
  let last = at - 1;
  while (isFiller(parts[last])) last -= 1;
  const part = parts[last];
  const isBefore = part?.kind === 'word' && before.has(part.text) && parts[last - 1]?.kind !== 'sign';
  return part === undefined || part.kind === 'mark' || isBefore ? at - 1 : last;
};

const isSpelled = ({ kind }: Part): boolean => kind === 'letters' || kind === 'number';
/** Whether two parts are written or spelled as one, or a sign joins them. */
const isOne = (part: Part, next: Part): boolean => {
  if (part.kind === 'sign' || next.kind === 'sign') return true;
  if (part.utterance !== next.utterance) return part.kind === 'letters' && next.kind === 'letters';
  return part.end === next.start || (isSpelled(part) && isSpelled(next));
};
const mostParts = 40;

/** Ends of addresses; behind "arobase" any short word will do, behind "at" only these. */
const endings = 'com fr net org eu be ch de es it uk ca us io co info biz pro lu pt nl ie me gouv edu dev app re au nz';
const [ending, looseEnding] = ['', '|[a-z]{2,6}'].map(
  (more) =>
    new RegExp(
      `^(?:[\\p{L}\\p{N}]+[._-])*[\\p{L}\\p{N}]+\\.(?:${endings.replaceAll(' ', '|')}${more})(?![\\p{L}\\p{N}])`,
      'u',
    ),
) as [RegExp, RegExp];
const hasEnded = new RegExp(`(?<![\\p{L}\\p{N}])(?:${endings.replaceAll(' ', '|')})$`, 'u');

/** "gmail point com", "yahoo dot co dot uk", "agence 24 point fr": no parts where they do not end as a host does. */
const readDomain = (parts: readonly Part[], sign: number, host: RegExp): readonly Part[] => {
  let from = sign;
  while (isFiller(parts[from]) && parts[from + 1]?.text !== '.') from += 1;
  let text = '';
  const ends: number[] = [];
  for (const part of parts.slice(from, from + mostParts)) {
    const last = parts[from + ends.length - 1];
    // "agence 24", "24 heures": a number in a name.
    const isNumbered = (part.kind === 'number') !== (last?.kind === 'number');
    const isOwn = part.kind === 'sign' ? /^[._-]$/.test(part.text) : part.kind !== 'mark';
    if (
      !isOwn ||
      (last &&
        text !== '' &&
        last.kind !== 'sign' &&
        part.kind !== 'sign' &&
        (hasEnded.test(text) || !(isOne(last, part) || isNumbered)))
    )
      break;
    text += part.text;
    ends.push(text.length);
  }
  return parts.slice(from, from + 1 + ends.indexOf(host.exec(text)?.[0].length ?? -1));
};

/** Reads backwards: a word, and the parts that signs or spelling join to it. */
const readLocal = (parts: readonly Part[], last: number): readonly Part[] => {
  const joins = (part: Part, next: Part | undefined): boolean => {
    if (part.kind === 'mark' || (part.kind === 'sign' && (next === undefined || /@|at/.test(part.text)))) return false;
    const isNumbered = part.kind === 'word' && next?.kind === 'number' && !before.has(part.text);
    return next === undefined || isOne(part, next) || (isNumbered && part.utterance === next.utterance);
  };
  let from = last + 1;
  while (from > 0 && last - from < mostParts && joins(parts[from - 1] as Part, from > last ? undefined : parts[from]))
    from -= 1;
  while (parts[from]?.kind === 'sign' && from <= last) from += 1;
  return parts.slice(from, last + 1);
};
