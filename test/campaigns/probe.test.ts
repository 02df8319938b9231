/** Probes lists of each style of paging 20 times while 10 calls a second come to their beginning. About 5 minutes. */
import { expect, test } from 'vitest';
import { liveCases, probeLive } from '../source/probe-live-cases.ts';

const runs = 20;

test.each(Object.entries(liveCases))('%s is recognised in every run', async (name, { pagination }) => {
  let right = 0;
  for (let seed = 1; seed <= runs; seed++) {
    const report = await probeLive(name, seed);
    const agrees = Object.entries(pagination).every(
      ([key, value]) => (report.list.pagination as Record<string, unknown> | undefined)?.[key] === value,
    );
    const contradicts = report.findings.some(({ key }) => key === 'contradiction');
    if (agrees && report.complete && !contradicts && report.list.axes.length > 0) right++;
  }
  console.log(`probe of ${name}: right in ${right} of ${runs} runs`);
  expect(right).toBe(runs);
});
