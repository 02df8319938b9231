/** Backfills on real parts: killed workers, repeated ranges, and what Temporal's histories hold. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { measureHistories } from '../../bench/load/measure-history.ts';
import { digestTables } from '../support/digest-tables.ts';
import { endProcess, type Installation, install, until } from '../support/installation.ts';
import { settledRange } from '../support/settled-range.ts';

const none = { lost: 0, duplicated: 0, stale: 0, mismatched: 0 };

describe('a backfill', () => {
  let site: Installation;
  beforeAll(async () => {
    site = await install({
      simulator: { seed: 3, calls: { count: 300, utterances: 4, ...settledRange }, rateLimit: { requests: 0 } },
      source: { limits: { requests: 400, per_s: 1 } },
      config: { sync: { window: { target_calls: 20 } } },
    });
  });
  afterAll(() => site?.dispose());

  test('finishes with the truth intact although its worker is killed in the middle, and again changes nothing', async () => {
    const first = await site.startWorker();
    site.gate.shut();
    const { result, workflowId } = await site.backfill('killed');
    site.gate.grant(10);
    await until('some calls are read', async () => {
      // The planner of the windows asks the service too. The number of its requests before the first reading depends on
      // timing.
      site.gate.grant(1);
      return (await countCalls(site)) > 30;
    });
    await endProcess(first, 'SIGKILL');
    const atKill = await countCalls(site);
    site.gate.open();
    await site.startWorker();
    const progress = await result;
    expect(progress.totals.problems).toBe(0);
    expect(atKill).toBeLessThan(await countCalls(site));
    expect(await site.checkTruth()).toMatchObject(none);

    const before = await digestTables(site.warehouse);
    const again = await (await site.backfill('again', { force: true })).result;
    expect(again.totals.changed).toBe(0);
    expect(again.totals.calls).toBeGreaterThan(250);
    expect(await digestTables(site.warehouse)).toEqual(before);

    const skipped = await (await site.backfill('skipped')).result;
    expect(skipped.totals.calls).toBe(0);

    await expectNoPayload(site, workflowId);
  });
});

const countCalls = async (site: Installation): Promise<number> => {
  const { rows } = await site.store.pool.query('SELECT count(*) AS n FROM ledger WHERE revision > 0');
  return rows[0].n as number;
};

/** No transcript text and no phone number may stand in any history, in clear or inside a payload. */
const expectNoPayload = async (site: Installation, workflowId: string): Promise<void> => {
  const { rows } = await site.store.pool.query<{ content: string }>(
    'SELECT content FROM calls.utterances WHERE length(content) > 20 LIMIT 50',
  );
  const phones = await site.store.pool.query<{ data: string }>(
    'SELECT data FROM calls.contacts WHERE phone IS NOT NULL LIMIT 50',
  );
  const needles = [...rows.map((row) => row.content), ...phones.rows.map((row) => row.data)];
  expect(needles.length).toBeGreaterThan(20);
  let histories = await measureHistories(site.client, site.prefix);
  await until('visibility lists the backfill', async () => {
    histories = await measureHistories(site.client, site.prefix);
    return histories.some((one) => one.workflowId === workflowId);
  });
  for (const { encoded } of histories) {
    for (const needle of needles) expect(encoded.includes(needle)).toBe(false);
  }
  // The check can fail: what does stand in a history is found.
  expect(histories.some(({ encoded }) => encoded.includes('readRangePart'))).toBe(true);
};
