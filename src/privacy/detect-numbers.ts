/** Values that are digits with a check of their own: IBAN, payment card, NIR, telephone number. */
import type { CountryCode } from 'libphonenumber-js/max';
import { ibanLength, isCard, isIban, isNir } from './check-digits.ts';
import type { DetectorName, Finding, Span } from './finding.ts';
import {
  type Atom,
  type Candidate,
  findRuns,
  interruptionWords,
  isFiller,
  leastDigits,
  listAmbiguous,
  listCandidates,
  mostCharacters,
  textOf,
} from './number-runs.ts';
import { readDialled } from './phone-number.ts';
import type { Piece } from './read-pieces.ts';

/** Characters that are already part of a value. */
export interface Claims {
  isFree(span: Span): boolean;
  add(finding: Finding): void;
  readonly findings: readonly Finding[];
}

export const createClaims = (): Claims => {
  const findings: Finding[] = [];
  const taken = new Map<number, Span[]>();
  return {
    findings,
    isFree: ({ utterance, start, end }) =>
      !(taken.get(utterance) ?? []).some((span) => start < span.end && span.start < end),
    add(finding) {
      findings.push(finding);
      for (const span of finding.spans) {
        const own = taken.get(span.utterance) ?? [];
        taken.set(span.utterance, own);
        own.push(span);
      }
    },
  };
};

/** Characters of a card or social security number, at least. */
const leastChecked = 13;

const nirContext = /secu|vitale|assure|matricule|immatricul|\bnir\b|ss\b/;

export const detectNumbers = (
  pieces: readonly Piece[],
  options: { readonly isOn: (name: DetectorName) => boolean; readonly countries: readonly CountryCode[] },
  claims: Claims,
): void => {
  const { isOn, countries } = options;
  // Most talk has no number at all.
  if (!pieces.some(({ kind }) => kind === 'number')) return;
  if (isOn('iban')) claimIbans(pieces, claims);
  const runs = findRuns(joinCorsica(pieces), interruptionWords);
  const longest = runs.reduce((most, run) => Math.max(most, mostCharacters(run)), 0);
  if (longest < leastDigits) return;
  const loose = longest < leastChecked ? [] : runs;
  const readCard = (text: string) => (isOn('card') && isCard(text) ? text : undefined);
  const readNir = (text: string) => (isOn('nir') && isNir(text, false) ? text.slice(0, 13) : undefined);
  // What is a value as a whole comes before what only a part of it would be.
  for (const list of [listCandidates, listAmbiguous]) {
    for (const run of loose) {
      const wholes = [...list(run, 13, 19)].filter(({ atoms }) => atoms.length === run.length);
      claimFirst(claims, wholes, 'card', readCard);
      claimFirst(claims, wholes, 'nir', readNir);
    }
  }
  for (const run of loose) {
    claimFirst(claims, listCandidates(run, 15, 15), 'nir', readNir);
    claimFirst(claims, listCandidates(run, 13, 19), 'card', readCard);
    claimFirst(claims, listAmbiguous(run, 15, 15), 'nir', readNir);
  }
  if (isOn('phone')) claimPhones(pieces, countries, claims);
  if (loose.length === 0) return;
  for (const run of loose) claimFirst(claims, listAmbiguous(run, 13, 19), 'card', readCard);
  const isNamed = pieces.some((piece) => piece.kind === 'word' && nirContext.test(piece.key));
  if (!isOn('nir') || !isNamed) return;
  for (const run of loose) {
    claimFirst(claims, listCandidates(run, 13, 13), 'nir', (text) => (isNir(text, true) ? text : undefined));
  }
};

/** Ambiguous words are taken otherwise only where nothing else is said in one go: a trunk prefix proves little. */
const claimPhones = (pieces: readonly Piece[], countries: readonly CountryCode[], claims: Claims): void => {
  const read = (text: string, [first]: readonly Atom[]) =>
    readDialled(text, first?.isInternational === true, countries);
  const runs = findRuns(pieces, 0);
  for (const run of runs) claimOverlapping(claims, listCandidates(run, leastDigits, 17), read);
  for (const run of runs) {
    const wholes = [...listAmbiguous(run, leastDigits, 17)].filter(({ atoms }) => atoms.length === run.length);
    claimFirst(claims, wholes, 'phone', read);
  }
};

/**
 * Digits that are said before a number ("my 06 is …") make a second number of it and of them: all are covered, and the last counts.
 */
const claimOverlapping = (
  claims: Claims,
  candidates: Iterable<Candidate>,
  read: (text: string, atoms: readonly Atom[]) => string | undefined,
): void => {
  let covered = new Set<Atom>();
  let value: string | undefined;
  const claim = (): void => {
    if (value !== undefined) claims.add({ detector: 'phone', value, spans: spansOf([...covered]) });
    covered = new Set();
  };
  for (const { atoms, text } of candidates) {
    const found = read(text, atoms);
    if (found === undefined || !atoms.every(claims.isFree)) continue;
    if (!atoms.some((atom) => covered.has(atom))) claim();
    else if (atoms.every((atom) => covered.has(atom))) continue;
    value = found;
    for (const atom of atoms) covered.add(atom);
  }
  claim();
};

/** Claims candidates that are values, in their order. */
const claimFirst = (
  claims: Claims,
  candidates: Iterable<Candidate>,
  detector: DetectorName,
  read: (text: string, atoms: readonly Atom[]) => string | undefined,
): void => {
  for (const { atoms, text } of candidates) {
    const value = read(text, atoms);
    if (value !== undefined && atoms.every(claims.isFree)) claims.add({ detector, value, spans: spansOf(atoms) });
  }
};

/** One span an utterance, with what stands between its parts. */
export const spansOf = (atoms: readonly Span[]): Span[] => {
  const spans: Span[] = [];
  for (const { utterance, start, end } of atoms) {
    const last = spans.at(-1);
    if (last?.utterance === utterance) spans[spans.length - 1] = { ...last, end };
    else spans.push({ utterance, start, end });
  }
  return spans;
};

/** "2 A" is a number of two characters: a department. */
const joinCorsica = (pieces: readonly Piece[]): readonly Piece[] => {
  const isLetter = (piece: Piece | undefined): boolean => piece?.kind === 'word' && /^[AB]$/i.test(piece.text);
  const isDepartment = (piece: Piece, at: number): boolean =>
    piece.kind === 'number' && piece.text === '2' && isLetter(pieces[at + 1]);
  if (!pieces.some(isDepartment)) return pieces;
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const before = joined.at(-1);
    if (piece.kind === 'word' && isLetter(piece) && before?.kind === 'number' && before.text === '2') {
      joined[joined.length - 1] = { ...before, text: `2${piece.text.toUpperCase()}`, end: piece.end };
    } else joined.push(piece);
  }
  return joined;
};

/** Letters of an account: one at a time, or a group of capitals. */
const lettersOf = (piece: Piece | undefined): string | undefined =>
  piece?.kind === 'word' && (piece.text.length === 1 || /^[A-Z]{1,4}$/.test(piece.text))
    ? piece.key.toUpperCase()
    : undefined;

const claimIbans = (pieces: readonly Piece[], claims: Claims): void => {
  for (let at = 0; at < pieces.length; at += 1) {
    const one = pieces[at];
    const first = one?.kind === 'word' && one.text.length <= 2 ? one.key.toUpperCase() : undefined;
    if (first === undefined) continue;
    const country = first.length === 2 ? first : `${first}${lettersOf(pieces[at + 1])?.slice(0, 1) ?? ''}`;
    const length = ibanLength(country);
    if (length === undefined) continue;
    const atoms = collectIban(pieces, at, length);
    const value = atoms === undefined ? undefined : textOf(atoms);
    if (atoms !== undefined && value !== undefined && isIban(value) && atoms.every(claims.isFree))
      claims.add({ detector: 'iban', value, spans: spansOf(atoms) });
  }
};

/** Parts from here on until they are as long as an IBAN of the country; words beyond fillers end it. */
const collectIban = (pieces: readonly Piece[], from: number, length: number): Atom[] | undefined => {
  const atoms: Atom[] = [];
  let count = 0;
  let words = interruptionWords;
  for (let at = from; at < pieces.length && count < length; at += 1) {
    const piece = pieces[at] as Piece;
    const text = piece.kind === 'number' ? piece.text : at === from ? wordOf(piece) : lettersOf(piece);
    if (text !== undefined && piece.kind !== 'turn') {
      const { utterance, start, end } = piece;
      atoms.push({ text, utterance, start, end, others: [], isInternational: false });
      count += text.length;
    } else if (piece.kind === 'turn') words = interruptionWords;
    else if (!isFiller(piece)) {
      words -= 1;
      if (words < 0) return undefined;
    }
  }
  return count === length ? atoms : undefined;
};

const wordOf = (piece: Piece): string | undefined => (piece.kind === 'word' ? piece.key.toUpperCase() : undefined);
