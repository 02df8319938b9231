/**
 * Finds personal values in spoken or written text. Pure: the same text gives the same findings.
 * Order decides between two meanings: a written address, values with check digits (IBAN, card, NIR), telephone
 * numbers, values that their context reveals, and configured patterns.
 */
import {
  announces,
  atOnce,
  claimAnnounced,
  findMentions,
  type InContext,
  type Mention,
  type Talk,
} from './detect-context.ts';
import { claimSpokenEmails, findWrittenEmails } from './detect-email.ts';
import { claimIbans } from './detect-iban.ts';
import { detectNumbers, type NumberOptions } from './detect-numbers.ts';
import type { Finding } from './finding.ts';
import { chooseUtterances } from './first-look.ts';
import type { Announced } from './languages/fr.ts';
import { Budget, joinTurns, type Piece, readPieces, type Spoken } from './read-pieces.ts';
import { readPlain, readTokens, type Token } from './read-text.ts';
import { type Atom, Claims, findRuns } from './runs.ts';

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
  const { patterns, isOn } = options;
  const plain = conversation.map(({ text }) => readPlain(text));
  const spoken = conversation.map(({ speaker }, index) => ({ speaker, text: plain[index]?.text ?? '' }));
  const claims = new Claims(spoken);
  const read: Token[][] = [];
  const tokensOf = (at: number): readonly Token[] => (read[at] ??= readTokens(spoken[at]?.text ?? ''));
  const heard: (readonly Mention[])[] = [];
  const mentionsIn = (at: number): readonly Mention[] => (heard[at] ??= findMentions(tokensOf(at)));
  const isChosen = chooseUtterances(spoken, (at) => announces(mentionsIn(at)));
  if (isChosen !== undefined) {
    if (isOn('email'))
      for (const [index, { text }] of spoken.entries())
        for (const { value, spans } of findWrittenEmails(text, index)) claims.add('email', value, spans);
    const pieces = spoken.map(({ text }, at): readonly Piece[] =>
      isChosen[at] ? readPieces(tokensOf(at), at, hyphened.test(text)) : text === '' ? [] : passedOver,
    );
    const chosen = [...isChosen.keys()].filter((at) => isChosen[at]);
    detectIn({ spoken, pieces, chosen, mentionsIn }, { ...options, budget }, claims);
  }
  for (const { name, pattern } of patterns) claimPattern(spoken, name, pattern, claims);
  const findings = budget.over.size === 0 ? claims.findings : coverWhole(spoken, claims.findings, budget.over);
  return findings.map((finding) => ({
    ...finding,
    spans: finding.spans.map((span) => plain[span.utterance]?.placeOf(span) ?? span),
  }));
};

/** An utterance beside one that is replaced as a whole may hold half of a value. */
const claimHalves = (runs: readonly (readonly Atom[])[], over: ReadonlySet<number>, claims: Claims): void => {
  for (const run of runs) {
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

const detectIn = (talk: Talk, options: DetectOptions & Pick<NumberOptions, 'budget'>, claims: Claims): void => {
  const { spoken, pieces, mentionsIn } = talk;
  const { isOn, budget } = options;
  const named = new Map<number, ReadonlySet<Announced>>();
  const kindsNear = (utterance: number): ReadonlySet<Announced> =>
    new Set(mentionsNear(utterance).map(({ kind }) => kind));
  const mentionsNear = (utterance: number): readonly Mention[] =>
    [0, 1, -1, -2, -3].flatMap((by) => (spoken[utterance + by] === undefined ? [] : mentionsIn(utterance + by)));
  /** By the same utterance, the next or one of three before. */
  const isNamed = (kind: Announced, utterance: number): boolean => {
    const kinds = named.get(utterance) ?? kindsNear(utterance);
    named.set(utterance, kinds);
    return kinds.has(kind);
  };
  const nameAt = (utterance: number, start: number): Announced | undefined => {
    for (const by of [0, 1, 2, 3]) {
      const asked = spoken[utterance - by] === undefined ? [] : mentionsIn(utterance - by);
      const last = asked.findLast(({ end }) => by > 0 || end <= start);
      // Each mention announces one value.
      if (last !== undefined) return claims.hasAny(utterance - by, last.end, utterance, start) ? undefined : last.kind;
    }
    return mentionsIn(utterance)[0]?.kind;
  };
  const claim = (kind: InContext, within?: typeof atOnce): void => {
    if (isOn(kind)) claimAnnounced(kind, talk, claims, within);
  };
  const [own, all] = joinTurns(spoken, pieces);
  const runs = [
    ...own.flatMap(findRuns),
    ...all.flatMap(findRuns).filter((run) => run.some(({ isAnswer }) => isAnswer)),
  ];
  for (const stream of [...own, ...all]) {
    if (isOn('email')) claimSpokenEmails(stream, claims);
    if (isOn('iban')) claimIbans(stream, isNamed, nameAt, claims);
  }
  claim('account');
  for (const kind of ['cvv', 'last4', 'expiry'] as const) claim(kind, atOnce);
  detectNumbers(runs, { ...options, isNamed, nameAt }, claims);
  for (const kind of ['last4', 'cvv', 'birth', 'expiry'] as const) claim(kind);
  if (budget.over.size > 0) claimHalves(runs, budget.over, claims);
};

const claimPattern = (spoken: readonly Spoken[], name: string, pattern: RegExp, claims: Claims): void => {
  for (const [utterance, { text }] of spoken.entries()) {
    for (const match of text.matchAll(pattern)) {
      if (match[0] !== '')
        claims.add(name, match[0], [{ utterance, start: match.index, end: match.index + match[0].length }]);
    }
  }
};
