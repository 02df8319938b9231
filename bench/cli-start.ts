/**
 * Start of the command: `callsync --version` and `callsync --help` beside `node -e 0`, medians of alternating runs.
 * About 15 seconds.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '15' }, json: { type: 'boolean', default: false } },
});
const main = join(import.meta.dirname, '../src/cli/main.js');
const contenders: Readonly<Record<string, readonly string[]>> = {
  'node -e 0': ['-e', '0'],
  'callsync --version': [main, '--version'],
  'callsync --help': [main, '--help'],
};

const times = Object.fromEntries(Object.keys(contenders).map((name): [string, number[]] => [name, []]));
for (let run = 0; run < Number(values.runs); run += 1) {
  for (const [name, args] of Object.entries(contenders)) {
    const started = performance.now();
    const { status } = spawnSync(process.execPath, args);
    if (status !== 0) throw new Error(`${name} ended with ${status}.`);
    times[name]?.push(performance.now() - started);
  }
}

const medianOf = (all: readonly number[] = []): number =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
const bare = medianOf(times['node -e 0']);
const figures = Object.entries(times).map(([name, all]) => ({
  name,
  ms: Math.round(medianOf(all)),
  ratio: Number((medianOf(all) / bare).toFixed(2)),
}));
if (values.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
else for (const { name, ms, ratio } of figures) process.stdout.write(`${name.padEnd(20)} ${ms} ms  ${ratio} x\n`);
