/** Values that only what is said around them gives away: card verification values, dates of birth. */
import { type Claims, spansOf } from './detect-numbers.ts';
import { findDates } from './find-dates.ts';
import type { Span } from './finding.ts';
import type { Heard } from './hear.ts';
import { findRuns, textOf } from './number-runs.ts';
import type { Piece, Spoken } from './read-pieces.ts';
import { toKey } from './read-tokens.ts';
import { mayAnnounce } from './sketch.ts';

/** Over text without accents. */
const cvvContext =
  /[ck]rypto\w*|pictogramme|(?<!\[)\bcv[cv]\d?\b|(?:code|numero) de securite(?! sociale)|security (?:code|number)|verification (?:code|value|number)|(?:trois|3|quatre|4) (?:derniers )?chiffres|(?:three|3|four|4) (?:last )?digits|last (?:three|3|four|4) digits|dos de (?:la|ma|votre|sa) carte|derriere (?:la|ma|votre|sa) carte|back of (?:the|my|your) card/g;
const birthContext =
  /\bnee?s?\b|naissance|\bborn\b|date of birth|birth ?(?:day|date)|\bd\W?o\W?b\b|\bddn\b|anniversaire|\bje suis (?:du|de)\b/g;

/** Whether words announce a card verification value or a date of birth. */
export const announces = (text: string): boolean => {
  if (!mayAnnounce(text)) return false;
  const stripped = stripAccents(text);
  return stripped.search(cvvContext) !== -1 || stripped.search(birthContext) !== -1;
};

/** Utterances behind the question in which its answer is looked for. */
const answersWithin = 2;
/** Characters between what announces a value and the value, in one utterance. */
const reach = 60;

interface Window {
  readonly utterance: number;
  readonly from: number;
  readonly to: number;
}

/** What stands behind each mention: the rest of its utterance, then the beginnings of the next ones. */
const windowsBehind = (spoken: readonly Heard[], pattern: RegExp): Window[][] => {
  const found: Window[][] = [];
  for (const [utterance, { text, mayAnnounce: isLikely }] of spoken.entries()) {
    if (!isLikely) continue;
    // Accents are one character here: composed text keeps its offsets without them.
    for (const match of stripAccents(text).matchAll(pattern)) {
      const end = match.index + match[0].length;
      const windows: Window[] = [{ utterance, from: end, to: end + reach }];
      for (let next = utterance + 1; next <= utterance + answersWithin && next < spoken.length; next += 1)
        windows.push({ utterance: next, from: 0, to: reach });
      found.push(windows);
    }
  }
  return found;
};

/** Lower case without accents, of the same length. */
const stripAccents = (text: string): string => {
  const key = toKey(text);
  return key.length === text.length
    ? key
    : [...text].map((char) => (char.length === 1 ? toKey(char).charAt(0) || ' ' : '  ')).join('');
};

const isWithin = ({ utterance, from, to }: Window, span: Span): boolean =>
  span.utterance === utterance && span.start >= from && span.start < to;

/** What an earlier reading found there, or replaced: each mention announces one value. */
const isAnswered = (
  spoken: readonly Spoken[],
  windows: readonly Window[],
  detector: string,
  { findings }: Claims,
): boolean =>
  windows.some(({ utterance, from }) => spoken[utterance]?.text.includes(`[${detector}]`, from)) ||
  findings.some(
    (finding) => finding.detector === detector && windows.some((window) => isWithin(window, finding.spans[0] as Span)),
  );

export const claimCvvs = (spoken: readonly Heard[], pieces: readonly (readonly Piece[])[], claims: Claims): void => {
  const behind = windowsBehind(spoken, cvvContext);
  if (behind.length === 0) return;
  const runs = pieces.flatMap((own) => findRuns(own, 0));
  for (const windows of behind) {
    if (isAnswered(spoken, windows, 'cvv', claims)) continue;
    for (const window of windows) {
      const run = runs.find(
        (atoms) => isWithin(window, atoms[0] as Span) && /^\d{3,4}$/.test(textOf(atoms)) && atoms.every(claims.isFree),
      );
      if (run === undefined) continue;
      claims.add({ detector: 'cvv', value: textOf(run), spans: spansOf(run) });
      break;
    }
  }
};

export const claimBirths = (spoken: readonly Heard[], pieces: readonly (readonly Piece[])[], claims: Claims): void => {
  const behind = windowsBehind(spoken, birthContext);
  if (behind.length === 0) return;
  const dates = pieces.flatMap(findDates);
  for (const windows of behind) {
    if (isAnswered(spoken, windows, 'birth', claims)) continue;
    for (const window of windows) {
      const date = dates.find(({ spans }) => isWithin(window, spans[0] as Span) && spans.every(claims.isFree));
      if (date === undefined) continue;
      claims.add({ detector: 'birth', ...date });
      break;
    }
  }
};
