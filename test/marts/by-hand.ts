/** Figures of marts, counted from the rows of a Parquet export by loops over calls, without SQL. */
import { analytics, type Utterance } from './analytics.ts';
import { dayMicros, verdictShapes } from './log-rows.ts';
import { talkOf } from './talk.ts';

export type Exported = Readonly<Record<'calls' | 'tags' | 'utterances', readonly Readonly<Record<string, unknown>>[]>>;

const zoned = new Intl.DateTimeFormat('sv-SE', {
  timeZone: analytics.time_zone,
  dateStyle: 'short',
  timeStyle: 'medium',
});
const dayMs = dayMicros / 1000;
const mondayOf = (day: string): string => {
  const ms = Date.parse(day);
  return new Date(ms - ((new Date(ms).getUTCDay() + 6) % 7) * dayMs).toISOString().slice(0, 10);
};
const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / dayMs;

const mean = (figures: readonly (number | null | undefined)[]): number | null => {
  const known = figures.filter((one) => one != null);
  return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0) / known.length;
};

/** Hour by hour, by the latest verdict of the axis and the ledger that count. @param firstDay in microseconds */
const provenShareOf = (day: string, firstDay: number): number => {
  const firstMs = firstDay / 1000;
  const hours = Array.from({ length: 24 * 8 }, (_, hour) => firstMs + (hour - 48) * 3_600_000);
  const ofDay = hours.filter((at) => zoned.format(at).startsWith(day));
  const isProven = (at: number): boolean => {
    const days = (at - firstMs) / dayMs;
    const counted = verdictShapes.filter(({ axis, epoch }) => axis === undefined && epoch === undefined);
    return ['proven', 'healed'].includes(counted.findLast(({ from, to }) => from <= days && days < to)?.outcome ?? '');
  };
  return ofDay.filter(isProven).length / ofDay.length;
};

const groupsOf = <T>(items: readonly T[], keyOf: (item: T) => readonly unknown[]) => {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const key = JSON.stringify(keyOf(item));
    groups.set(key, [...(groups.get(key) ?? []), item] as [T, ...T[]]);
  }
  return [...groups.values()];
};

/** By mart: the columns that are counted here. */
export const countByHand = ({ calls, tags, utterances }: Exported, firstDay: number) => {
  const facts = calls.map((call) => {
    const [day = null, time = ''] =
      call.call_timestamp == null ? [] : zoned.format(call.call_timestamp as Date).split(' ');
    const spoken = utterances
      .filter(({ call_id }) => call_id === call.call_id)
      .map(({ side, start_offset, duration, word_count }) => ({
        ...{ from: side, datetime: start_offset, duration, words: Array(Number(word_count)) },
      }));
    const side = call.direction === 'IN' ? 'out' : 'in';
    const talk = talkOf(spoken as unknown as Utterance[], side, 1000);
    const { speech_seconds: speech, overlap_seconds: overlap } = talk;
    return {
      ...{ id: call.call_id as string, day, hour: day === null ? null : Number(time.slice(0, 2)) },
      ...{ caller: call.in_data, at: Number(call.call_timestamp), campaign: call.campaign, agent: call.agent },
      ...{ status: call.status, seconds: call.duration as number | null, talk },
      agentSeconds: speech == null ? null : side === 'in' ? talk.talk_in_seconds : talk.talk_out_seconds,
      overlapShare: speech == null ? null : (overlap ?? 0) / speech,
    };
  });
  const dated = facts.flatMap((one) => (one.day === null ? [] : [{ ...one, day: one.day, week: mondayOf(one.day) }]));
  const days = [0, 1, 2, 3, 4, 5, 6, 7].map((n) =>
    new Date(firstDay / 1000 + (n - 1) * dayMs).toISOString().slice(0, 10),
  );
  const shares = new Map(days.map((day) => [day, provenShareOf(day, firstDay)]));
  const sharesOf = (isMeant: (day: string) => boolean): number =>
    days.filter(isMeant).reduce((sum, day) => sum + (shares.get(day) ?? 0), 0);
  const within = analytics.repeat_days;
  const sumOf = (figures: readonly (number | null | undefined)[]): number | null => {
    const known = figures.flatMap((one) => one ?? []);
    return known.length === 0 ? null : known.reduce((sum, one) => sum + one, 0);
  };
  const figuresOf = (some: typeof facts) => {
    const spoken = some.filter(({ talk }) => talk.talk_status === 'ok');
    return {
      ...{ calls: some.length, calls_with_talk: spoken.length },
      qualified_calls: some.filter(({ status }) => status === 'qualified').length,
      mean_duration_seconds: mean(some.map(({ seconds }) => seconds)),
      talk_status: spoken.length > 0 ? 'ok' : 'no transcript',
      agent_talk_seconds: sumOf(some.map(({ agentSeconds }) => agentSeconds)),
      mean_agent_talk_share: mean(some.map(({ talk }) => talk.agent_talk_share)),
      mean_silence_share: mean(some.map(({ talk }) => talk.silence_share)),
      mean_overlap_share: mean(some.map(({ overlapShare }) => overlapShare)),
      mean_interruptions: mean(some.map(({ talk }) => talk.interruptions)),
    };
  };
  return {
    repeat_calls: dated
      .filter(({ caller }) => caller != null && caller !== '')
      .map(({ id, caller, at, day }, _, all) => {
        const others = all.filter((one) => one.caller === caller && one.id !== id);
        return {
          call_id: id,
          is_repeat: others.some((one) => one.at < at && daysBetween(one.day, day) <= within),
          is_called_again: others.some((one) => one.at > at && daysBetween(day, one.day) <= within),
          proven_share: sharesOf((one) => one >= day && daysBetween(day, one) <= within) / (within + 1),
        };
      }),
    talk_weekly: groupsOf(facts, ({ day, campaign, agent }) => [day && mondayOf(day), campaign, agent]).map((some) => {
      const [{ day, campaign, agent }] = some;
      const week = day && mondayOf(day);
      const proven_share = sharesOf((one) => mondayOf(one) === week) / 7;
      return { week, campaign, agent, ...figuresOf(some), proven_share };
    }),
    tag_weekly: groupsOf(
      dated.flatMap((call) =>
        tags
          .filter(({ call_id }) => call_id === call.id)
          .map(({ tag_id, display_name, value_bool }) => ({ ...call, tag_id, tag_name: display_name, value_bool })),
      ),
      ({ week, tag_id, tag_name }) => [week, tag_id, tag_name],
    ).map((some) => {
      const [{ week, tag_id, tag_name }] = some;
      const having = new Set(some.flatMap(({ id, value_bool }) => (value_bool === false ? [] : [id]))).size;
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
