/** Google's SQL analyzer, where this machine has it: no BigQuery runs here that would refuse what the real one refuses. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const analyzer = process.env.CALLSYNC_GSQLCHECK ?? join(homedir(), '.cache/callsync/gsqlcheck/gsqlcheck');

export const hasAnalyzer = existsSync(analyzer);
if (!hasAnalyzer)
  console.warn(`The SQL is not analyzed: no GoogleSQL analyzer at ${analyzer}. Set CALLSYNC_GSQLCHECK to one.`);

/** Statements in their order, each seeing what those before it have created. @returns a line for each that is refused */
export const analyze = async (statements: readonly string[]) => {
  const folder = await mkdtemp(join(tmpdir(), 'callsync-sql-'));
  try {
    const file = join(folder, 'all.sql');
    // The analyzer takes each parameter of a file once.
    const known = new Set<string>();
    const text = statements.map((sql) => `${sql.trim().replace(/;$/, '')};`).join('\n\n');
    const once = (line: string) => (known.has(line) ? '' : known.add(line) && line);
    await writeFile(file, text.replace(/^-- @param .*$/gm, once));
    const running = promisify(execFile)(analyzer, [file], { maxBuffer: 64_000_000 });
    const { stdout, stderr } = await running.catch((error: { stdout: string; stderr: string }) => error);
    const [, checked, failed] = /(\d+) checked, (\d+) failed/.exec(stdout) ?? [];
    const failures = stdout.split('\n').filter((line) => line.startsWith('FAIL'));
    if (failures.length !== Number(failed)) throw new Error(`The analyzer said: ${(stdout + stderr).slice(-2_000)}`);
    return { checked: Number(checked), failures };
  } finally {
    await rm(folder, { recursive: true });
  }
};
