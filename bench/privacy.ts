/**
 * Recall and precision of the detectors, per kind, over phrasings that they were tuned on and phrasings that they were not.
 * About 10 seconds. `--misses` prints what was missed or wrongly found; the values are invented.
 *
 * A value is found when every letter and digit of it is covered by findings of its kind; a finding is right when it overlaps a
 * value of its kind. Every phrasing is said with many values, and there is as much talk without values.
 */
import { performance } from 'node:perf_hooks';
import { detect } from '../src/privacy/detect.ts';
import type { Finding } from '../src/privacy/finding.ts';
import { heldOut, type Phrasings, second, third, tuning } from './privacy/phrasings.ts';
import { makeValue, type Random } from './privacy/values.ts';

interface Said {
  readonly speaker: string;
  readonly text: string;
}
interface Planted {
  readonly kind: string;
  readonly parts: { utterance: number; start: number; end: number }[];
}

const rounds = Number(process.argv.find((arg) => /^\d+$/.test(arg)) ?? 60);
const showMisses = process.argv.includes('--misses');
const isTuningOnly = process.argv.includes('--tuning');

const createRandom = (seed: number): Random => {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
};

const slot = /\{([a-z-]+) ([a-z-]+)(?: (\d+)-(\d+))?\}/g;

const sayPhrasing = (phrasing: string, random: Random): { said: Said[]; planted: Planted[] } => {
  const values = new Map<string, ReturnType<NonNullable<(typeof makeValue)[string]>>>();
  const planted = new Map<string, Planted>();
  const said = phrasing.split('\n').map((line, utterance) => {
    const speaker = line.startsWith('> ') ? 'in' : 'out';
    const source = line.replace(/^> /, '');
    let text = '';
    let last = 0;
    for (const match of source.matchAll(slot)) {
      const [whole, kind = '', style = '', from, to] = match;
      const value = values.get(kind) ?? (makeValue[kind] as NonNullable<(typeof makeValue)[string]>)(random);
      values.set(kind, value);
      text += source.slice(last, match.index);
      const form = value(style, from === undefined ? undefined : [Number(from), Number(to)]);
      const entry = planted.get(kind) ?? { kind: kind.replace(/-gb$/, ''), parts: [] };
      planted.set(kind, entry);
      entry.parts.push({ utterance, start: text.length, end: text.length + form.length });
      text += form;
      last = match.index + whole.length;
    }
    return { speaker, text: text + source.slice(last) };
  });
  return { said, planted: [...planted.values()] };
};

const overlaps = (finding: Finding, { parts }: Planted): boolean =>
  finding.spans.some((span) =>
    parts.some((part) => part.utterance === span.utterance && span.start < part.end && part.start < span.end),
  );

const isCovered = ({ parts, kind }: Planted, said: readonly Said[], findings: readonly Finding[]): boolean => {
  const spans = findings.filter(({ detector }) => detector === kind).flatMap((finding) => finding.spans);
  return parts.every(({ utterance, start, end }) => {
    const text = said[utterance]?.text ?? '';
    for (let at = start; at < end; at += 1) {
      if (!/[\p{L}\p{N}]/u.test(text[at] ?? '')) continue;
      if (!spans.some((span) => span.utterance === utterance && span.start <= at && at < span.end)) return false;
    }
    return true;
  });
};

interface Score {
  values: number;
  found: number;
  findings: number;
  right: number;
}

const measure = (set: Phrasings, seed: number): Map<string, Score> => {
  const random = createRandom(seed);
  const scores = new Map<string, Score>();
  const missed = new Set<string>();
  const scoreOf = (kind: string): Score => {
    const score = scores.get(kind) ?? { values: 0, found: 0, findings: 0, right: 0 };
    scores.set(kind, score);
    return score;
  };
  for (const [kind, phrasings] of Object.entries(set)) {
    for (const phrasing of phrasings) {
      for (let round = 0; round < rounds; round += 1) {
        const { said, planted } = sayPhrasing(phrasing, random);
        const findings = detect(said, { isOn: () => true, countries: ['FR', 'GB'], patterns: [] });
        const tell = (what: string): void => {
          if (!missed.has(phrasing) && showMisses)
            console.log(
              what,
              JSON.stringify(said.map(({ text }) => text)),
              JSON.stringify(findings.map(({ detector, value }) => [detector, value])),
            );
          missed.add(phrasing);
        };
        for (const value of planted) {
          const score = scoreOf(value.kind);
          score.values += 1;
          if (isCovered(value, said, findings)) score.found += 1;
          else tell(`missed ${kind}`);
        }
        for (const finding of findings) {
          const score = scoreOf(finding.detector);
          score.findings += 1;
          if (planted.some((value) => value.kind === finding.detector && overlaps(finding, value))) score.right += 1;
          else tell(`wrong ${finding.detector}`);
        }
      }
    }
  }
  return scores;
};

let isEnough = true;
for (const [name, set] of [
  ['tuning', tuning] as const,
  ['second', second] as const,
  ['third', third] as const,
  ...(isTuningOnly ? [] : [['held out', heldOut] as const]),
]) {
  const startedAt = performance.now();
  const scores = measure(set, 20_250_101);
  console.log(`${name} (${Math.round(performance.now() - startedAt)} ms)`);
  for (const [kind, { values, found, findings, right }] of [...scores].sort()) {
    const recall = found / values;
    const precision = findings === 0 ? 1 : right / findings;
    isEnough &&= recall >= 0.98 && precision >= 0.95;
    console.log(
      `  ${kind.padEnd(6)} values ${String(values).padStart(4)}  recall ${recall.toFixed(4)}  findings ${String(findings).padStart(4)}  precision ${precision.toFixed(4)}`,
    );
  }
}
console.log(
  isEnough
    ? 'Recall at least 0.98 and precision at least 0.95 for every kind.'
    : 'Below recall 0.98 or precision 0.95.',
);
process.exitCode = isEnough ? 0 : 1;
