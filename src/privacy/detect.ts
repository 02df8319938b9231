/**
 * Finds personal values in spoken or written text. Pure: the same text gives the same findings.
 * Order decides between two meanings: a written address, values with check digits (IBAN, card, NIR), telephone
 * numbers, values that their context reveals, and configured patterns.
 */
import { announces, atOnce, claimAnnounced, findMentions, type InContext, type Mention } from './detect-context.ts';
import { claimSpokenEmails, findWrittenEmails } from './detect-email.ts';
import { claimIbans, findWrittenIbans } from './detect-iban.ts';
import { detectNumbers, type NumberOptions } from './detect-numbers.ts';
import type { Finding } from './finding.ts';
import { chooseUtterances, lookAt } from './first-look.ts';
import type { Announced } from './languages/language.ts';
import { Budget, joinTurns, type Piece, readPieces, type Spoken } from './read-pieces.ts';
import { readPlain, readTokens, type Token } from './read-text.ts';
import { Claims, findRuns } from './runs.ts';

interface DetectOptions extends Pick<NumberOptions, 'isOn' | 'countries'> {
  /** Patterns of the configuration, by name. */
  readonly patterns: readonly { readonly name: string; readonly pattern: RegExp }[];
}

/**
 * Finds the values in a conversation.
 * @param conversation pieces in the order in which they were said; findings name a piece by its index and the place in its text.
 * @param budget steps that each piece may take; one that takes more is a finding of its own, as a whole.
 * No two findings overlap.
 */
export const detect = (conversation: readonly Spoken[], options: DetectOptions, budget = new Budget(conversation)) => {
  const { patterns } = options;
  const plain = conversation.map(({ text }) => readPlain(text));
  const spoken = conversation.map(({ speaker }, index) => ({ speaker, text: plain[index]?.text ?? '' }));
  const claims = new Claims(spoken);
  const looks = spoken.map(({ text }) => lookAt(text));
  const read: Token[][] = [];
  const tokensOf = (at: number): readonly Token[] => (read[at] ??= readTokens(spoken[at]?.text ?? ''));
  const heard: (readonly Mention[])[] = [];
  const mentionsIn = (at: number): readonly Mention[] => (heard[at] ??= findMentions(tokensOf(at)));
  const announcing: number[] = [];
  const chosen = chooseUtterances(spoken, looks, (at) => {
    const isAnnouncing = announces(spoken[at]?.text ?? '');
    if (isAnnouncing) announcing.push(at);
    return isAnnouncing;
  });
  if (chosen !== undefined)
    readConversation(
      spoken,
      {
        ...options,
        budget,
        tokensOf,
        mentionsIn,
        announcing,
        chosen: [...chosen.keys()].filter((at) => chosen[at]),
      },
      claims,
    );
  for (const { name, pattern } of patterns) claimPattern(spoken, name, pattern, claims);
  const findings = budget.over.size === 0 ? claims.findings : coverWhole(spoken, claims.findings, budget.over);
  return findings.map((finding) => ({
    ...finding,
    spans: finding.spans.map((span) => plain[span.utterance]?.placeOf(span) ?? span),
  }));
};

interface ReadOptions extends DetectOptions, Pick<NumberOptions, 'budget'> {
  tokensOf(utterance: number): readonly Token[];
  mentionsIn(utterance: number): readonly Mention[];
  /** Utterances that announce a value which only words show. */
  readonly announcing: readonly number[];
  /** Utterances that are read. */
  readonly chosen: readonly number[];
}
/** Pieces of each utterance. */
type Pieces = readonly (readonly Piece[])[];

const readConversation = (spoken: readonly Spoken[], options: ReadOptions, claims: Claims): void => {
  const { budget, isOn } = options;
  const isChosen = new Set(options.chosen);
  if (isOn('email'))
    for (const [index, { text }] of spoken.entries())
      for (const { value, spans } of findWrittenEmails(text, index)) claims.add('email', value, spans);
  const pieces: Pieces = spoken.map(({ text }, utterance) => {
    if (!isChosen.has(utterance)) return text === '' ? [] : passedOver;
    for (const finding of isOn('iban') ? findWrittenIbans(text, utterance) : [])
      claims.add('iban', finding.value, finding.spans);
    return readPieces(options.tokensOf(utterance), utterance, hyphened.test(text));
  });
  const streams = joinTurns(spoken, pieces);
  detectIn(spoken, pieces, streams, options, claims);
  if (budget.over.size > 0) claimHalves(streams, budget.over, claims);
};

/** An utterance beside one that is replaced as a whole may hold half of a value. */
const claimHalves = (streams: readonly Piece[][], over: ReadonlySet<number>, claims: Claims): void => {
  for (const run of streams.flatMap(findRuns)) {
    const halves = run.filter((atom) => !over.has(atom.utterance) && claims.isFree([atom]));
    if (halves.length > 0 && run.some(({ utterance }) => over.has(utterance))) claims.add('unread', '', halves);
  }
};

/** An utterance with too many steps is replaced as a whole, because its content is unknown. */
const coverWhole = (spoken: readonly Spoken[], findings: readonly Finding[], over: ReadonlySet<number>) => [
  ...findings
    .map((finding) => ({ ...finding, spans: finding.spans.filter(({ utterance }) => !over.has(utterance)) }))
    .filter(({ spans }) => spans.length > 0),
  ...Array.from(over, (utterance) => {
    const end = spoken[utterance]?.text.length ?? 0;
    return { detector: 'unread', value: '', spans: [{ utterance, start: 0, end }] };
  }),
];

/** In a text with hyphens, words without one are separate numbers. */
const hyphened =
  /\b(?:vingt|trente|quarante|cinquante|soixante|dix|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-\p{L}/iu;

/** Placeholder for a skipped utterance; it splits runs of digits and is part of no finding. */
const passedOver: readonly Piece[] = [
  {
    kind: 'mark',
    key: '',
    text: '',
    utterance: -1,
    start: 0,
    end: 0,
    isSpaced: false,
    isFiller: false,
    isCorrection: false,
  },
];

const detectIn = (
  spoken: readonly Spoken[],
  pieces: Pieces,
  streams: readonly Piece[][],
  options: ReadOptions,
  claims: Claims,
): void => {
  const { isOn, mentionsIn, announcing } = options;
  /** By the same utterance, the next or one of three before. */
  const isNamed = (own: Announced, utterance: number): boolean =>
    [0, 1, -1, -2, -3].some(
      (by) => spoken[utterance + by] && mentionsIn(utterance + by).some(({ kind }) => kind === own),
    );
  const nameAt = (utterance: number, start: number): Announced | undefined => {
    const own = mentionsIn(utterance);
    for (const by of [0, 1, 2, 3]) {
      const asked = spoken[utterance - by] === undefined ? [] : mentionsIn(utterance - by);
      const last = asked.findLast(({ end }) => by > 0 || end <= start);
      // Each mention announces one value.
      if (last !== undefined) return claims.hasAny(utterance - by, last.end, utterance, start) ? undefined : last.kind;
    }
    return own[0]?.kind;
  };
  const claim = (kind: InContext, within?: typeof atOnce): void => {
    if (isOn(kind)) {
      const among = kind === 'account' ? options.chosen : announcing;
      claimAnnounced(kind, spoken, pieces, mentionsIn, among, claims, within);
    }
  };
  for (const stream of streams) {
    if (isOn('email')) claimSpokenEmails(stream, claims);
    if (isOn('iban')) claimIbans(stream, nameAt, claims);
  }
  claim('account');
  for (const kind of ['cvv', 'last4', 'expiry'] as const) claim(kind, atOnce);
  detectNumbers(streams.flatMap(findRuns), { ...options, isNamed, nameAt }, claims);
  for (const kind of ['last4', 'cvv', 'birth', 'expiry'] as const) claim(kind);
};

const claimPattern = (spoken: readonly Spoken[], name: string, pattern: RegExp, claims: Claims): void => {
  for (const [utterance, { text }] of spoken.entries()) {
    for (const match of text.matchAll(pattern)) {
      if (match[0] !== '')
        claims.add(name, match[0], [{ utterance, start: match.index, end: match.index + match[0].length }]);
    }
  }
};
