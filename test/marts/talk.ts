/** Figures of talk, counted hundredth by hundredth of a second from the document of a call. */
import type { CallDocument } from '../../schemas/call.ts';
import type { Utterance } from './analytics.ts';

export const utterancesOf = (document: CallDocument): readonly Utterance[] =>
  (document.transcript_json as { callData: Utterance[] } | null)?.callData ?? [];

/** By `agent_side` of the settings that the marts are written with. */
export const agentSideOf = (document: CallDocument): 'in' | 'out' =>
  (document.metadata as { Direction: string }).Direction === 'IN' ? 'out' : 'in';

/** Longest gap that is no silence, in hundredths of a second. */
const longestGap = 30;
const bits: Readonly<Record<string, number>> = { in: 1, out: 2 };

/** @param unitsASecond of an utterance's duration */
export const talkOf = (utterances: readonly Utterance[], agentSide: string, unitsASecond: number) => {
  if (utterances.length === 0)
    return {
      ...{ talk_status: 'no transcript', agent_status: 'no transcript', turns: 0, words: 0, speech_seconds: null },
      ...{ longest_silence_seconds: null, agent_talk_share: null },
    };
  const spans = utterances.map(({ from, datetime, duration }) => {
    const start = Math.round(datetime * 100);
    return { side: from, start, end: start + Math.round((duration * 100) / unitsASecond) };
  });
  const first = Math.min(...spans.map(({ start }) => start));
  const last = Math.max(...spans.map(({ end }) => end));
  /** The speaker of each hundredth. */
  const ticks = new Uint8Array(last - first);
  for (const { side, start, end } of spans) {
    for (let tick = start - first; tick < end - first; tick += 1) ticks[tick] = (ticks[tick] ?? 0) | (bits[side] ?? 0);
  }
  const talk = { in: 0, out: 0, both: 0 };
  let [silence, longestSilence, gap] = [0, 0, 0];
  for (const who of ticks) {
    talk.in += who & 1;
    talk.out += who >> 1;
    talk.both += Number(who === 3);
    if (who === 0) gap += 1;
    else {
      if (gap > longestGap) {
        silence += gap;
        longestSilence = Math.max(longestSilence, gap);
      }
      gap = 0;
    }
  }
  /** Utterances of a side that overlap or touch, as one. */
  const intervals: { side: string; start: number; end: number }[] = [];
  for (const span of [...spans].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const latest = intervals.findLast(({ side }) => side === span.side);
    if (latest !== undefined && span.start <= latest.end) latest.end = Math.max(latest.end, span.end);
    else intervals.push({ ...span });
  }
  const interrupting = intervals.filter(({ side, start }) =>
    intervals.some((other) => other.side !== side && other.start < start && start < other.end),
  );
  const turns: { side: string; from: number; to: number }[] = [];
  for (const { side, start, end } of spans.sort((a, b) => a.start - b.start)) {
    const turn = turns.at(-1);
    if (turn?.side === side) turn.to = Math.max(turn.to, end);
    else turns.push({ side, from: start, to: end });
  }
  const words = utterances.reduce((sum, one) => sum + one.words.length, 0);
  const all = talk.in + talk.out;
  const longest = turns.reduce((best, turn) => (turn.to - turn.from > best.to - best.from ? turn : best));
  return {
    talk_status: 'ok',
    agent_status: 'ok',
    turns: turns.length,
    words,
    talk_in_seconds: talk.in / 100,
    talk_out_seconds: talk.out / 100,
    agent_talk_share: (agentSide === 'in' ? talk.in : talk.out) / all,
    speech_seconds: (all - talk.both) / 100,
    interruptions: interrupting.length,
    interruptions_by_agent: interrupting.filter(({ side }) => side === agentSide).length,
    overlap_seconds: talk.both / 100,
    silence_seconds: silence / 100,
    silence_share: silence / (last - first),
    longest_silence_seconds: longestSilence / 100,
    longest_monologue_side: longest.side,
    longest_monologue_seconds: (longest.to - longest.from) / 100,
    words_per_minute: (words / (all / 100)) * 60,
  };
};
