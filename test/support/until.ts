import { setTimeout as sleep } from 'node:timers/promises';

/** Asks until the answer is true. @throws after `deadlineMs`, many times what it takes, with what was waited for */
export const until = async (what: string, condition: () => boolean | Promise<boolean>, deadlineMs = 300_000) => {
  const end = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await sleep(50);
  }
};
