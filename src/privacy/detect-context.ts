/** Values that only what is said around them gives away: card verification values, dates of birth. */
import { type Claims, isFree, spansOf } from './detect-numbers.ts';
import { findDates } from './find-dates.ts';
import type { Span } from './finding.ts';
import { findRuns, textOf } from './number-runs.ts';
import type { Piece, Spoken } from './read-pieces.ts';
import { toKey } from './read-tokens.ts';

/** Over text without accents. */
const cvvContext =
  /[ck]rypto\w*|pictogramme|(?<!\[)\bcv[cv]\d?\b|(?:code|numero) de securite(?! sociale)|security (?:code|number)|verification (?:code|value|number)|(?:trois|3|quatre|4) (?:derniers )?chiffres|(?:three|3|four|4) (?:last )?digits|last (?:three|3|four|4) digits|dos de (?:la|ma|votre|sa) carte|derriere (?:la|ma|votre|sa) carte|back of (?:the|my|your) card/g;
const birthContext =
  /\bnee?s?\b|naissance|\bborn\b|date of birth|birth ?(?:day|date)|\bd\W?o\W?b\b|\bddn\b|anniversaire|\bje suis (?:du|de)\b/g;

/** Wider than both, over text as it is: what it passes over announces nothing. */
const announcement =
  /rypto|pictogr|cv[cv]|curit|chiffres|digits|rification|\bdos d|derri|back of|\bn[e\u00e9\u00c9][e\u00e9\u00c9]?s?(?![a-z\d_])|naissance|born|birth|d\W?o\W?b|\bddn|anniversaire|\bje suis d/i;

/** Whether words announce a card verification value or a date of birth. */
export const announces = (text: string): boolean => {
  if (!announcement.test(text)) return false;
  const stripped = stripAccents(text);
  return stripped.search(cvvContext) !== -1 || stripped.search(birthContext) !== -1;
};

/** Utterances behind the question in which its answer is looked for. */
const answersWithin = 2;
/** Characters between what announces a value and the value, in one utterance. */
const reach = 60;

/** Lower case without accents, of the same length. */
const stripAccents = (text: string): string => {
  const key = toKey(text);
  return key.length === text.length
    ? key
    : [...text].map((char) => (char.length === 1 ? toKey(char).charAt(0) || ' ' : '  ')).join('');
};

interface Announced {
  readonly value: string;
  readonly spans: readonly Span[];
}

export const claimCvvs = (spoken: readonly Spoken[], pieces: readonly (readonly Piece[])[], claims: Claims): void =>
  claimAnnounced(spoken, pieces, { detector: 'cvv', context: cvvContext, find: findCodes }, claims);

export const claimBirths = (spoken: readonly Spoken[], pieces: readonly (readonly Piece[])[], claims: Claims): void =>
  claimAnnounced(spoken, pieces, { detector: 'birth', context: birthContext, find: findDates }, claims);

const findCodes = (pieces: readonly Piece[]): Announced[] =>
  findRuns(pieces, 0)
    .filter((atoms) => /^\d{3,4}$/.test(textOf(atoms)))
    .map((atoms) => ({ value: textOf(atoms), spans: spansOf(atoms) }));

/** Claims the first value behind each mention: in the rest of its utterance, then in the beginnings of the next ones. */
const claimAnnounced = (
  spoken: readonly Spoken[],
  pieces: readonly (readonly Piece[])[],
  wanted: {
    readonly detector: 'cvv' | 'birth';
    readonly context: RegExp;
    readonly find: (pieces: readonly Piece[]) => readonly Announced[];
  },
  claims: Claims,
): void => {
  const { detector, context, find } = wanted;
  const known = new Map<number, Heard>();
  const hear = (utterance: number): Heard => {
    const text = spoken[utterance]?.text ?? '';
    const heard = known.get(utterance) ?? {
      values: find(pieces[utterance] ?? []),
      lastReplaced: text.lastIndexOf(`[${detector}]`),
      claimed: new Uint8Array(text.length),
    };
    known.set(utterance, heard);
    return heard;
  };
  const note = ([first]: readonly Span[]): void => {
    if (first !== undefined) hear(first.utterance).claimed[first.start] = 1;
  };
  for (const finding of claims.findings) if (finding.detector === detector) note(finding.spans);
  for (const [utterance, { text }] of spoken.entries()) {
    if (!announcement.test(text)) continue;
    // Accents are one character here: composed text keeps its offsets without them.
    for (const match of stripAccents(text).matchAll(context)) {
      const end = match.index + match[0].length;
      const windows = Array.from({ length: 1 + answersWithin }, (_, behind) => ({
        heard: hear(utterance + behind),
        from: behind === 0 ? end : 0,
      }));
      if (windows.some(({ heard, from }) => isAnswered(heard, from))) continue;
      for (const { heard, from } of windows) {
        const value = firstWithin(heard.values, from, claims);
        if (value === undefined) continue;
        claims.add({ detector, ...value });
        note(value.spans);
        break;
      }
    }
  }
};

/** Of one utterance. */
interface Heard {
  /** In their order. */
  readonly values: readonly Announced[];
  /** Where the last value that was replaced before stands; -1 where none was. */
  readonly lastReplaced: number;
  /** Characters at which a value of the kind begins: each mention announces one. */
  readonly claimed: Uint8Array;
}

const isAnswered = ({ lastReplaced, claimed }: Heard, from: number): boolean =>
  lastReplaced >= from || claimed.subarray(from, from + reach).includes(1);

const firstWithin = (values: readonly Announced[], from: number, claims: Claims): Announced | undefined => {
  const startOf = (value: Announced | undefined): number => value?.spans[0]?.start ?? Number.POSITIVE_INFINITY;
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (startOf(values[middle]) < from) low = middle + 1;
    else high = middle;
  }
  for (let at = low; startOf(values[at]) < from + reach; at += 1)
    if (isFree(claims, (values[at] as Announced).spans)) return values[at];
  return undefined;
};
