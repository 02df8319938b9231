/**
 * Finds personal values in spoken or written text. Pure: the same text gives the same findings.
 * Order decides between two meanings: a written address, values with check digits (IBAN, card, NIR), telephone
 * numbers, values that their context reveals, and configured patterns.
 */
import {
  announces,
  claimAnnounced,
  findMentions,
  type InContext,
  onceEach,
  shortKinds,
  type Talk,
} from './detect-context.ts';
import { claimSpokenEmails, findWrittenEmails } from './detect-email.ts';
import { claimIbans } from './detect-iban.ts';
import { detectNumbers, type NumberOptions } from './detect-numbers.ts';
import type { Span } from './finding.ts';
import { chooseUtterances } from './first-look.ts';
import type { Announced } from './languages.ts';
import { Budget, joinTurns, listOrders, readPieces, type Spoken } from './read-pieces.ts';
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
  const mentionsIn = onceEach((at) => findMentions(tokensOf(at), at));
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
  for (const { name, pattern } of options.patterns)
    for (const [utterance, { text }] of spoken.entries())
      for (const { 0: found, index: start } of text.matchAll(pattern))
        if (found !== '') claims.add(name, found, [{ utterance, start, end: start + found.length }]);
  // An utterance with too many steps is replaced as a whole, because its content is unknown.
  const unread = Array.from(budget.over, (utterance) => {
    const end = spoken[utterance]?.text.length ?? 0;
    return { detector: 'unread', value: '', spans: [{ utterance, start: 0, end }] };
  });
  const isRead = (span: Span): boolean => !budget.over.has(span.utterance);
  const read = claims.findings.map((finding) => ({ ...finding, spans: finding.spans.filter(isRead) }));
  return [...read.filter(({ spans }) => spans.length > 0), ...unread].map((finding) => ({
    ...finding,
    spans: finding.spans.map((span) => plain[span.utterance]?.placeOf(span) ?? span),
  }));
};

/** In a text with hyphens, words without one are separate numbers. */
const hyphened =
  /\b(?:vingt|trente|quarante|cinquante|soixante|dix|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-\p{L}/iu;

const detectIn = (talk: Talk, options: DetectOptions & Pick<NumberOptions, 'budget'>, claims: Claims): void => {
  const { spoken, pieces, mentionsIn } = talk;
  const { isOn, budget } = options;
  const mentionsNear = onceEach((utterance) =>
    [-3, -2, -1, 0, 1].flatMap((by) => (spoken[utterance + by] === undefined ? [] : mentionsIn(utterance + by))),
  );
  const isNamed = (kind: Announced, utterance: number): boolean =>
    mentionsNear(utterance).some((mention) => mention.kind === kind);
  const nameAt = (utterance: number, start: number): Announced | undefined => {
    const near = mentionsNear(utterance);
    const last = near.findLast((own) => own.utterance < utterance || (own.utterance === utterance && own.end <= start));
    if (last === undefined) return near.find((own) => own.utterance === utterance)?.kind;
    // Each mention announces one value.
    return claims.hasAny(last.utterance, last.end, utterance, start) ? undefined : last.kind;
  };
  const claim = (...kinds: readonly InContext[]): void => {
    for (const kind of kinds) if (isOn(kind)) claimAnnounced(kind, talk, claims);
  };
  const streams = listOrders(spoken).map((order) => joinTurns(order, pieces));
  const isMixed = (run: readonly Atom[]) => new Set(run.map(({ utterance }) => spoken[utterance]?.speaker)).size > 1;
  const [own, all] = [streams.slice(0, -1).flat(), streams.at(-1) ?? []];
  const runs = [...own.flatMap(findRuns), ...all.flatMap(findRuns).filter(isMixed)];
  for (const stream of isOn('email') ? [...own, ...all] : []) claimSpokenEmails(stream, claims);
  for (const stream of isOn('iban') ? own : []) claimIbans(stream, { isNamed, nameAt }, claims);
  claim('account');
  detectNumbers(runs, { ...options, isNamed, nameAt }, claims);
  claim(...shortKinds);
  // An utterance beside one that is replaced as a whole may hold half of a value.
  for (const run of runs.filter((atoms) => atoms.some(({ utterance }) => budget.over.has(utterance)))) {
    const left = run.filter((atom) => !budget.over.has(atom.utterance) && claims.isFree([atom]));
    claims.add('unread', '', left);
  }
};
