/** Values made of digits, each with its check: payment card, NIR, telephone number. */
import isLuhn from 'fast-luhn';
import type { CountryCode } from 'libphonenumber-js/max';
import type { Names } from './detect-context.ts';
import type { DetectorName } from './finding.ts';
import type { Announced } from './languages.ts';
import { mayBeDialled, readDialled } from './phone-number.ts';
import type { Budget } from './read-pieces.ts';
import { type Atom, type Candidate, type Claims, isPause, leastDigits, listCandidates } from './runs.ts';

export interface NumberOptions extends Names {
  /** Detectors that look; the others find nothing. */
  readonly isOn: (name: DetectorName) => boolean;
  /** ISO codes of the countries whose national numbers are telephone numbers; the first is the default. */
  readonly countries: readonly CountryCode[];
  readonly budget: Budget;
}

/** A candidate that may be a value of a kind. */
interface Claim extends Candidate {
  readonly detector: 'card' | 'nir' | 'phone';
  /** Place in the order of claims. */
  readonly rank: number;
  /** Undefined where it is none. */
  read(): string | undefined;
}

/** Order of claims: of whole breaths, of whole dictations, and of parts of them. */
const ranks = {
  plus: [0, 0, 0],
  card: [1, 6, 10],
  nir: [1, 2, 8],
  unkeyed: [3, 7, 9],
  named: [4, 4, 11],
  slip: [11, 11, 11],
  phone: [5, 12, 12],
  said: [13, 13, 13],
} as const;
const isPart = ({ rank }: Claim): boolean => rank >= ranks.nir[2];
/** Lengths at which people pause. */
const groups = { card: [4, 8, 12], nir: [1, 3, 5, 7, 10], phone: [] } as const;
/** A candidate that people pause otherwise within. */
const ungrouped = 0.5;
/** Readings without the corrected parts go first. */
const corrected = 100;

/** @param runs of each speaker, then of all. */
export const detectNumbers = (runs: readonly (readonly Atom[])[], options: NumberOptions, claims: Claims): void => {
  const isFree = (atom: Atom): boolean => claims.isFree([atom]);
  const list = (among: typeof runs, isAmbiguous: boolean): readonly Claim[] => {
    const listed: Claim[] = [];
    const visit = (candidate: Candidate) => listClaims(candidate, isAmbiguous, options, listed);
    for (const run of among) listCandidates(run, isAmbiguous, isFree, options.budget, visit);
    return listed;
  };
  const plain = list(runs, false);
  const whole = plain.filter((claim) => !isPart(claim));
  claimInOrder(whole, claims);
  const ambiguous = runs.filter((run) => run.some((atom) => atom.piece.readings.length > 1 && isFree(atom)));
  claimInOrder([...plain.filter(isPart), ...list(ambiguous, true)], claims);
};

/** Digits before a number ("my 06 is …") form a second telephone number with it. All are covered, and the last counts. */
const claimInOrder = (listed: readonly Claim[], claims: Claims): void => {
  let open: (Claim & { readonly value: string }) | undefined;
  const close = (): void => {
    if (open !== undefined) claims.add('phone', open.value, open.run.slice(open.from, open.to));
    open = undefined;
  };
  const inOrder = [...listed].sort((a, b) => a.rank - b.rank || a.from - b.from || b.text.length - a.text.length);
  for (const claim of inOrder) {
    const { run, from, to } = claim;
    const before = open?.run === run && from < open.to ? open : undefined;
    if ((before !== undefined && to <= before.to) || !claims.isFree(run.slice(from, to))) continue;
    const value = claim.read();
    if (value === undefined) continue;
    if (before === undefined) close();
    if (claim.rank === ranks.phone[2]) open = { ...claim, value, from: before?.from ?? from };
    else claims.add(claim.detector, value, run.slice(from, to));
  }
  close();
};

/** A slip changes the length of an announced value. */
const fewestNamed = 11;
/** Lengths of announced values, whatever their check digits say. */
const namedLengths = { card: [16, 15], nir: [13, 15] } as const;
const mostDialled = 17;

/** Lists the values that a candidate may be. Nearly none is one, so that nothing is made before its digits fit. */
const listClaims = (
  candidate: Candidate,
  isAmbiguous: boolean,
  { isOn, countries, budget, isNamed, nameAt }: NumberOptions,
  listed: Claim[],
): void => {
  const { run, text, from, to, gap, isBreaths, isRun, ends, isCorrected } = candidate;
  const { length } = text;
  const first = run[from] as Atom;
  const scope = isBreaths && gap === 0 ? 0 : isRun ? 1 : 2;
  if (isCorrected && scope === 2) return;
  const name = (): Announced | undefined => nameAt(first.utterance, first.start);
  const isGrouped = (lengths: readonly number[]) => lengths.every((own) => (ends & (1 << own)) !== 0);
  const list = (detector: Claim['detector'], kind: keyof typeof ranks, read: Claim['read']): void => {
    const rank = ranks[kind][scope] - (isCorrected ? corrected : 0) + (isGrouped(groups[detector]) ? 0 : ungrouped);
    if (isOn(detector)) listed.push({ ...candidate, detector, rank, read });
  };
  const isDigits = !/\D/.test(text);
  if (isDigits && isCard(text)) list('card', 'card', () => (name() === 'nir' ? undefined : text));
  const nir = length === 13 || length === 15 ? nirPattern.exec(text) : null;
  if (nir !== null) {
    const number = text.slice(0, 13);
    if (nir[1] === undefined && isNamed('nir', first.utterance)) list('nir', 'unkeyed', () => number);
    if (nir[1] === nirKey(number)) list('nir', 'nir', () => (name() === 'card' ? undefined : number));
  }
  for (const kind of ['card', 'nir'] as const) {
    const isUsual = namedLengths[kind].some((own) => own === length);
    if ((isUsual || (isRun && length >= fewestNamed)) && !isAmbiguous && isNamed(kind, first.utterance))
      list(kind, isUsual ? 'named' : 'slip', () =>
        name() === kind ? text.slice(0, namedLengths[kind][0]) : undefined,
      );
  }
  const isSure = first.piece.isInternational || /^0[1-9]/.test(text);
  const isStanding = scope < 2 || isNamed('phone', first.utterance);
  if (length > mostDialled || gap > 1 || !isDigits || !(isSure || isStanding) || (isAmbiguous && !isRun)) return;
  const readPhone = (): string | undefined => {
    const named = isSure ? 'phone' : name();
    // Digits without plus or trunk prefix are a number if words announce them or if they stand alone.
    if (named === 'other' || (named !== 'phone' && scope === 2)) return undefined;
    // "212 555 0187", not "34 36 38 40 42": North American numbers have no sign of their own but their groups.
    const isSign = !number?.startsWith('+1') || to - from === 1 || isGrouped([length - 7, length - 4]);
    return named === 'phone' || isSign ? number : undefined;
  };
  const { isInternational } = first.piece;
  // Numbers with a slip, or of a range that its country has given up, if a plus or a word announces them.
  const readSaid = () => (isInternational ? `+${text}` : text.startsWith('0') && name() === 'phone' ? text : undefined);
  if (isRun && length > leastDigits && length < 16 && !isAmbiguous) list('phone', 'said', readSaid);
  if (!(mayBeDialled(text, countries) || isInternational) || !budget.spend(first.utterance, stepsOfParsing)) return;
  const number = readDialled(text, isInternational, countries);
  if (number === undefined) return;
  // A plus makes digits a telephone number, even if they pass the check of a card.
  list('phone', isInternational && gap === 0 && isPause(run, to, 0) ? 'plus' : 'phone', readPhone);
};

/** Numbers of most countries are read by a library, which takes so many times as long as a step. */
const stepsOfParsing = 15;

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
  networks.some(([pattern, lengths]) => lengths.includes(digits.length) && pattern.test(digits)) && isLuhn(digits);

/** With its check digits; without them only if the context names the value. */
const nirPattern = /^[1-478]\d\d(?:0[1-9]|1[0-2]|[23]\d|4[0-2]|[5-9]\d)(?!00)(?:\d\d|2[AB])\d{6}(\d\d)?$/;

/** 97 less the remainder; Corsica's letters count as 19 and 18 (2A, 2B). */
const nirKey = (number: string): string =>
  String(97 - (Number(number.replace('2A', '19').replace('2B', '18')) % 97)).padStart(2, '0');
