/** Clocks that differ between worker and service, and business days of 23, 25 and 24.5 hours under any zone of the process. */
import { expect, onTestFinished, test } from 'vitest';
import { installForTest } from '../support/installation.ts';
import { recordCase } from '../support/neighbour-results.ts';
import { connect } from '../support/postgres.ts';
import { installDebian } from '../support/tools.ts';
import { until } from '../support/until.ts';

const faketime = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
const liveMs = 20_000;
const lateMs = 300_000;

const nights = [
  ['Europe/Paris', '2026-10-25'],
  ['Europe/Paris', '2026-03-29'],
  ['America/New_York', '2026-11-01'],
  ['Australia/Lord_Howe', '2026-04-05'],
] as const;
const dayMs = 86_400_000;

export const describeClocks = (): void => {
  test.each(['-1h', '-10m', '+10m', '+1h'])('a worker whose clock is off by %s loses no live call', async (offset) => {
    recordCase('libfaketime', 'of Debian 12');
    await installDebian({ faketime });
    const site = await installForTest({
      simulator: { seed: 7, calls: { count: 100, utterances: 2 }, live: { callsPerSecond: 3 } },
      config: { sync: { start_from: new Date(Date.now() - 40 * dayMs).toISOString(), interval: '2s', settle: '2s' } },
    });
    await site.startWorker(['--schedules'], { ...process.env, LD_PRELOAD: faketime, FAKETIME: offset });
    const begun = performance.now();
    await until('calls were live for a while', () => performance.now() - begun > liveMs);
    await site.control.configure({ live: { callsPerSecond: 0 } });
    // Tables are read one after the other, while rows still come.
    const settled = async () => {
      let truth = await site.checkTruth();
      await until('nothing is wrong', async () => {
        truth = await site.checkTruth();
        return truth.lost + truth.stale + truth.mismatched === 0;
      });
      return truth;
    };
    await settled();
    // Late, but within sync.lookback. A worker that goes by its own clock has taken an earlier reading for the last one.
    const [timestamp, qualified] = [lateMs + 60_000, lateMs].map((ms) => new Date(Date.now() - ms).toISOString());
    await site.control.insert({ timestamp, qualified, status: 'qualified' });
    const truth = await settled();
    expect(truth).toMatchObject({ lost: 0, stale: 0, duplicated: 0, mismatched: 0 });
    expect(truth.calls).toBeGreaterThan(130);
  });

  test.each(nights)(
    '%s on %s: each call is on its business day, whatever the zone of the process',
    async (zone, night) => {
      recordCase('nights when clocks change', process.versions.tz ?? '');
      const at = Date.parse(`${night}T00:00:00Z`);
      const [from, to] = [at - dayMs, at + 2 * dayMs].map((ms) => new Date(ms).toISOString());
      const site = await installForTest({
        simulator: { seed: 9, calls: { from, to, count: 400, density: 'even', utterances: 2 } },
        config: { analytics: { time_zone: zone } },
      });
      // Neither that of the business day nor that of the server.
      await site.startWorker([], { ...process.env, TZ: 'Pacific/Kiritimati' });
      await (await site.backfill('all')).result;
      expect(await site.checkTruth()).toMatchObject({ lost: 0, stale: 0, duplicated: 0, mismatched: 0 });
      const dayIn = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' });
      const expected = new Map<string, number>();
      const client = await connect(site.databaseUrl);
      onTestFinished(() => client.end());
      const { rows } = await client.query<{ call_timestamp: Date }>('SELECT call_timestamp FROM calls.calls');
      for (const { call_timestamp } of rows) {
        const day = dayIn.format(call_timestamp);
        expected.set(day, (expected.get(day) ?? 0) + 1);
      }
      const marts = await client.query(
        'SELECT business_day::text AS day, count(*)::int AS calls FROM calls_marts.calls_wide GROUP BY 1',
      );
      expect(new Map(marts.rows.map(({ day, calls }) => [day, calls]))).toEqual(expected);
      expect(expected.size).toBeGreaterThanOrEqual(3);
    },
  );
};
