/** Erasures under load and restores, in seconds; `npm run campaign -- persons erasure` has a thousand persons and BigQuery. */
import { expect, test } from 'vitest';
import { usePipeline } from '../../support/pipeline.ts';
import { eraseUnderRestores, openPostgresTarget } from './erasure-cases.ts';

const pipeline = usePipeline({ documents: true }, { keep: true });

test('nothing of erased persons is found after late events, restores and a lost ledger; receipts verify', async () => {
  const size = { erased: 8, others: 4, events: 120 };
  const { erasedCalls, verified } = await eraseUnderRestores(pipeline, [await openPostgresTarget(pipeline)], size);
  expect(erasedCalls).toBe(24);
  expect(verified).toEqual(verified.map(() => 2));
});
