/** Figures of talk, counted hundredth by hundredth of a second from the document of a call. */
import type { CallDocument } from '../../schemas/call.ts';
import type { Utterance } from './analytics.ts';

export const utterancesOf = (document: CallDocument): readonly Utterance[] =>
  (document.transcript_json as { callData: Utterance[] } | null)?.callData ?? [];

/** By `agent_side` of the settings that the marts are written with. */
export const agentSideOf = (document: CallDocument): 'in' | 'out' =>
  (document.metadata as { Direction: string }).Direction === 'IN' ? 'out' : 'in';

export const talkOf = (utterances: readonly Utterance[], agentSide: string) => {
  if (utterances.length === 0)
    return { talk_status: 'no transcript', turns: 0, words: 0, speech_seconds: null, agent_talk_share: null };
  const ticks = new Map<number, Set<string>>();
  const talk = { in: 0, out: 0 } as Record<string, number>;
  let [first, last] = [Number.POSITIVE_INFINITY, 0];
  for (const { from, datetime, duration } of utterances) {
    const [start, end] = [Math.round(datetime * 100), Math.round(datetime * 100) + Math.round(duration / 10)];
    [first, last] = [Math.min(first, start), Math.max(last, end)];
    for (let tick = start; tick < end; tick += 1) ticks.set(tick, (ticks.get(tick) ?? new Set()).add(from));
  }
  let [overlap, silence, gap] = [0, 0, 0];
  for (let tick = first; tick <= last; tick += 1) {
    const sides = ticks.get(tick) ?? new Set();
    for (const side of sides) talk[side] = (talk[side] ?? 0) + 1;
    if (sides.size > 1) overlap += 1;
    if (sides.size === 0 && tick < last) gap += 1;
    else {
      if (gap > 30) silence += gap;
      gap = 0;
    }
  }
  const turns: { side: string; from: number; to: number }[] = [];
  for (const { from: side, datetime, duration } of [...utterances].sort((a, b) => a.datetime - b.datetime)) {
    const end = datetime + duration / 1000;
    const turn = turns.at(-1);
    if (turn?.side === side) turn.to = Math.max(turn.to, end);
    else turns.push({ side, from: datetime, to: end });
  }
  const words = utterances.reduce((sum, one) => sum + one.words.length, 0);
  const all = (talk.in ?? 0) + (talk.out ?? 0);
  return {
    talk_status: 'ok',
    agent_status: 'ok',
    turns: turns.length,
    words,
    talk_in_seconds: (talk.in ?? 0) / 100,
    talk_out_seconds: (talk.out ?? 0) / 100,
    agent_talk_share: (talk[agentSide] ?? 0) / all,
    speech_seconds: ticks.size / 100,
    overlap_seconds: overlap / 100,
    silence_seconds: silence / 100,
    silence_share: silence / (last - first),
    longest_monologue_seconds: Math.max(...turns.map(({ from, to }) => to - from)),
    words_per_minute: (words / (all / 100)) * 60,
  };
};
