/** Retention by age, every fourteen days of a year; `npm run campaign -- persons retention` has every day, and BigQuery. */
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { createAges } from '../../../src/calls/age.ts';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { importFile } from '../../../src/pipeline/import/import-file.ts';
import { applyAges } from '../../../src/pipeline/load/apply-ages.ts';
import { ingest, loadFolded } from '../../../src/pipeline/load/ingest.ts';
import { mergeInbox } from '../../../src/pipeline/load/merge-inbox.ts';
import { readRows } from '../../../src/store/ledger/ledger.ts';
import { deliver, observationOf, openPipeline } from '../../support/pipeline.ts';
import { keepForAYear } from './ages-cases.ts';

test('after a year nothing is older than its class allows, and everything younger is there', async () => {
  const pipeline = await openPipeline({ documents: true });
  try {
    const drain = async () => void (await pipeline.drain());
    const { expected, ledger, warehouses, oldBodies, left } = await keepForAYear(pipeline, [pipeline.target], {
      step: 14,
      callsPerDay: 2,
      drain,
    });
    expect(ledger).toEqual(expected);
    expect(warehouses).toEqual({ main: expected });
    expect({ oldBodies, left }).toEqual({ oldBodies: 0, left: 0 });
  } finally {
    await pipeline.close();
  }
});

test('a call that is too old and was never seen is not kept, whichever way it comes', async () => {
  const pipeline = await openPipeline({ documents: true });
  try {
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
    await loadFolded(deps, await ingest(deps, { observations, origin: 'backfill' }));
    await deliver(
      pipeline.store,
      records('webhook').map((record) => ({ body: JSON.stringify(record), deliveryId: record.unique_id })),
    );
    for (let more = true; more; ) ({ more } = await mergeInbox(deps));
    const lines = records('import').map((record) => `${JSON.stringify(record)}\n`);
    await importFile(deps, {
      from: { name: 'old.ndjson', bytes: Readable.from(lines.map((line) => Buffer.from(line))) },
    });
    await pipeline.drain();

    const ways = ['backfill', 'webhook', 'import'];
    const young3 = ways.map((way) => `${way}-young`).sort();
    const rows = await readRows(pipeline.store, [...young3, ...ways.map((way) => `${way}-old`)]);
    const kept = [...rows.values()].filter(({ tombstone }) => !tombstone).map(({ callId }) => callId);
    expect(kept.sort()).toEqual(young3);
    for (const table of ['calls', 'documents']) {
      const found = await pipeline.warehouse.query(`SELECT call_id AS id FROM ${table} ORDER BY call_id`);
      expect(found.map(({ id }) => id)).toEqual(young3);
    }
    const { rows: documents } = await pipeline.store.pool.query<{ id: string }>(
      'SELECT call_id AS id FROM ledger_documents ORDER BY 1',
    );
    expect(documents.map(({ id }) => id)).toEqual(young3);
    const { rows: bodies } = await pipeline.store.pool.query<{ body: string }>(
      "SELECT convert_from(body, 'UTF8') AS body FROM inbox WHERE body IS NOT NULL",
    );
    expect(bodies.map(({ body }) => body.includes('webhook-old'))).toEqual([false]);
  } finally {
    await pipeline.close();
  }
});
