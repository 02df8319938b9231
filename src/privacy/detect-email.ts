/** E-mail addresses, written or spoken: "jean point dupont arobase gmail point com". */

import type { Claims } from './detect-numbers.ts';
import { spansOf } from './detect-numbers.ts';
import type { Finding } from './finding.ts';
import type { Piece } from './read-pieces.ts';

const written = /[\p{L}\p{N}._%+'-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*\.\p{L}{2,24}/gu;

export const findWrittenEmails = (text: string, utterance: number): Finding[] =>
  text.includes('@')
    ? [...text.matchAll(written)].map((match) => ({
        detector: 'email',
        value: match[0].toLowerCase(),
        spans: [{ utterance, start: match.index, end: match.index + match[0].length }],
      }))
    : [];

const signs = new Set(['arobase', 'arrobase', 'arobas', 'arobaz', 'at', '@']);
const connectors = new Map([
  ...['point', 'dot', '.'].map((word) => [word, '.'] as const),
  ...['tiret', 'dash', 'hyphen', '-'].map((word) => [word, '-'] as const),
  ...['underscore', '_', 'souligne'].map((word) => [word, '_'] as const),
]);
/** Ends of addresses; behind "arobase" any short word will do, behind "at" only these. */
const endings = new Set(
  'com fr net org eu be ch de es it uk ca us io co info biz pro lu pt nl ie me gouv edu dev app'.split(' '),
);
/** Words that stand before an address and are no part of it. */
const before = new Set(
  `est c a mail email e adresse sur vers avec par the is to be me my it s at sure would login write line je vous mon ma voila alors
   oui donc for l de que pour and et or ou`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

type Said = Exclude<Piece, { kind: 'turn' }>;

const keyOf = (piece: Said): string => (piece.kind === 'number' ? piece.text : piece.key);
const isPart = (piece: Said | undefined): piece is Said => piece !== undefined && piece.kind !== 'mark';
const connectorOf = (piece: Said | undefined): string | undefined =>
  piece === undefined || piece.kind === 'number' ? undefined : connectors.get(piece.key);
const isLetter = (piece: Said | undefined): boolean =>
  piece !== undefined && (piece.kind === 'number' || (piece.kind === 'word' && piece.key.length === 1));

/** @param pieces of one utterance. */
export const claimSpokenEmails = (pieces: readonly Piece[], claims: Claims): void => {
  const said = pieces.filter((piece): piece is Said => piece.kind !== 'turn');
  for (const [at, piece] of said.entries()) {
    if (piece.kind === 'number' || !signs.has(piece.key)) continue;
    const domain = readDomain(said, at + 1, piece.key === 'at');
    const local = domain === undefined ? [] : readLocal(said, at - 1);
    if (domain === undefined || local.length === 0) continue;
    const parts = [...local, piece, ...domain];
    if (!parts.every(claims.isFree)) continue;
    const value = `${local.map(toText).join('')}@${domain.map(toText).join('')}`;
    claims.add({ detector: 'email', value, spans: spansOf(parts) });
  }
};

const toText = (piece: Said): string => connectorOf(piece) ?? keyOf(piece);

/** "gmail point com", "yahoo dot co dot uk", letters by themselves. */
const readDomain = (said: readonly Said[], from: number, needsEnding: boolean): Said[] | undefined => {
  const parts: Said[] = [];
  let end = 0;
  for (let at = from; at < said.length && parts.length < 24; at += 1) {
    const piece = said[at];
    const connector = connectorOf(piece);
    if (connector !== undefined && isPart(said[at + 1])) {
      parts.push(piece as Said, said[at + 1] as Said);
      const key = keyOf(said[at + 1] as Said);
      if (connector === '.' && (endings.has(key) || (!needsEnding && /^[a-z]{2,6}$/.test(key)))) end = parts.length;
      at += 1;
      continue;
    }
    const isFirst = parts.length === 0;
    if (!isPart(piece) || !(isFirst || (isLetter(piece) && isLetter(parts.at(-1))))) break;
    parts.push(piece);
  }
  return end === 0 ? undefined : parts.slice(0, end);
};

/** Backwards: a word, and what connectors or spelling join to it. */
const readLocal = (said: readonly Said[], from: number): Said[] => {
  const parts: Said[] = [];
  for (let at = from; at >= 0 && parts.length < 40; at -= 1) {
    const piece = said[at] as Said;
    const last = parts[0];
    const isJoined = last === undefined || connectorOf(last) !== undefined || connectorOf(piece) !== undefined;
    if (piece.kind === 'mark' && connectorOf(piece) === undefined) break;
    if (!isJoined && !(isLetter(piece) && isLetter(last)) && !(piece.kind === 'word' && last?.kind === 'number')) break;
    if (last === undefined && connectorOf(piece) !== undefined) break;
    if (
      piece.kind === 'word' &&
      connectorOf(last as Said) === undefined &&
      last !== undefined &&
      before.has(piece.key) &&
      !isLetter(last)
    )
      break;
    parts.unshift(piece);
  }
  while (parts.length > 0 && connectorOf(parts[0]) !== undefined) parts.shift();
  return parts;
};
