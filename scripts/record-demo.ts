/** Records `callsync demo --break` from a real terminal (`script` of util-linux) into docs/pictures/demo-break.svg. Takes 2 minutes. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { drawRecording, readRecording } from './terminal-picture.ts';

const root = resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'demo-'));
// As root, PostgreSQL runs under another account.
chmodSync(folder, 0o755);
const size = { columns: 100, rows: 34 };
const demo = `${process.execPath} ${join(root, 'dist/src/cli/main.js')} demo --exit --data-dir ${folder}`;
const inTerminal = `stty rows ${size.rows} cols ${size.columns}; exec ${demo} --break`;
const [out, timing] = [join(folder, 'out'), join(folder, 'timing')];
const runs = [
  ['sh', '-c', demo],
  ['script', '-q', '-e', '-c', inTerminal, '--log-out', out, '--log-timing', timing],
] as const;
for (const [program, ...args] of runs) {
  const { status } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`${program} ended with ${status}`);
}
const chunks = readRecording(readFileSync(out), readFileSync(timing, 'utf8'));
const picture = drawRecording(chunks, 'npm run demo -- --break --exit', size);
writeFileSync(join(root, 'docs/pictures/demo-break.svg'), picture);
rmSync(folder, { recursive: true });
