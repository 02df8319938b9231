/**
 * The planned calls: typed arrays hold their times, and seed and index give the rest. Index order is the order of
 * call times.
 */
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { dayMs } from '../../lib/timestamps.ts';
import { fraction, hash32, pick, randomStream } from './random.ts';
import { otherStatuses } from './vocabulary.ts';

const hourMs = 3_600_000;

const salts = { time: 1, delay: 2, late: 3, lateBy: 4, status: 5, duration: 7 } as const;

export const around = (mean: number, random: number): number => Math.max(0, Math.round(mean * (0.75 + random * 0.5)));

/** Seconds of a word with the pause behind it, and between two utterances, on average. */
const [wordSeconds, pauseSeconds] = [0.42, 0.5];

/**
 * Length of a call in seconds, known before its content: processing cannot end before the call does. Speech takes most
 * of the length; without speech, the length is up to 20 minutes.
 */
export const durationSecondsOf = ({ seed, calls }: SimulatorSettings, index: number): number => {
  const share = fraction(seed, index, salts.duration);
  const utterances = around(calls.utterances, transcriptShares(seed, index).count);
  const speech = utterances * (calls.words * wordSeconds + pauseSeconds);
  return utterances === 0 ? 30 + Math.floor(share ** 2 * 1_200) : 31 + Math.floor(speech * (1.2 + 0.4 * share));
};

/** The stream of random numbers of a transcript, and its first two. */
export const transcriptShares = (seed: number, index: number) => {
  const random = randomStream(hash32(seed, index, 200));
  return { scored: random(), count: random(), random };
};

export const statusOf = (settings: SimulatorSettings, index: number): string => {
  const { voidShare, otherShare } = settings.calls;
  const at = fraction(settings.seed, index, salts.status);
  if (at < voidShare) return 'void';
  return at < voidShare + otherShare ? pick(otherStatuses, (at - voidShare) / otherShare) : 'qualified';
};

/** Weight of an hour: office hours of weekdays carry most calls. */
const hourWeight = (atMs: number): number => {
  const date = new Date(atMs);
  const weekend = date.getUTCDay() === 0 || date.getUTCDay() === 6;
  const hour = date.getUTCHours();
  return (hour >= 8 && hour < 18 ? 1 : hour >= 6 && hour < 21 ? 0.3 : 0.03) * (weekend ? 0.2 : 1);
};

/** Maps a non-decreasing series of positions in [0, 1) to instants of the range, following the density. */
const placer = (from: number, to: number, density: 'office' | 'even'): ((position: number) => number) => {
  if (density === 'even') return (position) => from + position * (to - from);
  const slots = Math.max(1, Math.ceil((to - from) / hourMs));
  const weights = Array.from({ length: slots }, (_, i) => {
    const start = from + i * hourMs;
    return (hourWeight(start) * Math.min(hourMs, to - start)) / hourMs;
  });
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let slot = 0;
  let before = 0;
  return (position) => {
    const target = position * total;
    while (slot < slots - 1 && before + (weights[slot] ?? 0) <= target) before += weights[slot++] ?? 0;
    const inside = (target - before) / (weights[slot] ?? 1);
    return Math.min(to - 1, from + slot * hourMs + inside * hourMs);
  };
};

/** The range of call times in milliseconds, `[from, to)`. */
export const rangeOf = (settings: SimulatorSettings, nowMs: number): { readonly from: number; readonly to: number } => {
  const to = settings.calls.to === undefined ? Math.floor(nowMs / 60_000) * 60_000 : Date.parse(settings.calls.to);
  const from = settings.calls.from === undefined ? to - 30 * dayMs : Date.parse(settings.calls.from);
  return { from, to: Math.max(to, from + 1_000) };
};

/**
 * `timestamps` = milliseconds since the epoch, by index.
 * `byQualified` = indices in the order of (qualified, index).
 */
export const planPopulation = (settings: SimulatorSettings, nowMs: number) => {
  const { count, density, precision, processingSeconds, lateShare, lateMaxDays } = settings.calls;
  const { seed } = settings;
  const { from, to } = rangeOf(settings, nowMs);
  const unit = precision === 'seconds' ? 1_000 : 1;
  const place = placer(from, to, density);
  const timestamps = new Float64Array(count);
  const qualified = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const at = Math.floor(place((i + fraction(seed, i, salts.time)) / count) / unit) * unit;
    timestamps[i] = Math.max(at, from);
    const typical = -Math.log2(1 - fraction(seed, i, salts.delay)) * processingSeconds * 1_000;
    const late = fraction(seed, i, salts.late) < lateShare ? fraction(seed, i, salts.lateBy) * lateMaxDays * dayMs : 0;
    const end = at + durationSecondsOf(settings, i) * 1_000 + typical + late;
    qualified[i] = Math.floor(end / unit) * unit;
  }
  const byQualified = Uint32Array.from({ length: count }, (_, i) => i);
  byQualified.sort((a, b) => (qualified[a] as number) - (qualified[b] as number) || a - b);
  return { count, timestamps, qualified, byQualified };
};
