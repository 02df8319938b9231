/** Values made of digits, each with its check: IBAN, payment card, NIR, telephone number. */
import isLuhn from 'fast-luhn';
import { countrySpecs, isValidIBAN } from 'ibantools';
import type { CountryCode } from 'libphonenumber-js/max';
import type { DetectorName, Finding, Span } from './finding.ts';
import { mayBeDialled, readDialled } from './phone-number.ts';
import type { Budget, Piece, Spoken } from './read-pieces.ts';
import { setOf } from './read-text.ts';

/** Characters that are already part of a value. */
export class Claims {
  readonly findings: Finding[] = [];
  readonly #taken = new Map<number, Uint8Array>();
  readonly #spoken: readonly Spoken[];

  constructor(spoken: readonly Spoken[]) {
    this.#spoken = spoken;
  }

  isFree(spans: readonly Span[]): boolean {
    return !spans.some(({ utterance, start, end }) => this.#taken.get(utterance)?.subarray(start, end).includes(1));
  }

  add(finding: Finding): void {
    this.findings.push(finding);
    for (const { utterance, start, end } of finding.spans) {
      const taken = this.#taken.get(utterance) ?? new Uint8Array(this.#spoken[utterance]?.text.length ?? 0);
      this.#taken.set(utterance, taken.fill(1, start, end));
    }
  }
}

type Read = (...candidate: Parameters<Visit>) => string | undefined;
type Search = (visit: Visit) => void;

const cardBegins = /^(?:[456]|3[04-8]|2[2-7]|[23]$)/;
const card: Shape = { least: 13, most: 19, begunBy: 2, mayBegin: (text) => cardBegins.test(text) };
const nir: Shape = { least: 15, most: 15, begunBy: 2, mayBegin: (text) => /^[1-478](?:\d|$)/.test(text) };
const unkeyedNir: Shape = { ...nir, least: 13, most: 13 };

/** Words that announce a social security number, for digits without a valid check. */
const nirContext = /\bsecu\b|securite sociale|vitale|assure|matricule|immatricul|\bnir\b|ss\b/;

interface NumberOptions {
  /** Detectors that look; the others find nothing. */
  readonly isOn: (name: DetectorName) => boolean;
  /** ISO codes of the countries whose national numbers are telephone numbers; the first is the default. */
  readonly countries: readonly CountryCode[];
  readonly budget: Budget;
  /** Whether words near an utterance say that digits are a social security number. */
  readonly namesNir: (utterance: number) => boolean;
  /** Runs that were read already: by one speaker and by all, or in another reading of words that have only one. */
  readonly read: Set<string>;
}

/** Whether words say that digits are a social security number. @param text lower case without accents. */
export const announcesNir = (text: string): boolean => nirContext.test(text);

/** Order: digits in one breath, then whole values, then parts. */
export const detectNumbers = (pieces: readonly Piece[], options: NumberOptions, claims: Claims): void => {
  const { isOn, budget, namesNir } = options;
  // Most talk has no number at all.
  if (!pieces.some(({ kind }) => kind === 'number')) return;
  if (isOn('iban')) claimIbans(pieces, claims);
  const corrected = dropCorrected(pieces);
  if (corrected.length < pieces.length) detectNumbers(corrected, options, claims);
  const joined = joinCorsica(pieces);
  const runs = findRuns(joined, interruptionWords);
  const longest = runs.reduce((most, run) => Math.max(most, mostCharacters(run)), 0);
  if (longest < leastDigits) return;
  const isNew = (kind: string) => (run: readonly Atom[]) => noteRun(options.read, kind, run);
  const isLong = longest >= unkeyedNir.least;
  const loose = isLong ? runs.filter(isNew('loose')) : [];
  const breaths = findRuns(joined, 'one breath');
  const mayRead = readWholeBreaths(breaths);
  const readCard: Read = (text, ...atoms) => (isCard(text) && mayRead(...atoms) ? text : undefined);
  const readNir: Read = (text, ...atoms) => (isNir(text, false) && mayRead(...atoms) ? text.slice(0, 13) : undefined);
  const readUnkeyed: Read = (text, run, from, to) =>
    isNir(text, true) && mayRead(run, from, to) && namesNir(run[from]?.utterance ?? 0) ? text : undefined;
  const claimEach = (among: readonly Atom[][], [detector, shape, read]: Wanted, manner: Manner): void => {
    if (!isOn(detector)) return;
    for (const run of among)
      claimFirst(claims, (visit) => findCandidates(run, shape, manner, budget, visit), detector, read);
  };
  const cards: Wanted = ['card', card, readCard];
  const keyed: Wanted = ['nir', nir, readNir];
  const unkeyed: Wanted = ['nir', unkeyedNir, readUnkeyed];
  const newBreaths = breaths.filter(isNew('breath'));
  const long = isLong ? newBreaths : [];
  for (const among of [long, loose]) {
    for (const isAmbiguous of [false, true]) {
      claimEach(among, cards, { isWhole: true, isAmbiguous });
      claimEach(among, keyed, { isWhole: true, isAmbiguous });
    }
    // Without its key it reads as a telephone number with something before it.
    for (const isAmbiguous of [false, true]) claimEach(among, unkeyed, { isWhole: true, isAmbiguous });
    if (isOn('phone') && among === long) claimPhones(newBreaths, mayRead, { isWhole: true }, options, claims);
  }
  claimEach(loose, keyed, {});
  claimEach(loose, unkeyed, {});
  claimEach(loose, cards, {});
  claimEach(loose, keyed, { isAmbiguous: true });
  if (isOn('phone')) {
    const phones = findRuns(joined, 0).filter(isNew('phone'));
    claimPhones(phones, mayRead, {}, options, claims);
    // Ambiguous words are taken otherwise only where nothing else is said in one go: a trunk prefix proves little.
    claimPhones(phones, mayRead, { isWhole: true, isAmbiguous: true }, options, claims);
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

const corrections = setOf('non pardon sorry correction plutot rather actually erreur no');

/** Without numbers that the speaker takes back: "12 euh non 13" says 13, and so does "zero one sorry 13". */
const dropCorrected = (pieces: readonly Piece[]): readonly Piece[] => {
  const dropped = new Set<Piece>();
  let before: Extract<Piece, { kind: 'number' }>[] = [];
  let takenBack: Piece[] = [];
  for (const [index, piece] of pieces.entries()) {
    if (piece.kind === 'number') {
      const last = takenBack.length === 0 ? [] : lastDigits(before, lengthBehind(pieces, index));
      if (last.length > 0) for (const own of [...last, ...takenBack]) dropped.add(own);
      before.push(piece);
      takenBack = [];
    } else if (piece.kind === 'word' && corrections.has(piece.key)) {
      if (before.length > 0) takenBack.push(piece);
    } else if (!isFiller(piece)) before = [];
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
  runs: readonly Atom[][],
  mayRead: (run: readonly Atom[], from: number, to: number) => boolean,
  manner: Manner,
  { countries, budget }: NumberOptions,
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
    // Across utterances, only national numbers and numbers with a plus.
    const isSure = text.startsWith('0') || first.isInternational || first.utterance === run[to - 1]?.utterance;
    if (!isSure || !mayRead(run, from, to) || !budget.spend(first.utterance, stepsOfParsing)) return undefined;
    // Most digits of a value are those of several readings: the library is asked for the first one only.
    return claims.isFree(run.slice(from, to)) ? readDialled(text, first.isInternational, countries) : undefined;
  };
  for (const run of runs) {
    const search: Search = (visit) => findCandidates(run, shape, manner, budget, visit);
    if (manner.isWhole === true) claimFirst(claims, search, 'phone', read);
    else claimOverlapping(claims, search, run, read);
  }
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

/** One span per utterance, including the text between its parts. */
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

/**
 * Letters of an account: one at a time, or a group of capitals. The first part may be any word, because it names the country.
 */
const lettersOf = (piece: Piece | undefined, isFirst = false): string | undefined =>
  piece?.kind === 'word' && (isFirst || piece.text.length === 1 || /^[A-Z]{1,4}$/.test(piece.text))
    ? piece.key.toUpperCase()
    : undefined;

const claimIbans = (pieces: readonly Piece[], claims: Claims): void => {
  for (let at = 0; at < pieces.length; at += 1) {
    const one = pieces[at];
    if (one?.kind !== 'word' || one.text.length > 2) continue;
    const first = one.key.toUpperCase();
    const country = first.length === 2 ? first : `${first}${lettersOf(pieces[at + 1])?.slice(0, 1) ?? ''}`;
    const length = ibanLengths.get(country);
    if (length === undefined) continue;
    const atoms = collectIban(pieces, at, length);
    const value = atoms === undefined ? undefined : textOf(atoms);
    if (atoms !== undefined && value !== undefined && isValidIBAN(value) && claims.isFree(atoms))
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
    const text = piece.kind === 'number' ? piece.text : lettersOf(piece, at === from);
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

/** Beginnings and lengths that networks give out; one in ten of other digits has a right check digit too. */
const networks: readonly (readonly [pattern: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]],
  [/^3[47]/, [15]],
  [/^3(0[0-5]|[68])/, [14]],
  [/^(6011|64[4-9]|65|35(2[89]|[3-8])|62)/, [16, 19]],
  [/^(5[06-8]|6[37])/, [16, 18, 19]],
];

const isCard = (digits: string): boolean =>
  isLuhn(digits) && networks.some(([pattern, lengths]) => lengths.includes(digits.length) && pattern.test(digits));

/** Characters of an IBAN, by country. */
const ibanLengths = new Map(
  Object.entries(countrySpecs).flatMap(([country, { chars }]) => (chars ? [[country, chars]] : [])),
);

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

// Numbers that follow each other closely enough to be one value that is dictated in parts.

/** A part of a value: digits, or letters where a value may have them. */
type Atom = Omit<Extract<Piece, { kind: 'number' }>, 'kind'>;

/** Words that are no fillers, of which so many may stand after an interruption ("go on"), or between the parts of a value. */
export const interruptionWords = 2;

/** Fewer digits count only after words that announce a value. */
export const leastDigits = 7;

/**
 * @param mostWords words other than fillers that may stand between two parts: none for values without a check digit. None, and no
 * other utterance, in one breath.
 */
export const findRuns = (pieces: readonly Piece[], mostWords: number | 'one breath'): Atom[][] => {
  const isBreath = mostWords === 'one breath';
  const allowed = isBreath ? 0 : mostWords;
  const runs: Atom[][] = [];
  let run: Atom[] = [];
  let left = allowed;
  const end = (): void => {
    if (run.length > 0) runs.push(run);
    run = [];
  };
  for (const piece of pieces) {
    if (piece.kind === 'number') {
      run.push(piece);
      left = allowed;
    } else if (piece.kind === 'turn') {
      if (isBreath) end();
      left = isBreath ? 0 : Math.max(left, interruptionWords);
    } else if (!piece.isFiller) {
      left -= 1;
      if (left < 0 || piece.kind === 'mark') end();
    }
  }
  end();
  return runs;
};

const isFiller = (piece: Piece): boolean => piece.kind === 'turn' || (piece.kind !== 'number' && piece.isFiller);

/** Facts of a candidate: its text, and which atoms of the run, `[from, to)`. */
type Visit = (text: string, run: readonly Atom[], from: number, to: number) => void;

/** Targets of the search in a run. */
interface Shape {
  readonly least: number;
  readonly most: number;
  /** False where no value begins with these characters: nothing that goes on with them is read. */
  mayBegin(text: string, first: Atom): boolean;
  /** Characters after which the beginning is known. */
  readonly begunBy: number;
}

interface Manner {
  /** In every reading of ambiguous words, else in the first of each. */
  readonly isAmbiguous?: boolean;
  /** The whole run only. */
  readonly isWhole?: boolean;
}

/**
 * Every sequence of whole atoms that may have the shape, longest first from each beginning. Each atom that is looked at is a step of
 * its utterance's budget.
 */
const findCandidates = (
  run: readonly Atom[],
  shape: Shape,
  { isAmbiguous = false, isWhole = false }: Manner,
  budget: Budget,
  visit: Visit,
): void => {
  if (mostCharacters(run) < shape.least || (isAmbiguous && run.every(({ others }) => others.length === 0))) return;
  if (isWhole && !isAmbiguous) {
    const text = textOf(run);
    const isOfShape = text.length >= shape.least && text.length <= shape.most;
    const isRead = isOfShape && run.every(({ utterance }) => budget.spend(utterance));
    if (isRead && shape.mayBegin(text, run[0] as Atom)) visit(text, run, 0, run.length);
    return;
  }
  if (isAmbiguous && !run.every(({ utterance, others }) => budget.spend(utterance, others.length))) return;
  const [leastBehind, mostBehind] = [new Uint32Array(run.length + 1), new Uint32Array(run.length + 1)];
  for (let at = run.length - 1; at >= 0; at -= 1) {
    const { text, others } = run[at] as Atom;
    let [least, most] = [text.length, text.length];
    for (const { length } of isAmbiguous ? others : [])
      [least, most] = [Math.min(least, length), Math.max(most, length)];
    leastBehind[at] = (leastBehind[at + 1] as number) + least;
    mostBehind[at] = (mostBehind[at + 1] as number) + most;
  }
  if (isWhole && (leastBehind[0] as number) > shape.most) return;
  const found: { readonly to: number; readonly text: string }[] = [];
  const extend = (from: number, to: number, text: string): void => {
    if (text.length >= shape.least && (!isWhole || to === run.length)) found.push({ to, text });
    const atom = run[to];
    if (atom === undefined || !budget.spend(atom.utterance)) return;
    extendBy(atom.text, from, to, text);
    if (isAmbiguous) for (const heard of atom.others) extendBy(heard, from, to, text);
  };
  const extendBy = (heard: string, from: number, at: number, before: string): void => {
    const length = before.length + heard.length;
    if (length > shape.most || length + (mostBehind[at + 1] as number) < shape.least) return;
    if (isWhole && length + (leastBehind[at + 1] as number) > shape.most) return;
    const text = before + heard;
    if (before.length >= shape.begunBy || shape.mayBegin(text, run[from] as Atom)) extend(from, at + 1, text);
  };
  for (let from = 0; from < (isWhole ? 1 : run.length) && (mostBehind[from] as number) >= shape.least; from += 1) {
    extend(from, from, '');
    found.sort((a, b) => b.text.length - a.text.length);
    for (const { to, text } of found.splice(0)) visit(text, run, from, to);
  }
};

/** Characters of a run, in the longest reading of each word. */
const mostCharacters = (run: readonly Atom[]): number =>
  run.reduce(
    (sum, { text, others }) => sum + others.reduce((most, { length }) => Math.max(most, length), text.length),
    0,
  );

export const textOf = (atoms: readonly Atom[]): string => atoms.map(({ text }) => text).join('');
