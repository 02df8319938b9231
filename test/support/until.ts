import { setTimeout as sleep } from 'node:timers/promises';

/** Whether a work ends well. */
export const succeeds = (work: Promise<unknown>): Promise<boolean> => work.then(() => true).catch(() => false);

/** Asks until the answer is true. @throws after `deadlineMs`, many times what it takes, with what was waited for */
export const until = async (what: string, condition: () => boolean | Promise<boolean>, deadlineMs = 300_000) => {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const asked = performance.now();
    if (await condition()) return;
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    // A question that costs much is asked less often.
    await sleep(50 + 3 * (performance.now() - asked));
  }
};
