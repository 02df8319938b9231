import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { RejectedDelivery } from '../../src/store/delivery/inbox-writer.ts';
import { createRejections } from '../../src/webhook/server/rejections.ts';
import { until } from '../support/until.ts';

const common = { hookId: null, agent: null, receivedAt: new Date(), reason: 'signature_wrong' };
const rejected = (n: number) => ({ ...common, arrivalId: randomUUID(), deliveryId: String(n) });

test('records few of many, counts the rest in one row, and starts anew with the next minute', async () => {
  const rows: RejectedDelivery[] = [];
  let unrecorded = 0;
  const rejections = createRejections({
    perMinute: 3,
    minuteMs: 600,
    record: async (more) => {
      rows.push(...more);
    },
    onUnrecorded: (count) => {
      unrecorded += count;
    },
  });
  for (let n = 0; n < 1_000; n += 1) rejections.note(rejected(n));
  await until('the minute is over', () => rows.length === 4);
  const rest = '997 more rejected deliveries, without a row each';
  expect(rows.map((row) => row.deliveryId ?? row.reason)).toEqual(['0', '1', '2', rest]);
  expect(unrecorded).toBe(997);
  rejections.note(rejected(1_000));
  await rejections.close();
  expect(rows.at(-1)?.deliveryId).toBe('1000');
  expect(new Set(rows.map((row) => row.arrivalId)).size).toBe(rows.length);
});
