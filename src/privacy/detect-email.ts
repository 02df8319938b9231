/** E-mail addresses, written or spoken: "jean point dupont arobase gmail point com". */
import { type Claims, spansOf } from './detect-numbers.ts';
import type { Finding } from './finding.ts';
import { addressDots, addressSigns, type Piece } from './read-pieces.ts';
import { setOf } from './read-text.ts';

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

const signs = new Set([...addressSigns, '@']);
const connectors = new Map([
  ...[...addressDots, '.'].map((word) => [word, '.'] as const),
  ...['tiret', 'dash', 'hyphen', '-'].map((word) => [word, '-'] as const),
  ...['underscore', '_', 'souligne'].map((word) => [word, '_'] as const),
]);
/** Ends of addresses; behind "arobase" any short word will do, behind "at" only these. */
const endings = setOf('com fr net org eu be ch de es it uk ca us io co info biz pro lu pt nl ie me gouv edu dev app');
/** Words that stand before an address and are no part of it. */
const before = setOf(
  `est c a mail email e adresse sur vers avec par the is to be me my it s at sure would login write line je vous mon ma voila alors
   oui donc for l de que pour and et or ou`,
);

type Said = Exclude<Piece, { kind: 'turn' }>;

const keyOf = (piece: Said): string => (piece.kind === 'number' ? piece.text : piece.key);
const isPart = (piece: Said | undefined): piece is Said => piece !== undefined && piece.kind !== 'mark';
const connectorOf = (piece: Said | undefined): string | undefined =>
  piece === undefined || piece.kind === 'number' ? undefined : connectors.get(piece.key);
const isLetter = (piece: Said | undefined): boolean =>
  piece !== undefined && (piece.kind === 'number' || (piece.kind === 'word' && piece.key.length === 1));

/** @param pieces of one utterance, or of several that follow each other. */
export const claimSpokenEmails = (pieces: readonly Piece[], claims: Claims): void => {
  const said = pieces.filter((piece): piece is Said => piece.kind !== 'turn');
  for (const [at, piece] of said.entries()) {
    if (piece.kind === 'number' || !signs.has(piece.key)) continue;
    const domain = readDomain(said, at + 1, piece.key === 'at');
    const local = domain === undefined ? [] : readLocal(said, skipHesitation(said, at));
    if (domain === undefined || local.length === 0) continue;
    if (piece.key === 'at' && !isAddress(said, at, local, domain)) continue;
    const parts = [...local, piece, ...domain];
    if (!claims.isFree(parts)) continue;
    const value = `${local.map(toText).join('')}@${domain.map(toText).join('')}`;
    claims.add({ detector: 'email', value, spans: spansOf(parts) });
  }
};

/** Hosts that people have addresses at. */
const hosts = setOf(
  'gmail googlemail outlook hotmail yahoo live msn icloud proton protonmail aol gmx orange free laposte wanadoo sfr',
);
const announcement = /^(?:e?mails?|mailto|courriel|address|contact|write|send|reach|inbox|login|username)$/;
/** Number of words before "at" that may announce an address. */
const announcedWithin = 40;

/** "I bought it at amazon dot com" is none: one word before "at" needs something that says so. */
const isAddress = (said: readonly Said[], at: number, local: readonly Said[], host: readonly Said[]): boolean => {
  if (local.length > 1) return true;
  const [word] = local;
  if (word === undefined || (word.kind === 'word' && before.has(word.key))) return false;
  if (hosts.has(keyOf(host[0] as Said))) return true;
  return said.slice(Math.max(0, at - announcedWithin), at).some((piece) => announcement.test(keyOf(piece)));
};

/** End of the part before the sign. After an interruption, a filler word does not count. */
const skipHesitation = (said: readonly Said[], at: number): number => {
  let last = at - 1;
  for (let piece = said[last]; piece?.kind === 'word' && piece.isFiller; piece = said[last]) {
    if (piece.utterance === said[at]?.utterance || connectors.has(piece.key)) break;
    last -= 1;
  }
  return last;
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

/** Reads backwards: a word, and the parts that connectors or spelling join to it. */
const readLocal = (said: readonly Said[], from: number): Said[] => {
  const parts: Said[] = [];
  for (let at = from; at >= 0 && parts.length < 40; at -= 1) {
    const piece = said[at] as Said;
    const last = parts[0];
    const isConnector = connectorOf(piece) !== undefined;
    if (last === undefined ? isConnector : !isConnector && !joins(piece, last)) break;
    if (piece.kind === 'mark' && !isConnector) break;
    parts.unshift(piece);
  }
  while (parts.length > 0 && connectorOf(parts[0]) !== undefined) parts.shift();
  return parts;
};

const joins = (piece: Said, next: Said): boolean =>
  connectorOf(next) !== undefined ||
  (isLetter(piece) && isLetter(next)) ||
  (piece.kind === 'word' && next.kind === 'number');
