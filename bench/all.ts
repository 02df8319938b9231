/**
 * Runs the benches that have a limit beside them, three rounds each, and writes the ratios to one file. With
 * `--baseline FILE`, it lists the ratios that are worse than in that file by more than the noise of the rounds. It then
 * ends with exit code 1. About 50 minutes.
 * Options: --baseline FILE, --json FILE, --rounds N, --only NAME (may be repeated).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { median } from './webhook/processes.ts';

const { values: flags } = parseArgs({
  options: {
    baseline: { type: 'string' },
    json: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', multiple: true },
  },
});

type Better = 'lower' | 'higher';
interface Bench {
  /** Of one round; its result is JSON on standard output, or in the file that `--json` names. */
  readonly args: readonly string[];
  readonly writesFile: boolean;
  readonly ratios: Readonly<Record<string, Better>>;
}

const benches: Readonly<Record<string, Bench>> = {
  load: {
    args: ['--runs', '1', '--json'],
    writesFile: false,
    ratios: { ratio_first_to_limit_a: 'lower', ratio_again_to_limit_a: 'lower', ratio_database_to_limit_a: 'lower' },
  },
  bigquery: { args: ['--runs', '1', '--json'], writesFile: false, ratios: { ratio: 'higher' } },
  webhook: { args: ['--rounds', '1', '--json'], writesFile: true, ratios: { ratio_to_bare: 'higher' } },
  'receiver-privacy': {
    args: ['--rounds', '1', '--no-visible', '--json'],
    writesFile: true,
    ratios: { fields_ratio: 'higher', pseudonymous_ratio: 'higher' },
  },
  receiver: { args: ['--rounds', '1', '--json'], writesFile: true, ratios: { megabytes_peak: 'lower' } },
  'go-live': {
    args: ['--json'],
    writesFile: true,
    ratios: { limit_share: 'higher', ratio_requests: 'lower', first_proven_seconds: 'lower' },
  },
  cookbook: {
    args: ['--json'],
    writesFile: true,
    ratios: { ratio_calls: 'lower', ratio_tags: 'lower', ratio_words: 'lower', ratio_search: 'lower' },
  },
  install: { args: ['--no-demo', '--json'], writesFile: true, ratios: { megabytes: 'lower' } },
};

interface Measured {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}
type Ratios = Record<string, Measured>;

const runOnce = async (name: string, { args, writesFile }: Bench, folder: string): Promise<Record<string, number>> => {
  const file = join(folder, `${name}.json`);
  const program = join(import.meta.dirname, `${name}.js`);
  const child = spawn(process.execPath, [program, ...args, ...(writesFile ? [file] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const printed = await text(child.stdout);
  const [code] = await ended;
  if (code !== 0) throw new Error(`bench ${name} ended with exit code ${code}`);
  return JSON.parse(writesFile ? await readFile(file, 'utf8') : printed) as Record<string, number>;
};

const measure = async (folder: string): Promise<Ratios> => {
  const found: Ratios = {};
  for (const [name, bench] of Object.entries(benches)) {
    if (flags.only !== undefined && !flags.only.includes(name)) continue;
    const rounds: Record<string, number>[] = [];
    for (let round = 0; round < Number(flags.rounds); round += 1) rounds.push(await runOnce(name, bench, folder));
    for (const ratio of Object.keys(bench.ratios)) {
      const values = rounds.map((round) => round[ratio] ?? Number.NaN);
      found[`${name}.${ratio}`] = { median: median(values), least: Math.min(...values), most: Math.max(...values) };
    }
  }
  return found;
};

/** By how much a ratio is worse than before, beyond the wider spread of both; not positive where it is not. */
const worseBy = (now: Measured, before: Measured, better: Better): number => {
  const noise = Math.max(now.most - now.least, before.most - before.least);
  return (better === 'lower' ? now.median - before.median : before.median - now.median) - noise;
};

const folder = await mkdtemp(join(tmpdir(), 'callsync-bench-all-'));
try {
  const ratios = await measure(folder);
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(ratios, null, 2)}\n`);
  const before = flags.baseline === undefined ? {} : (JSON.parse(await readFile(flags.baseline, 'utf8')) as Ratios);
  for (const [key, now] of Object.entries(ratios)) {
    const [name = '', ratio = ''] = key.split('.');
    const was = before[key];
    const better = benches[name]?.ratios[ratio] ?? 'lower';
    const isWorse = was !== undefined && worseBy(now, was, better) > 0;
    if (isWorse) process.exitCode = 1;
    const then = was === undefined ? '' : `, before ${was.median} (${was.least}-${was.most})`;
    console.log(
      `${isWorse ? 'WORSE ' : ''}${key} ${now.median} (${now.least}-${now.most}), ${better} is better${then}`,
    );
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
