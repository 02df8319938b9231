/**
 * A backfill by preset `activate` at its documented limits, through Temporal and three worker processes. Meanwhile
 * calls join ranges that are read already, change, or were processed days after their time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Installation, useInstallation } from '../support/installation.ts';
import { settledRange } from '../support/settled-range.ts';

const offsets = { style: 'offset', offset: 'offset', size: 'limit' } as const;
const none = { lost: 0, duplicated: 0, stale: 0, mismatched: 0 };

export interface ActivateCase {
  readonly calls: number;
  /** In which 40 requests are allowed; 10 as documented. */
  readonly seconds: number;
  /** Records a page; the documented most is 200. */
  readonly pageSize: number;
  /** Greatest offset; 10,000 as documented. */
  readonly maxOffset: number;
  /** Calls that a window should hold: more than one query can give. */
  readonly targetCalls: number;
  /** Share of the calls that is then read again on the axis of the call's own time, where calls join past windows. */
  readonly again: number;
  /** Least share of the allowed requests that must be used; undefined where the machine's speed must not decide. */
  readonly leastShare?: number;
}

const optionsOf = ({ calls, seconds, pageSize, maxOffset, targetCalls }: ActivateCase) => ({
  simulator: {
    seed: 17,
    calls: {
      // Some of them are processed days after their time.
      ...{ ...settledRange, lateShare: 0.1, lateMaxDays: 5 },
      ...{ count: calls, utterances: 1, words: 2, tags: 1, otherShare: 0 },
    },
    dialectOverrides: { paging: { ...offsets, defaultSize: 50, maxSize: 200, maxOffset } },
    rateLimit: { requests: 40, seconds },
  },
  source: {
    limits: { requests: 40, per_s: seconds },
    list: { preset: 'activate', max_results: maxOffset, pagination: { style: 'offset', size: pageSize } },
  },
  config: { sync: { settle: '1s', window: { initial: '31d', target_calls: targetCalls } } },
});

/**
 * Until `work` has ended, five calls a second join anywhere in the past, and one changes every 20 seconds. A changed
 * call leaves its window on the axis of the end of processing, so that one that is being paged is read again.
 */
const disturb = async (site: Installation, work: Promise<unknown>): Promise<void> => {
  let going = true;
  const end = work.catch(() => undefined).then(() => (going = false));
  const { from, to } = site.simulator.range;
  for (let turn = 0; going; turn += 1) {
    for (let n = 0; n < 5; n += 1) {
      const share = ((turn * 5 + n) * 0.618) % 1;
      const timestamp = new Date(Date.parse(from) + share * (Date.parse(to) - Date.parse(from))).toISOString();
      await site.control.insert({ timestamp, status: 'qualified' });
    }
    if (turn % 20 === 10) await site.control.edit({ random: 1, seed: turn, requalify: true });
    await Promise.race([delay(1_000), end]);
  }
};

const readRange = async (site: Installation, name: string, axis: string, times: { from: number; to: number }) => {
  const range = { from: times.from * 1000, to: times.to * 1000 };
  return (await site.backfill(name, { axis, range, concurrency: 6, force: true })).result;
};

export const describeActivateBackfill = (label: string, options: ActivateCase): void => {
  describe(`preset activate at its documented limits, ${label}`, () => {
    const site = useInstallation(() => optionsOf(options));
    // The gate before the service would make requests travel for unequal times.
    beforeAll(() => site.reconfigure(({ source }) => Object.assign(source, { base_url: site.simulator.url })));
    test('is read completely by three workers, which use what requests they are allowed and no more', async () => {
      const from = Date.parse(site.simulator.range.from);
      await Promise.all([site.startWorker(), site.startWorker(), site.startWorker()]);
      const begunAt = Date.now();
      const backfill = readRange(site, 'everything', 'qualified', { from, to: begunAt });
      await disturb(site, backfill);
      const { totals } = await backfill;
      const { rate, requests } = await site.control.stats();
      const seconds = ((requests.lastAt ?? 0) - (requests.firstAt ?? 0)) / 1000;
      // The first 40 may come at once.
      const share = rate.granted / (40 * (1 + seconds / options.seconds));
      // Calls that joined or changed since it began lie behind its end, as continuous sync would read them. A backfill
      // ends before the service's present by the settling time, and Date headers name whole seconds.
      await delay(4_000);
      await readRange(site, 'since', 'qualified', { from: begunAt - 60_000, to: Date.now() });
      const truth = await site.checkTruth();
      expect(truth).toMatchObject(none);
      expect(truth.calls).toBeGreaterThan(options.calls);
      expect(totals.problems).toBe(0);
      expect(rate.windowMax).toBeLessThanOrEqual(40);
      expect(rate.refusedShare).toBeLessThanOrEqual(options.leastShare === undefined ? 0.2 : 0.01);
      expect(share).toBeGreaterThanOrEqual(options.leastShare ?? 0);
    }, 1_800_000);

    const title = 'is read completely on the axis on which calls join and leave windows that are being paged';
    test.skipIf(options.again === 0)(title, { timeout: 1_800_000 }, async () => {
      const to = Date.parse(site.simulator.range.to);
      const from = to - (to - Date.parse(site.simulator.range.from)) * options.again;
      await site.control.configure({ churn: { everyPages: 2, limit: 60 } });
      const { totals } = await readRange(site, 'again', 'timestamp', { from, to });
      const { churn } = await site.control.stats();
      expect(churn.joined).toBeGreaterThan(20);
      expect(totals.problems).toBe(0);
      expect(await site.checkTruth()).toMatchObject(none);
    });
  });
};
