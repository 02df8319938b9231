/** Results of cases with other software, kept for the table of docs/reference/compatibility.md. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { root } from './repository.ts';

const file = join(root, 'test/neighbours/results.json');

/**
 * At the end of this test, its result stands beside this version, if `npm run campaign -- NAME --write` runs. A case of
 * another version begins the part anew.
 */
export const recordCase = (part: string, version: string): void =>
  onTestFinished(({ task }) => {
    if (process.env.CALLSYNC_WRITE === undefined) return;
    // By part, then by the command that has its cases.
    const results = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    const command = /(\w[\w-]*)\.test\.ts$/.exec(task.file.name)?.[1] ?? '';
    const former = results[part]?.[command];
    const formerCases = former?.version === version ? former.cases : {};
    const cases = { ...formerCases, [task.name]: task.result?.state ?? 'unknown' };
    const result = { version, date: new Date().toISOString().slice(0, 10), cases };
    const all = { ...results, [part]: { ...results[part], [command]: result } };
    const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => a.localeCompare(b, 'en')));
    writeFileSync(file, `${JSON.stringify(sorted, null, 2)}\n`);
  });
