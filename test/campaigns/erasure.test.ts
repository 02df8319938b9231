/**
 * A thousand persons are erased while ten thousand late, repeated and replayed events arrive; then ledger and both warehouses
 * are restored to before, and the ledger is lost. About 20 minutes; CALLSYNC_PEOPLE=100 for less.
 */
import { expect, test } from 'vitest';
import { openBigqueryTarget } from '../pipeline/erase/bigquery-target.ts';
import { eraseUnderRestores, openPostgresTarget } from '../pipeline/erase/erasure-cases.ts';
import { openPipeline, register } from '../support/pipeline.ts';

test('nothing of erased persons is found anywhere, and receipts verify', async () => {
  const people = Number(process.env.CALLSYNC_PEOPLE ?? 1_000);
  const pipeline = await openPipeline({ documents: true });
  try {
    const bigquery = await openBigqueryTarget();
    await register(pipeline.store, 'bigquery');
    const figures = await eraseUnderRestores(pipeline, [await openPostgresTarget(pipeline), bigquery], {
      erased: people,
      others: Math.ceil(people / 5),
      events: people * 10,
    });
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect(figures.examples).toEqual([]);
    for (const [expected, ...kept] of Object.values(figures.kept)) expect(kept).toEqual(kept.map(() => expected));
    for (const { broken, cut } of Object.values(figures.receipts))
      expect({ broken, cut }).toEqual({ broken: 0, cut: 0 });
  } finally {
    await pipeline.close();
  }
});
