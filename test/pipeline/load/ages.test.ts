/** Retention by age, every fourteen days of a year; `npm run campaign -- persons retention` has every day, and BigQuery. */
import { Readable } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { createAges } from '../../../src/calls/age.ts';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { importFile } from '../../../src/pipeline/import/import-file.ts';
import { applyAges } from '../../../src/pipeline/load/apply-ages.ts';
import { observationOf, openPipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';
import { keepForAYear } from './ages-cases.ts';

test('after a year nothing is older than its class allows, and everything younger is there', async () => {
  const pipeline = await openPipeline({ documents: true });
  onTestFinished(() => pipeline.close());
  const drain = async () => void (await pipeline.drain());
  const { expected, ledger, warehouses, oldBodies, left } = await keepForAYear(pipeline, [pipeline.target], {
    step: 14,
    callsPerDay: 2,
    drain,
  });
  expect(ledger).toEqual(expected);
  expect(warehouses).toEqual({ main: expected });
  expect({ oldBodies, left }).toEqual({ oldBodies: 0, left: 0 });
});

test('a call that is too old and was never seen is not kept, whichever way it comes', async () => {
  const pipeline = await openPipeline({ documents: true });
  onTestFinished(() => pipeline.close());
  const now = Date.UTC(2025, 0, 1);
  const ages = createAges({ calls: 30 * 86_400_000 }, () => now);
  const deps: IngestDeps = { ...pipeline.deps, ages, sanitize: ages.age };
  // Calls that were old enough by then have been checked: nothing later checks them again.
  await applyAges(deps, ages, { dryRun: false });
  const old = { timestamp: new Date(now - 31 * 86_400_000).toISOString(), status: 'qualified' };
  const young = { timestamp: new Date(now - 29 * 86_400_000).toISOString(), status: 'qualified' };
  const records = (way: string) => [
    { unique_id: `${way}-old`, ...old },
    { unique_id: `${way}-young`, ...young },
  ];
  const observations = records('backfill').map(({ unique_id, ...fields }) =>
    observationOf(unique_id, now * 1_000, fields),
  );
  await pipeline.observe(observations, deps);
  await pipeline.send(records('webhook'), deps);
  const lines = records('import').map((record) => `${JSON.stringify(record)}\n`);
  await importFile(deps, {
    from: { name: 'old.ndjson', bytes: Readable.from(lines.map((line) => Buffer.from(line))) },
  });
  await pipeline.drain();

  const ways = ['backfill', 'webhook', 'import'];
  const young3 = ways.map((way) => `${way}-young`).sort();
  expect(await pipeline.listKept([...young3, ...ways.map((way) => `${way}-old`)])).toEqual(young3);
  for (const table of ['calls', 'documents'])
    expect(await column(pipeline.warehouse, `SELECT call_id FROM ${table} ORDER BY 1`)).toEqual(young3);
  expect(await column(pipeline.store, 'SELECT call_id FROM ledger_documents ORDER BY 1')).toEqual(young3);
  const bodies = "SELECT convert_from(body, 'UTF8') LIKE '%webhook-old%' FROM inbox WHERE body IS NOT NULL";
  expect(await column(pipeline.store, bodies)).toEqual([false]);
});
