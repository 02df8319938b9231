/** Values made of digits, each with its check: payment card, NIR, telephone number. */
import isLuhn from 'fast-luhn';
import type { CountryCode } from 'libphonenumber-js/max';
import type { DetectorName } from './finding.ts';
import type { Announced } from './languages/language.ts';
import { phrasesOf } from './languages.ts';
import { mayBeDialled, readDialled } from './phone-number.ts';
import type { Budget, Piece } from './read-pieces.ts';
import * as runs from './runs.ts';
import {
  type Atom,
  type Claims,
  isFiller,
  leastDigits,
  type Manner,
  mostCharacters,
  type Shape,
  spansOf,
  textOf,
} from './runs.ts';

type Read = (...candidate: Parameters<runs.Visit>) => string | undefined;
type Search = (visit: runs.Visit) => void;

const cardBegins = /^(?:[456]|3[04-8]|2[2-7]|[23]$)/;
const card: Shape = { least: 14, most: 19, begunBy: 2, mayBegin: (text) => cardBegins.test(text) };
const nir: Shape = { least: 15, most: 15, begunBy: 2, mayBegin: (text) => /^[1-478](?:\d|$)/.test(text) };
const unkeyedNir: Shape = { ...nir, least: 13 };

export interface NumberOptions {
  /** Detectors that look; the others find nothing. */
  readonly isOn: (name: DetectorName) => boolean;
  /** ISO codes of the countries whose national numbers are telephone numbers; the first is the default. */
  readonly countries: readonly CountryCode[];
  readonly budget: Budget;
  /** Whether words near an utterance say that digits are a social security number. */
  readonly namesNir: (utterance: number) => boolean;
  /** Kind of value that the words nearest to a place announce. */
  readonly nameAt: (utterance: number, start: number) => Announced | undefined;
  /** Whether the speaker has taken parts back: only whole values count then. */
  readonly isCorrected?: boolean;
  /** Runs that were read already: by one speaker and by all, or in another reading of words that have only one. */
  readonly read: Set<string>;
}

/** Order: digits in one breath, then whole values, then parts. */
export const detectNumbers = (pieces: readonly Piece[], options: NumberOptions, claims: Claims): void => {
  const { isOn, budget, namesNir, nameAt } = options;
  // Most talk has no number at all.
  if (!pieces.some(({ kind }) => kind === 'number')) return;
  for (const length of options.isCorrected || !mayCorrect(pieces) ? [] : takenBack) {
    const corrected = dropCorrected(pieces, length);
    if (corrected.length < pieces.length) detectNumbers(corrected, { ...options, isCorrected: true }, claims);
  }
  const joined = joinCorsica(pieces);
  const found = runs.findRuns(joined, runs.interruptionWords);
  const longest = found.reduce((most, run) => Math.max(most, mostCharacters(run)), 0);
  if (longest < leastDigits) return;
  const isNew = (kind: string) => (run: readonly Atom[]) => noteRun(options.read, kind, run);
  const isLong = longest >= fewestNamed;
  const loose = isLong ? found.filter(isNew('loose')) : [];
  const breaths = runs.findRuns(joined, 'one breath');
  const mayRead = readWholeBreaths(breaths);
  /** Other words may say that the digits are something else. */
  const isOtherwise = (run: readonly Atom[], from: number, other: Announced): boolean =>
    nameAt(run[from]?.utterance ?? 0, run[from]?.start ?? 0) === other;
  const readCard: Read = (text, run, from, to) =>
    isCard(text) && mayRead(run, from, to) && !isOtherwise(run, from, 'nir') ? text : undefined;
  const readNir: Read = (text, run, from, to) =>
    isNir(text, false) && mayRead(run, from, to) && !isOtherwise(run, from, 'card') ? text.slice(0, 13) : undefined;
  const readUnkeyed: Read = (text, run, from, to) =>
    isNir(text, true) && mayRead(run, from, to) && namesNir(run[from]?.utterance ?? 0) ? text.slice(0, 13) : undefined;
  const claimEach = (among: readonly Atom[][], [detector, shape, read]: Wanted, manner: Manner): void => {
    if (!isOn(detector)) return;
    for (const run of among)
      claimFirst(claims, (visit) => runs.findCandidates(run, shape, manner, budget, visit), detector, read);
  };
  const cards: Wanted = ['card', card, readCard];
  const keyed: Wanted = ['nir', nir, readNir];
  const unkeyed: Wanted = ['nir', unkeyedNir, readUnkeyed];
  const newBreaths = breaths.filter(isNew('breath'));
  const long = isLong ? newBreaths : [];
  const seekPhones = (among: readonly Atom[][], manner: Manner): void => {
    if (isOn('phone')) claimPhones(among, mayRead, manner, options, claims);
  };
  // A plus makes digits a telephone number, even if they pass the check of a card.
  seekPhones(
    breaths.flatMap((run) => run.flatMap((atom, at) => (atom.isInternational ? [run.slice(at)] : []))),
    { isWhole: true },
  );
  const ways = [{ isWhole: true }, { isWhole: true, isAmbiguous: true }];
  for (const among of [long, loose]) {
    for (const way of ways) {
      if (among === long) claimEach(among, cards, way);
      claimEach(among, keyed, way);
    }
  }
  // Without its key it reads as a telephone number with something before it.
  for (const way of ways) claimEach(long, unkeyed, way);
  if (!options.isCorrected) for (const among of [long, loose]) claimNamed(among, true, options, claims);
  seekPhones(newBreaths, { isWhole: true });
  for (const way of ways) claimEach(loose, cards, way);
  for (const way of ways) claimEach(loose, unkeyed, way);
  claimEach(loose, keyed, {});
  claimEach(loose, unkeyed, {});
  claimEach(loose, cards, {});
  claimEach(loose, keyed, { isAmbiguous: true });
  if (!options.isCorrected) claimNamed(loose, false, options, claims);
  if (isOn('phone') && !options.isCorrected) {
    const phones = runs.findRuns(joined, 0).filter(isNew('phone'));
    seekPhones(phones, {});
    // Ambiguous words are taken otherwise only where nothing else is said in one go: a trunk prefix proves little.
    seekPhones(phones, { isWhole: true, isAmbiguous: true });
    for (const run of phones) claimSaid(run, options, claims);
  }
  claimEach(loose, cards, { isAmbiguous: true });
};

/** Whether a run may hold a value and is new. Repeated readings of the same places are claimed already. */
const noteRun = (read: Set<string>, kind: string, run: readonly Atom[]): boolean => {
  if (mostCharacters(run) < leastDigits) return false;
  let [plain, whole] = [kind, kind];
  for (const { utterance, start, end, text, others } of run) {
    const own = ` ${utterance}:${start}-${end}=${text}`;
    plain += own;
    whole += others.length === 0 ? own : `${own}|${others.join('|')}`;
  }
  if (read.has(whole)) return false;
  read.add(plain).add(whole);
  return true;
};

/** Digits that a correction takes back: as many as follow it, or others. */
const takenBack = [undefined, 2, 4, 3, 1];
const isCorrection = phrasesOf(({ corrections }) => corrections);
/** Between two numbers there is a word of a correction. */
const mayCorrect = (pieces: readonly Piece[]): boolean => {
  const words = pieces.filter((piece) => piece.kind === 'word');
  return words.some((_, at) => isCorrection(words, at) !== undefined);
};
/** Words in which a speaker takes a part back. */
const mostCorrecting = 5;

/** Without numbers that the speaker takes back: "12 euh non 13" says 13, and so does "zero one sorry 13". */
const dropCorrected = (pieces: readonly Piece[], length?: number): readonly Piece[] => {
  const dropped = new Set<Piece>();
  let before: Extract<Piece, { kind: 'number' }>[] = [];
  let between: Extract<Piece, { kind: 'word' | 'mark' }>[] = [];
  for (const [index, piece] of pieces.entries()) {
    if (piece.kind === 'turn') continue;
    if (piece.kind !== 'number') {
      between.push(piece);
      continue;
    }
    const isTaken =
      before.length > 0 && between.length > 0 && between.some((_, at) => isCorrection(between, at) !== undefined);
    const last = isTaken ? lastDigits(before, length ?? lengthBehind(pieces, index)) : [];
    if (between.filter((own) => !isFiller(own)).length > (isTaken ? mostCorrecting : 0)) before = [];
    else if (last.length > 0) for (const own of [...last, ...between]) dropped.add(own);
    before.push(piece);
    between = [];
  }
  return dropped.size === 0 ? pieces : pieces.filter((piece) => !dropped.has(piece));
};

/** Digits of a number, or of two that are said one by one. */
const lengthBehind = (pieces: readonly Piece[], index: number): number => {
  const [own, next] = [pieces[index], pieces[index + 1]].map((piece) =>
    piece?.kind === 'number' ? piece.text.length : 0,
  );
  return own === 1 && next === 1 ? 2 : (own ?? 0);
};

/** The last numbers that have so many digits together; none where they do not end there. */
const lastDigits = <T extends { readonly text: string }>(numbers: readonly T[], length: number): readonly T[] => {
  let digits = 0;
  let from = numbers.length;
  while (from > 0 && digits < length) {
    from -= 1;
    digits += (numbers[from] as T).text.length;
  }
  return digits === length ? numbers.slice(from) : [];
};

/** Lengths of announced values whose check fails; a longer run is cut at a usual length. */
const namedLengths = { card: { most: 19, usual: [16, 15] }, nir: { most: 16, usual: [15, 13] } };
const fewestNamed = 11;

/** Announced values, even with a wrong check digit, because one digit may be misheard. */
const claimNamed = (
  among: readonly Atom[][],
  isWhole: boolean,
  { isOn, nameAt }: NumberOptions,
  claims: Claims,
): void => {
  for (const run of among) {
    const free = run.filter((atom) => claims.isFree([atom]));
    const digits = textOf(free).length;
    const name = digits < fewestNamed || !free[0] ? undefined : nameAt(free[0].utterance, free[0].start);
    if ((name !== 'card' && name !== 'nir') || !isOn(name) || (isWhole && free.length < run.length)) continue;
    const { most, usual } = namedLengths[name];
    const lengths = isWhole || digits > most ? usual : [digits];
    const cut = lengths.flatMap((length) => cutAt(free, length) ?? [])[0];
    if (cut !== undefined && (!isWhole || cut.length === free.length))
      claims.add({ detector: name, value: textOf(cut).slice(0, name === 'nir' ? 13 : most), spans: spansOf(cut) });
  }
};

/** The first atoms that have so many digits together. */
const cutAt = (run: readonly Atom[], length: number): [readonly Atom[]] | undefined => {
  let left = length;
  let end = 0;
  for (; left > 0 && end < run.length; end += 1) left -= run[end]?.text.length ?? 0;
  return left === 0 ? [run.slice(0, end)] : undefined;
};

type Wanted = readonly ['card' | 'nir', Shape, Read];

/** Whether a value that is said over several breaths takes each of them whole: else numbers that are near each other make one. */
const readWholeBreaths = (breaths: readonly Atom[][]) => {
  const breathOf = new Map<Atom, number>();
  for (const [index, breath] of breaths.entries()) for (const atom of breath) breathOf.set(atom, index);
  return (run: readonly Atom[], start: number, end: number): boolean => {
    const [first, last] = [run[start] as Atom, run[end - 1] as Atom];
    const [from, to] = [breathOf.get(first) ?? -1, breathOf.get(last) ?? -1];
    if (from === to) return true;
    for (let at = start + 1; at < end; at += 1) {
      const [before, atom] = [run[at - 1] as Atom, run[at] as Atom];
      if (before.utterance === atom.utterance && breathOf.get(before) !== breathOf.get(atom)) return false;
    }
    return breaths[from]?.[0] === first && breaths[to]?.at(-1) === last;
  };
};

const claimPhones = (
  among: readonly Atom[][],
  mayRead: (run: readonly Atom[], from: number, to: number) => boolean,
  manner: Manner,
  { countries, budget, nameAt }: NumberOptions,
  claims: Claims,
): void => {
  const shape: Shape = {
    least: leastDigits,
    most: 17,
    begunBy: 17,
    mayBegin: (text, { isInternational }) => isInternational || mayBeDialled(text, countries),
  };
  const read: Read = (text, run, from, to) => {
    const first = run[from] as Atom;
    const isSure = first.isInternational || /^0[1-9]/.test(text);
    const name = isSure ? 'phone' : nameAt(first.utterance, first.start);
    // Digits without plus or trunk prefix are a number if words announce them or if they stand alone.
    if (name === 'other' || (name !== 'phone' && to - from < run.length)) return undefined;
    if (!mayRead(run, from, to) || !budget.spend(first.utterance, stepsOfParsing)) return undefined;
    // Most digits of a value are those of several readings: the library is asked for the first one only.
    const number = claims.isFree(run.slice(from, to)) ? readDialled(text, first.isInternational, countries) : undefined;
    return name === 'phone' || number === undefined || isGrouped(number, run) ? number : undefined;
  };
  for (const run of among) {
    const search: Search = (visit) => runs.findCandidates(run, shape, manner, budget, visit);
    if (manner.isWhole === true) claimFirst(claims, search, 'phone', read);
    else claimOverlapping(claims, search, run, read);
  }
};

/** "212 555 0187", not "34 36 38 40 42": North American numbers have no sign of their own but their groups. */
const isGrouped = (number: string, run: readonly Atom[]): boolean => {
  if (!number.startsWith('+1')) return true;
  const ends = new Set<number>();
  let left = textOf(run).length;
  for (const { text } of run) {
    ends.add(left);
    left -= text.length;
  }
  return run.length === 1 || (ends.has(7) && ends.has(4));
};

/** Numbers with a slip, or of a range that its country has given up, if a plus or a word announces them. */
const claimSaid = (run: readonly Atom[], { nameAt }: NumberOptions, claims: Claims): void => {
  const [first] = run;
  const text = textOf(run);
  if (first === undefined || text.length < 8 || text.length > 15 || !claims.isFree(run)) return;
  const isSaid = first.isInternational || (text.startsWith('0') && nameAt(first.utterance, first.start) === 'phone');
  if (isSaid) claims.add({ detector: 'phone', value: first.isInternational ? `+${text}` : text, spans: spansOf(run) });
};

/** Numbers of most countries are read by a library, which takes so many times as long as a step. */
const stepsOfParsing = 15;

/** Digits before a number ("my 06 is …") form a second number with it. All are covered, and the last counts. */
const claimOverlapping = (claims: Claims, search: Search, run: readonly Atom[], read: Read): void => {
  let [start, end] = [0, 0];
  let value: string | undefined;
  const claim = (next: number): void => {
    if (value !== undefined) claims.add({ detector: 'phone', value, spans: spansOf(run.slice(start, end)) });
    start = next;
  };
  search((text, _, from, to) => {
    const found = read(text, run, from, to);
    if (found === undefined || to <= end) return;
    if (from >= end) claim(from);
    value = found;
    end = to;
  });
  claim(end);
};

/** Claims candidates that are values, in their order. */
const claimFirst = (claims: Claims, search: Search, detector: DetectorName, read: Read): void =>
  search((text, run, from, to) => {
    const value = read(text, run, from, to);
    const atoms = value === undefined ? [] : run.slice(from, to);
    if (value !== undefined && claims.isFree(atoms)) claims.add({ detector, value, spans: spansOf(atoms) });
  });

/** "2 A" is a number of two characters: a department, also at the end of digits that are written together. */
const joinCorsica = (pieces: readonly Piece[]): readonly Piece[] => {
  const isDepartment = (before: Piece | undefined, piece: Piece | undefined): boolean =>
    before?.kind === 'number' &&
    piece?.kind === 'word' &&
    /^[AB]$/i.test(piece.text) &&
    (before.text === '2' || (before.text.endsWith('2') && !piece.isSpaced));
  if (!pieces.some((piece, at) => isDepartment(piece, pieces[at + 1]))) return pieces;
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const before = joined.at(-1);
    if (piece.kind === 'word' && before?.kind === 'number' && isDepartment(before, piece)) {
      joined[joined.length - 1] = { ...before, text: `${before.text}${piece.text.toUpperCase()}`, end: piece.end };
    } else joined.push(piece);
  }
  return joined;
};

/** Beginnings and lengths that networks give out; one in ten of other digits has a right check digit too. */
const networks: readonly (readonly [pattern: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [16, 19]],
  [/^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^3(0[0-5]|[68])/, [14]],
  [/^(6011|64[4-9]|65|35(2[89]|[3-8])|62)/, [16, 19]],
  [/^(5[06-8]|6[37])/, [16, 18, 19]],
];

const isCard = (digits: string): boolean =>
  isLuhn(digits) && networks.some(([pattern, lengths]) => lengths.includes(digits.length) && pattern.test(digits));

const nirPattern = /^([1-478])(\d\d)(\d\d)(\d\d|2[AB])(\d{3})(\d{3})(\d\d)?$/;

/** With its check digits; without them only if the context names the value. */
const isNir = (text: string, isNamed: boolean): boolean => {
  const match = nirPattern.exec(text);
  if (match === null) return false;
  const [, , , month = '', department = '', , , key] = match;
  const value = Number(month);
  if (!((value >= 1 && value <= 12) || (value >= 20 && value <= 42) || value >= 50) || department === '00')
    return false;
  return key === undefined ? isNamed : key === nirKey(text.slice(0, 13));
};

/** 97 less the remainder; Corsica's letters count as 19 and 18 (2A, 2B). */
const nirKey = (number: string): string =>
  String(97 - (Number(number.replace('2A', '19').replace('2B', '18')) % 97)).padStart(2, '0');
