import { expect, test } from 'vitest';
import { restoreUnderLoad } from './restore-cases.ts';

// Short version of test/campaigns/restore.test.ts: PostgreSQL alone, one worker.
test('a restored ledger and a lost warehouse are whole again, under a worker and live webhooks', async () => {
  const figures = await restoreUnderLoad({ incidents: ['ledger', 'warehouses lost'], seed: 1, isSmall: true });
  expect(figures.erased).toBeGreaterThan(0);
  expect(figures.auditRows).toBeGreaterThan(0);
  expect(figures.epochs).toBeGreaterThan(1);
});
