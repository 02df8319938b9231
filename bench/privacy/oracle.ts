/**
 * Sentences of libraries that know nothing of the detectors (`oracle.py`), and how the detectors fare on them. The
 * libraries are installed once, into the cache.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { detect } from '../../src/privacy/detect.ts';
import type { Finding } from '../../src/privacy/finding.ts';

const run = promisify(execFile);
const libraries = ['num2words==0.5.14', 'text2num==3.1.0', 'schwifty==2026.10.1'];
const home = join(homedir(), '.cache/callsync', `privacy-oracle-${libraries.join('-').replaceAll('==', '-')}`);
const sources = resolve(
  import.meta.dirname,
  import.meta.dirname.includes('/dist/') ? '../../..' : '../..',
  'bench/privacy',
);

/** Path of a Python that has the libraries. */
const installLibraries = async (): Promise<string> => {
  const python = join(home, 'bin/python');
  if (existsSync(join(home, 'ready'))) return python;
  console.warn(`Installing ${libraries.join(', ')} into ${home}, once, in about 20 s …`);
  await mkdir(join(home, '..'), { recursive: true });
  await run('python3', ['-m', 'venv', home]);
  await run(join(home, 'bin/pip'), ['install', '--quiet', ...libraries], { timeout: 300_000 });
  await writeFile(join(home, 'ready'), '');
  return python;
};

type Language = 'fr' | 'GB' | 'US';

export interface Sentence {
  readonly lang: Language;
  /** Kind of the value, or `harmless: SORT`. */
  readonly kind: string;
  readonly form: string;
  readonly said: readonly (readonly [speaker: string, text: string])[];
  readonly spans: readonly (readonly [utterance: number, start: number, end: number])[];
  /** The value as somebody writes it. */
  readonly value: string;
}

/** @param file sentences of another author, in the same form. */
export const makeSentences = async (seed: number, count: number, file?: string): Promise<readonly Sentence[]> => {
  const read = (text: string) =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Sentence);
  if (file !== undefined) return read(readFileSync(file, 'utf8'));
  const python = await installLibraries();
  const args = [join(sources, 'oracle.py'), String(seed), String(count)];
  return read((await run(python, args, { maxBuffer: 1e9 })).stdout);
};

const countriesOf = { fr: ['FR'], GB: ['GB'], US: ['US'] } as const;
const detectorOf = (kind: string): string => kind.replace('card_wrong', 'card');

interface Score {
  values: number;
  /** Every letter and digit of the value is covered, by whichever detectors. */
  whole: number;
  /** By detectors of its kind. */
  named: number;
  touched: number;
  findings: number;
  right: number;
}

const newScore = (): Score => ({ values: 0, whole: 0, named: 0, touched: 0, findings: 0, right: 0 });

const coverage = ({ said, spans }: Sentence, findings: readonly Finding[]) => {
  const places = findings.flatMap((finding) => finding.spans);
  let [total, covered] = [0, 0];
  for (const [utterance, start, end] of spans) {
    const text = said[utterance]?.[1] ?? '';
    for (let at = start; at < end; at += 1) {
      if (!/[\p{L}\p{N}]/u.test(text.charAt(at))) continue;
      total += 1;
      if (places.some((span) => span.utterance === utterance && span.start <= at && at < span.end)) covered += 1;
    }
  }
  return { isWhole: covered === total, isTouched: covered > 0 };
};

const overlaps = (finding: Finding, { spans }: Sentence): boolean =>
  finding.spans.some((own) =>
    spans.some(([utterance, start, end]) => own.utterance === utterance && own.start < end && start < own.end),
  );

/** @param tell of a sentence whose value was not found whole, or that has a wrong finding. */
export const scoreSentences = (
  sentences: readonly Sentence[],
  tell: (what: string, sentence: Sentence, findings: readonly Finding[]) => void,
) => {
  const kinds = new Map<string, Score>();
  const harmless = new Map<string, { sentences: number; hit: number }>();
  let unread = 0;
  const scoreOf = (key: string): Score => kinds.get(key) ?? (kinds.set(key, newScore()).get(key) as Score);
  for (const sentence of sentences) {
    const { lang, kind, form } = sentence;
    const findings: readonly Finding[] = detect(
      sentence.said.map(([speaker, text]) => ({ speaker, text })),
      { isOn: () => true, countries: [...countriesOf[lang]], patterns: [] },
    );
    if (kind.startsWith('harmless')) {
      const keys = [`${lang} all`, `${lang} ${form}`, `${lang} ${kind.slice('harmless: '.length)}`];
      for (const key of keys) {
        const entry = harmless.get(key) ?? { sentences: 0, hit: 0 };
        harmless.set(key, { sentences: entry.sentences + 1, hit: entry.hit + Number(findings.length > 0) });
      }
      if (findings.some(({ detector }) => detector === 'unread')) unread += 1;
      if (findings.length > 0) tell('harmless', sentence, findings);
      continue;
    }
    const score = scoreOf(`${lang} ${kind}`);
    score.values += 1;
    const own = detectorOf(kind);
    const { isWhole, isTouched } = coverage(sentence, findings);
    const isNamed = coverage(
      sentence,
      findings.filter(({ detector }) => detector === own),
    ).isWhole;
    score.whole += Number(isWhole);
    score.touched += Number(isTouched);
    score.named += Number(isNamed);
    if (!isWhole) tell('missed', sentence, findings);
    else if (!isNamed) tell('otherwise', sentence, findings);
    for (const finding of findings) {
      const its = scoreOf(`${lang} ${finding.detector}`);
      its.findings += 1;
      if (finding.detector === own && overlaps(finding, sentence)) its.right += 1;
      else tell('wrong', sentence, findings);
    }
  }
  return { kinds, harmless, unread };
};
