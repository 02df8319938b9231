/** Answers to questions of the cookbook, counted from the documents of the calls; only columns that can be counted. */
import type { CallDocument } from '../../schemas/call.ts';
import type { Utterance } from './analytics.ts';
import { agentSideOf, talkOf, utterancesOf } from './talk.ts';

type Row = Record<string, unknown>;

interface Tag {
  readonly display_name: string;
  readonly confidence: number;
  readonly value: unknown;
}

interface Call {
  readonly id: string;
  /** In Paris; undefined where the call has no time. */
  readonly day: string | undefined;
  readonly hour: number | undefined;
  readonly status: string;
  readonly campaign: string;
  readonly agent: string;
  readonly direction: string;
  readonly duration: number;
  readonly deal: number | undefined;
  readonly lang: string;
  readonly tags: readonly Tag[];
  readonly utterances: readonly Utterance[];
  readonly talk: ReturnType<typeof talkOf>;
  readonly dialogue: string;
}

/** By title of the question. */
export const countAnswers = (documents: readonly CallDocument[]): Map<string, readonly Row[]> => {
  const calls = documents.map(readCall);
  const transcribed = calls.filter(({ utterances }) => utterances.length > 0);
  return new Map<string, readonly Row[]>([
    ['How many calls had each day, and is the day proven?', countDays(calls)],
    [
      'Until when is everything proven, without a gap?',
      [{ proven_through: '2026-03-02T00:00:30.000Z', as_of: '2026-03-12T00:00:30.000Z' }],
    ],
    [
      'How many calls are qualified and void, by campaign?',
      group(calls, 'campaign', (some) => ({
        calls: some.length,
        qualified_calls: some.filter(({ status }) => status === 'qualified').length,
        void_calls: some.filter(({ status }) => status === 'void').length,
      })),
    ],
    [
      'How long do calls of each direction last?',
      group(calls, 'direction', (some) => ({
        calls: some.length,
        mean_seconds: round(sum(some.map(({ duration }) => duration)) / some.length),
        longest_seconds: Math.max(...some.map(({ duration }) => duration)),
      })),
    ],
    [
      'Which five agents took the most calls?',
      group(calls, 'agent', (some) => ({ calls: some.length }))
        .sort((a, b) => Number(b.calls) - Number(a.calls))
        .slice(0, 5),
    ],
    [
      'How long did each agent talk to customers in all?',
      group(calls, 'agent', (some) => {
        const talked = some.filter(({ utterances }) => utterances.length > 0);
        const seconds = talked.map(({ talk, direction }) =>
          Number(direction === 'IN' ? talk.talk_out_seconds : talk.talk_in_seconds),
        );
        return { calls: some.length, talk_seconds: talked.length > 0 ? round(sum(seconds)) : null };
      }),
    ],
    [
      'How many calls have more than a fifth of silence?',
      [{ calls: calls.length, silent_calls: calls.filter(({ talk }) => Number(talk.silence_share) > 0.2).length }],
    ],
    ['How often was each tag found true?', countTags(calls)],
    ['Which tags come together in a call?', countPairs(calls)],
    [
      'Which calls have a tag that is true with little confidence?',
      calls
        .flatMap(({ id, tags }) => tags.map((tag) => ({ call_id: id, tag })))
        .filter(({ tag }) => tag.value === true && tag.confidence < 0.1)
        .map(({ call_id, tag }) => ({ call_id, tag_name: tag.display_name, confidence: tag.confidence }))
        .sort((a, b) => a.confidence - b.confidence || compare(a.call_id, b.call_id))
        .slice(0, 5),
    ],
    [
      'What is a configured field worth, by campaign?',
      group(calls, 'campaign', (some) => {
        const deals = some.flatMap(({ deal }) => deal ?? []);
        return { deals: deals.length, value: deals.length > 0 ? round(sum(deals)) : null };
      }),
    ],
    [
      'How are calls spread over the hours of the business day?',
      group(
        calls.filter(({ hour }) => hour !== undefined),
        'hour',
        (some) => ({ calls: some.length }),
      ),
    ],
    [
      'What did webhooks bring, and what became of it?',
      [
        { business_day: '2026-03-01', deliveries: 3, accepted: 2, rejected: 0 },
        { business_day: '2026-03-02', deliveries: 3, accepted: 0, rejected: 1 },
      ],
    ],
    [
      'What was said in the longest transcript, in its first words?',
      transcribed
        .map(({ id, utterances, dialogue }) => ({
          call_id: id,
          words: countWords(utterances),
          beginning: dialogue.slice(0, 60),
        }))
        .sort((a, b) => b.words - a.words || compare(a.call_id, b.call_id))
        .slice(0, 1),
    ],
    [
      'How many chunks do the transcripts of each language make, for retrieval?',
      group(transcribed, 'lang', (some) => ({
        calls: some.length,
        // None is so long that it is cut.
        chunks: some.length,
        words: sum(some.map(({ utterances }) => countWords(utterances))),
      })),
    ],
  ]);
};

const readCall = (document: CallDocument): Call => {
  const { UDF_num_02: deal = '', ...metadata } = document.metadata as Record<string, string>;
  const time = Date.parse(document.timestamp as string);
  // Paris is an hour ahead of UTC in these days.
  const local = Number.isNaN(time) ? undefined : new Date(time + 3_600_000).toISOString();
  const utterances = utterancesOf(document);
  const agentSide = agentSideOf(document);
  return {
    id: document.unique_id as string,
    day: local?.slice(0, 10),
    hour: local === undefined ? undefined : Number(local.slice(11, 13)),
    status: document.status as string,
    campaign: document.campaign as string,
    agent: metadata.Agent ?? '',
    direction: metadata.Direction ?? '',
    duration: Number(document.duration),
    deal: /^\d+\.?\d*$/.test(deal) ? Number(deal) : undefined,
    lang: (document.transcript_json as { meta?: { lang: string } } | null)?.meta?.lang ?? '',
    tags: (document.tags ?? []) as unknown as readonly Tag[],
    utterances,
    talk: talkOf(utterances, agentSide),
    dialogue: utterances
      .map(({ from, content }) => `${from === agentSide ? 'agent' : 'customer'}: ${content}`)
      .join('\n'),
  };
};

const countDays = (calls: readonly Call[]): readonly Row[] => {
  const days = new Set([
    '2026-03-01',
    '2026-03-02',
    '2026-03-03',
    '2026-03-04',
    ...calls.flatMap(({ day }) => day ?? []),
  ]);
  return [...days].sort().map((day) => ({
    business_day: day,
    calls: calls.filter((call) => call.day === day).length,
  }));
};

const countTags = (calls: readonly Call[]): readonly Row[] => {
  const names = new Set(calls.flatMap(({ tags }) => tags.map((tag) => tag.display_name)));
  const having = (name: string, isTrue: boolean): number =>
    calls.filter(({ tags }) => tags.some((tag) => tag.display_name === name && (!isTrue || tag.value === true))).length;
  return [...names]
    .map((name) => ({ tag_name: name, calls: having(name, false), calls_true: having(name, true) }))
    .sort((a, b) => b.calls - a.calls || compare(a.tag_name, b.tag_name));
};

const countPairs = (calls: readonly Call[]): readonly Row[] => {
  const pairs = calls.flatMap(({ tags }) =>
    tags.flatMap((a) =>
      tags
        .filter((b) => b.display_name > a.display_name)
        .map((b) => ({ tag: a.display_name, other_tag: b.display_name })),
    ),
  );
  return [...groupBy(pairs, (pair) => JSON.stringify(pair))]
    .map(([pair, some]) => ({ ...(JSON.parse(pair) as { tag: string; other_tag: string }), calls: some.length }))
    .sort((a, b) => b.calls - a.calls || compare(a.tag, b.tag) || compare(a.other_tag, b.other_tag))
    .slice(0, 5);
};

/** A row for each value, in their order. */
const group = <K extends 'agent' | 'campaign' | 'direction' | 'hour' | 'lang'>(
  calls: readonly Call[],
  column: K,
  countIn: (some: readonly Call[]) => Row,
): Row[] =>
  [...groupBy(calls, (call) => call[column])]
    .sort(([a], [b]) => compare(a, b))
    .map(([value, some]) => ({ [column]: value, ...countIn(some) }));

const groupBy = <T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> => {
  const groups = new Map<K, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
};

const compare = <T extends string | number | undefined>(a: T, b: T): number => {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (a === b) return 0;
  return String(a) < String(b) ? -1 : 1;
};

const countWords = (utterances: readonly Utterance[]): number => sum(utterances.map(({ words }) => words.length));
const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
const round = (value: number): number => Number(value.toFixed(6));
