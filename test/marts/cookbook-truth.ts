/** Answers to the questions of the cookbook, counted from the documents of the demo's calls, verdicts and deliveries. */
import type { CallDocument } from '../../schemas/call.ts';
import type { Utterance } from './analytics.ts';
import { changesOf, dayMicros, deliveryShapes, stateTimes, verdictShapes } from './log-rows.ts';
import { agentSideOf, talkOf, utterancesOf } from './talk.ts';
import type { SimulatedCalls } from './two-warehouses.ts';

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

/** By title of the question: every row, and every column. */
export const countAnswers = ({ documents, firstDay }: SimulatedCalls): Map<string, readonly Row[]> => {
  const calls = documents.map(readCall);
  const transcribed = calls.filter(({ utterances }) => utterances.length > 0);
  const days = countDays(calls, firstDay);
  const { provenThrough, heartbeat } = stateTimes(firstDay);
  return new Map<string, readonly Row[]>([
    ['How many calls had each day, and is the day proven?', days],
    [
      'Which days must not be reported yet?',
      days
        .filter(({ completeness }) => completeness !== 'proven')
        .map(({ business_day, proven_share }) => ({ business_day, proven_share })),
    ],
    [
      'Until when is everything proven, without a gap?',
      [{ proven_through: toIso(provenThrough), as_of: toIso(heartbeat) }],
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
      'What part of the talk is the agent’s, by agent?',
      group(transcribed, 'agent', (some) => ({
        agent_talk_share: mean(some.map(({ talk }) => Number(talk.agent_talk_share))),
      }))
        .sort((a, b) => Number(b.agent_talk_share) - Number(a.agent_talk_share))
        .slice(0, 5),
    ],
    [
      'Which calls have the longest monologue?',
      transcribed
        .map(({ id, talk }) => ({
          call_id: id,
          longest_monologue_side: talk.longest_monologue_side,
          longest_monologue_seconds: Number(talk.longest_monologue_seconds),
        }))
        .sort((a, b) => b.longest_monologue_seconds - a.longest_monologue_seconds || compare(a.call_id, b.call_id))
        .slice(0, 5),
    ],
    [
      'In which calls do both sides talk at once for most of the time?',
      transcribed
        .filter(({ talk }) => Number(talk.overlap_seconds) > 0.01)
        .map(({ id, talk }) => ({
          call_id: id,
          overlap_seconds: Number(talk.overlap_seconds),
          overlap_share: round(Number(talk.overlap_seconds) / Number(talk.speech_seconds)),
        }))
        .sort((a, b) => b.overlap_share - a.overlap_share || compare(a.call_id, b.call_id))
        .slice(0, 5),
    ],
    [
      'How many words a minute are spoken, by campaign?',
      group(calls, 'campaign', (some) => {
        const seconds = sum(
          some.map(({ talk }) => Number(talk.talk_in_seconds ?? 0) + Number(talk.talk_out_seconds ?? 0)),
        );
        const words = sum(some.map(({ utterances }) => countWords(utterances)));
        return { words_per_minute: seconds > 0 ? round((words / seconds) * 60) : null };
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
    ['What did webhooks bring, and what became of it?', countDeliveries(firstDay)],
    ['What changed after the first load, by source and field?', countChanges(calls.length)],
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
        chunks: sum(some.map(({ utterances }) => countChunks(utterances))),
        words: sum(some.map(({ utterances }) => countWords(utterances))),
      })),
    ],
  ]);
};

const paris = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Europe/Paris',
  dateStyle: 'short',
  timeStyle: 'medium',
});

/** As `2026-02-03 01:00:00`. */
const inParis = (micros: number): string => paris.format(new Date(micros / 1000));
const toIso = (micros: number): string => new Date(micros / 1000).toISOString();

const readCall = (document: CallDocument): Call => {
  const { UDF_num_02: deal = '', ...metadata } = document.metadata as Record<string, string>;
  const time = Date.parse(document.timestamp as string);
  const local = Number.isNaN(time) ? undefined : inParis(time * 1000);
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
    // Seconds, and any gap is silence.
    talk: talkOf(utterances, agentSide, { duration: 1, gap: 0 }),
    dialogue: utterances
      .map(({ from, content }) => `${from === agentSide ? 'agent' : 'customer'}: ${content}`)
      .join('\n'),
  };
};

/** Every day with calls or verdicts, quarter of an hour by quarter of an hour: proven where the latest verdict says so. */
const countDays = (calls: readonly Call[], firstDay: number): readonly Row[] => {
  const valid = verdictShapes.filter(({ axis = 'timestamp', epoch = 1 }) => axis === 'timestamp' && epoch === 1);
  const quarter = dayMicros / 96;
  const isProven = (at: number): boolean => {
    const days = (at - firstDay) / dayMicros;
    const latest = valid.filter(({ from, to }) => from <= days && days < to).at(-1);
    return ['proven', 'healed'].includes(latest?.outcome ?? '');
  };
  const judged = new Set<string>();
  const quarters = new Map<string, boolean[]>();
  for (let at = firstDay - dayMicros; at < firstDay + 32 * dayMicros; at += quarter) {
    const day = inParis(at).slice(0, 10);
    quarters.set(day, [...(quarters.get(day) ?? []), isProven(at)]);
    if (valid.some(({ from, to }) => firstDay + from * dayMicros <= at && at < firstDay + to * dayMicros))
      judged.add(day);
  }
  return [...new Set([...judged, ...calls.flatMap(({ day }) => day ?? [])])].sort().map((day) => {
    const all = quarters.get(day) ?? [];
    const share = round(all.filter((one) => one).length / all.length);
    return {
      business_day: day,
      calls: calls.filter((call) => call.day === day).length,
      proven_share: share,
      completeness: share === 1 ? 'proven' : share > 0 ? 'partly proven' : 'not proven',
    };
  });
};

const countDeliveries = (firstDay: number): readonly Row[] =>
  [...groupBy(deliveryShapes, ({ receivedAfter }) => inParis(firstDay + receivedAfter).slice(0, 10))].map(
    ([day, some]) => ({
      business_day: day,
      deliveries: some.length,
      accepted: some.filter(({ outcome }) => outcome === 'accepted').length,
      rejected: some.filter(({ outcome }) => outcome === 'rejected').length,
    }),
  );

const countChanges = (calls: number): readonly Row[] => {
  const logged = Array.from({ length: calls }, (_, index) => changesOf(index)).flat();
  const later = logged.filter(({ revision }) => revision > 1);
  return [...groupBy(later, ({ source, field }) => `${source} ${field}`).values()]
    .map((some) => ({ source: some[0]?.source, field: some[0]?.field, changes: some.length, calls: some.length }))
    .sort((a, b) => b.changes - a.changes || compare(`${a.source} ${a.field}`, `${b.source} ${b.field}`));
};

/** A chunk ends with the utterance in which it comes to another 200 words of its transcript. */
const countChunks = (utterances: readonly Utterance[]): number => {
  const begun = new Set<number>();
  let before = 0;
  for (const { words } of utterances) {
    begun.add(Math.floor(before / 200));
    before += words.length;
  }
  return begun.size;
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
const mean = (numbers: readonly number[]): number => round(sum(numbers) / numbers.length);
const round = (value: number): number => Number(value.toFixed(6));
