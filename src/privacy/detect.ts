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
  onceEach,
  shortKinds,
  type Talk,
} from './detect-context.ts';
import { claimSpokenEmails, findWrittenEmails } from './detect-email.ts';
import { claimIbans } from './detect-iban.ts';
import { detectNumbers, type NumberOptions } from './detect-numbers.ts';
import type { Finding } from './finding.ts';
import { chooseUtterances } from './first-look.ts';
import type { Announced } from './languages.ts';
import { Budget, joinTurns, readPieces, type Spoken } from './read-pieces.ts';
import { readPlain, readTokens } from './read-text.ts';
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
  const plain = conversation.map(({ text }) => readPlain(text));
  const spoken = conversation.map(({ speaker }, at) => ({ speaker, text: plain[at]?.text ?? '' }));
  const claims = new Claims(spoken);
  const tokensOf = onceEach((at) => readTokens(spoken[at]?.text ?? ''));
  const mentionsIn = onceEach((at) => findMentions(tokensOf(at)));
  const isChosen = chooseUtterances(spoken, (at) => announces(mentionsIn(at)));
  if (isChosen !== undefined) {
    if (options.isOn('email'))
      for (const [at, { text }] of spoken.entries())
        for (const { value, spans } of findWrittenEmails(text, at)) claims.add('email', value, spans);
    const pieces = spoken.map(({ text }, at) =>
      isChosen[at] ? readPieces(tokensOf(at), at, hyphened.test(text)) : text === '' ? [] : undefined,
    );
    detectIn({ spoken, pieces, mentionsIn }, { ...options, budget }, claims);
  }
  for (const { name, pattern } of options.patterns) claimPattern(spoken, name, pattern, claims);
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

const detectIn = (talk: Talk, options: DetectOptions & Pick<NumberOptions, 'budget'>, claims: Claims): void => {
  const { spoken, pieces, mentionsIn } = talk;
  const { isOn, budget } = options;
  const mentionsAt = (utterance: number): readonly Mention[] =>
    spoken[utterance] === undefined ? [] : mentionsIn(utterance);
  const kindsNear = onceEach(
    (utterance) => new Set([0, 1, -1, -2, -3].flatMap((by) => mentionsAt(utterance + by)).map(({ kind }) => kind)),
  );
  const isNamed = (kind: Announced, utterance: number): boolean => kindsNear(utterance).has(kind);
  const nameAt = (utterance: number, start: number): Announced | undefined => {
    for (const by of [0, 1, 2, 3]) {
      const last = mentionsAt(utterance - by).findLast(({ end }) => by > 0 || end <= start);
      // Each mention announces one value.
      if (last !== undefined) return claims.hasAny(utterance - by, last.end, utterance, start) ? undefined : last.kind;
    }
    return mentionsIn(utterance)[0]?.kind;
  };
  const claim = (kinds: readonly InContext[], within?: typeof atOnce): void => {
    for (const kind of kinds) if (isOn(kind)) claimAnnounced(kind, talk, claims, within);
  };
  const [own, all] = joinTurns(spoken, pieces);
  const runs = [
    ...own.flatMap(findRuns),
    ...all.flatMap(findRuns).filter((run) => new Set(run.map(({ utterance }) => spoken[utterance]?.speaker)).size > 1),
  ];
  for (const stream of [...own, ...all]) {
    if (isOn('email')) claimSpokenEmails(stream, claims);
    if (isOn('iban')) claimIbans(stream, { isNamed, nameAt }, claims);
  }
  claim(['account']);
  claim(['last4', 'cvv', 'expiry'], atOnce);
  detectNumbers(runs, { ...options, isNamed, nameAt }, claims);
  claim(shortKinds);
  if (budget.over.size > 0) claimHalves(runs, budget.over, claims);
};

const claimPattern = (spoken: readonly Spoken[], name: string, pattern: RegExp, claims: Claims): void => {
  for (const [utterance, { text }] of spoken.entries())
    for (const { 0: found, index: start } of text.matchAll(pattern))
      if (found !== '') claims.add(name, found, [{ utterance, start, end: start + found.length }]);
};
