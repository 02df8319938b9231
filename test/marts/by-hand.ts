/** Figures of marts, counted from calls by loops over them, without SQL. */
import { analytics, type Utterance } from './analytics.ts';
import { dayMicros, verdictShapes } from './log-rows.ts';
import { talkOf } from './talk.ts';

export type Exported = Readonly<Record<'calls' | 'tags' | 'utterances', readonly Readonly<Record<string, unknown>>[]>>;

const zoned = new Intl.DateTimeFormat('sv-SE', {
  timeZone: analytics.time_zone,
  dateStyle: 'short',
  timeStyle: 'medium',
});
/** Day and time of the marts. */
const tellTime = (at: Date | number): string[] => zoned.format(at).split(' ');
export const dayOf = (at: Date | number): string => tellTime(at)[0] ?? '';
const dayMs = dayMicros / 1000;
export const mondayOf = (day: string): string => {
  const ms = Date.parse(day);
  return new Date(ms - ((new Date(ms).getUTCDay() + 6) % 7) * dayMs).toISOString().slice(0, 10);
};
export const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / dayMs;

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);
const mean = (figures: readonly (number | null | undefined)[]): number | null => {
  const known = figures.filter((one) => one != null);
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0) / known.length;
};

type Verdict = { readonly from: number; readonly to: number; readonly outcome: string; readonly level?: string };
/** Part of a day that is proven, quarter of an hour by quarter of an hour, by the latest verdict. @param verdicts in days from the first one */
export const provenShareOf = (
  day: string,
  firstMs: number,
  verdicts: readonly Verdict[],
  isMeant = (_: Verdict) => true,
): number => {
  const around = Array.from({ length: 96 * 10 }, (_, quarter) => firstMs + (quarter - 192) * 900_000);
  const quarters = around.filter((at) => dayOf(at) === day);
  const proven = quarters.filter((at) => {
    const days = (at - firstMs) / dayMs;
    const latest = verdicts.findLast(({ from, to }) => from <= days && days < to);
    return latest !== undefined && ['proven', 'healed'].includes(latest.outcome) && isMeant(latest);
  });
  return proven.length / quarters.length;
};

export const groupsOf = <T>(items: readonly T[], keyOf: (item: T) => unknown): readonly [T, ...T[]][] => {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const key = JSON.stringify(keyOf(item));
    groups.set(key, [...(groups.get(key) ?? []), item] as [T, ...T[]]);
  }
  return [...groups.values()];
};

type Fact = { status: unknown; seconds: number | null; side: string; talk: ReturnType<typeof talkOf> };
/** The figures of some calls, of which those with a transcript were measured. */
const figuresOf = (some: readonly Fact[]) => {
  const talks = some.map(({ talk, side }) => {
    const { speech_seconds: speech, overlap_seconds: overlap } = talk;
    const agent = speech == null ? null : side === 'in' ? talk.talk_in_seconds : talk.talk_out_seconds;
    return { ...talk, agent, overlapShare: speech == null ? null : (overlap ?? 0) / speech };
  });
  const spoken = talks.filter(({ talk_status }) => talk_status === 'ok');
  return {
    ...{ calls: some.length, calls_with_talk: spoken.length },
    qualified_calls: some.filter(({ status }) => status === 'qualified').length,
    mean_duration_seconds: mean(some.map(({ seconds }) => seconds)),
    talk_status: spoken.length > 0 ? 'ok' : 'no transcript',
    agent_talk_seconds: spoken.length > 0 ? sum(spoken.map(({ agent }) => agent ?? 0)) : null,
    mean_agent_talk_share: mean(talks.map((talk) => talk.agent_talk_share)),
    mean_silence_share: mean(talks.map((talk) => talk.silence_share)),
    mean_overlap_share: mean(talks.map((talk) => talk.overlapShare)),
    mean_interruptions: mean(talks.map((talk) => talk.interruptions)),
  };
};

/** The figures of each week, campaign and agent. */
export const weeksOf = (facts: readonly (Fact & { day: string | null; campaign: unknown; agent: unknown })[]) =>
  groupsOf(facts, ({ day, campaign, agent }) => [day && mondayOf(day), campaign, agent]).map((some) => {
    const [{ day, campaign, agent }] = some;
    return { week: day && mondayOf(day), campaign, agent, ...figuresOf(some) };
  });

/** Each call of a known caller with the one before it, and whether there is one within so many days before and after. */
export const repeatsOf = <T extends { call_id: string; caller: unknown; at: number; day: string }>(
  calls: readonly T[],
  within: number,
) =>
  calls
    .filter(({ caller }) => caller != null && caller !== '')
    .map((call, _, known) => {
      const own = known.filter(({ caller, call_id }) => caller === call.caller && call_id !== call.call_id);
      const isNear = (one: T) => Math.abs(daysBetween(call.day, one.day)) <= within;
      const earlier = own.filter(({ at }) => at < call.at).toSorted((a, b) => a.at - b.at);
      return {
        ...{ call, previous: earlier.at(-1), is_repeat: earlier.some(isNear) },
        is_called_again: own.some((one) => one.at > call.at && isNear(one)),
      };
    });

/** By mart: the columns that are counted here. */
export const countByHand = ({ calls, tags, utterances }: Exported, firstDay: number) => {
  const facts = calls.map((call) => {
    const [day = null, time = ''] = call.call_timestamp == null ? [] : tellTime(call.call_timestamp as Date);
    const spoken = utterances
      .filter(({ call_id }) => call_id === call.call_id)
      .map(({ side, start_offset, duration, word_count }) => ({
        ...{ from: side, datetime: start_offset, duration, words: Array(Number(word_count)) },
      }));
    const side = call.direction === 'IN' ? 'out' : 'in';
    return {
      ...{ call_id: call.call_id as string, day, hour: day === null ? null : Number(time.slice(0, 2)) },
      ...{ caller: call.in_data, at: Number(call.call_timestamp), campaign: call.campaign, agent: call.agent },
      ...{ status: call.status, seconds: call.duration as number | null, side },
      talk: talkOf(spoken as unknown as Utterance[], side, 1000),
    };
  });
  const dated = facts.flatMap((one) => (one.day === null ? [] : [{ ...one, day: one.day, week: mondayOf(one.day) }]));
  const days = [0, 1, 2, 3, 4, 5, 6, 7].map((n) =>
    new Date(firstDay / 1000 + (n - 1) * dayMs).toISOString().slice(0, 10),
  );
  const counted = verdictShapes.filter(({ axis, epoch }) => axis === undefined && epoch === undefined);
  const shares = new Map(days.map((day) => [day, provenShareOf(day, firstDay / 1000, counted)]));
  const sharesOf = (isMeant: (day: string) => boolean): number =>
    sum(days.filter(isMeant).map((day) => shares.get(day) ?? 0));
  const within = analytics.repeat_days;
  return {
    repeat_calls: repeatsOf(dated, within).map(({ call: { call_id, day }, is_repeat, is_called_again }) => ({
      ...{ call_id, is_repeat, is_called_again },
      proven_share: sharesOf((one) => one >= day && daysBetween(day, one) <= within) / (within + 1),
    })),
    talk_weekly: weeksOf(facts).map((one) => ({
      ...{ ...one, proven_share: sharesOf((day) => mondayOf(day) === one.week) / 7 },
    })),
    tag_weekly: groupsOf(
      dated.flatMap((call) =>
        tags
          .filter(({ call_id }) => call_id === call.call_id)
          .map(({ tag_id, display_name, value_bool }) => ({ ...call, tag_id, tag_name: display_name, value_bool })),
      ),
      ({ week, tag_id, tag_name }) => [week, tag_id, tag_name],
    ).map((some) => {
      const [{ week, tag_id, tag_name }] = some;
      const having = new Set(some.flatMap(({ call_id, value_bool }) => (value_bool === false ? [] : [call_id]))).size;
      const all = dated.filter((one) => one.week === week).length;
      return {
        ...{ week, tag_id, tag_name, calls: having, all_calls: all, tag_share: having / all },
        proven_share: sharesOf((day) => mondayOf(day) === week) / 7,
      };
    }),
    hour_daily: groupsOf(facts, ({ day, hour }) => [day, hour]).map((some) => {
      const [{ day, hour }] = some;
      return {
        ...{ business_day: day, business_hour: hour, ...figuresOf(some) },
        proven_share: day === null ? 0 : (shares.get(day) ?? 0),
      };
    }),
  };
};
