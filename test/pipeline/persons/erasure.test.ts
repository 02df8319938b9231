/** Erasures under load and restores, in seconds; `npm run campaign -- persons erasure` has a thousand persons and BigQuery. */
import { expect, onTestFinished, test } from 'vitest';
import { openPipeline } from '../../support/pipeline.ts';
import { eraseUnderRestores, openPostgresTarget } from './erasure-cases.ts';

test('nothing of erased persons is found after late events, restores and a lost ledger, and receipts verify', async () => {
  const pipeline = await openPipeline({ documents: true });
  onTestFinished(() => pipeline.close());
  const figures = await eraseUnderRestores(pipeline, [await openPostgresTarget(pipeline)], {
    erased: 8,
    others: 4,
    events: 120,
  });
  expect(figures.examples).toEqual([]);
  expect(figures.erasedCalls).toBe(24);
  for (const [expected, ...kept] of Object.values(figures.kept)) expect(kept).toEqual(kept.map(() => expected));
  for (const receipts of Object.values(figures.receipts)) expect(receipts).toEqual({ verified: 2, broken: 0, cut: 0 });
});
