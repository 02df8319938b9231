/** What a day of continuous sync will bill: with changed calls in every commit, and with changed calls gathered. */
import { expect, test } from 'vitest';
import { bigqueryWarehouseSchema } from '../../../schemas/config/warehouses.ts';
import { createLocalDaySizes, estimateBilledBytes } from '../../../src/warehouse/bigquery/billing.ts';
import { callTablesOf } from '../../../src/warehouse/bigquery/ddl.ts';
import { createQuota, limitsOf } from '../../../src/warehouse/bigquery/quota.ts';

const dayMs = 86_400_000;
const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'p' });
const bytesPerCall = 250_000;
const shared = { tables: callTablesOf(config).length, hasTombstones: false, hasMoves: false, logs: 1 };

interface Day {
  readonly newCalls: number;
  readonly changedCalls: number;
}

/** Calls come evenly; half of the changed ones are of today, the others of yesterday, which holds a whole day of calls. */
const billOf = async ({ newCalls, changedCalls }: Day, changesIntervalMs: number) => {
  const clock = { now: 0 };
  const quota = createQuota({ ...limitsOf(config), changesIntervalMs }, () => clock.now);
  const sizes = createLocalDaySizes();
  await sizes.add(new Map([['yesterday', newCalls * bytesPerCall]]));
  const waiting = { new: 0, changed: 0 };
  const sent = { new: 0, changed: 0 };
  const due = (of: number) => Math.floor((clock.now / dayMs) * of);
  let commits = 0;
  let bytes = 0;
  for (clock.now = 60_000; clock.now <= dayMs; clock.now += await quota.waitMs('interval')) {
    waiting.new = due(newCalls) - sent.new;
    waiting.changed = due(changedCalls) - sent.changed;
    const changes = waiting.changed > 0 && (await quota.waitMs('changes')) === 0 ? waiting.changed : 0;
    const touched =
      changes === 0
        ? []
        : [
            changes > 1 || sent.changed % 2 === 0 ? 'today' : '',
            changes > 1 || sent.changed % 2 === 1 ? 'yesterday' : '',
          ];
    const replacedBytes = [...(await sizes.read(touched)).values()].reduce((sum, size) => sum + size, 0);
    const stagedBytes = (waiting.new + changes) * bytesPerCall;
    const billedBytes = estimateBilledBytes({ ...shared, stagedBytes, hasCalls: stagedBytes > 0, replacedBytes });
    await quota.spend(1, { billedBytes, hasChanges: changes > 0 });
    await sizes.add(new Map([['today', waiting.new * bytesPerCall]]));
    sent.new += waiting.new;
    sent.changed += changes;
    commits += 1;
    bytes += billedBytes;
  }
  return { commits, changed: sent.changed, bytes, status: (await quota.status()).billedBytesPerDay };
};

test('gathering changed calls bills a fraction of what each commit would', async () => {
  const day = { newCalls: 20_000, changedCalls: 2_000 };
  const before = await billOf(day, 0);
  const after = await billOf(day, limitsOf(config).changesIntervalMs);
  const none = await billOf({ ...day, changedCalls: 0 }, 0);
  const gb = ({ bytes, commits }: typeof before) => `${(bytes / 1e9).toFixed(0)} GB in ${commits} commits`;
  console.log(
    `A day of 20,000 new and 2,000 changed calls of 250 KB, estimated: ${gb(before)} with changes in every commit, ${gb(after)} with changes gathered for 10 minutes, ${gb(none)} without changes.`,
  );
  expect(after.changed).toBeGreaterThan(1_950);
  expect(after.commits).toBeGreaterThan(1_300);
  expect(after.bytes).toBeLessThan(before.bytes / 4);
  expect(after.status).toBeGreaterThan(after.bytes * 0.9);
  expect(after.status).toBeLessThan(after.bytes * 1.1);
});

test('the least for each table that a statement names, whole days only where rows may be replaced', () => {
  const commit = { ...shared, stagedBytes: 1_000, hasCalls: true, replacedBytes: 0 };
  const small = estimateBilledBytes(commit);
  expect(small % 10_000_000).toBe(0);
  expect(small).toBeLessThan(300_000_000);
  expect(estimateBilledBytes({ ...commit, replacedBytes: 5e9 }) - small).toBeGreaterThan(5e9);
  expect(estimateBilledBytes({ ...commit, hasCalls: false, logs: 0 })).toBeLessThan(small);
});
