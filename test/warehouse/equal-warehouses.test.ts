/** The same loads into both warehouses leave the same rows in both, value by value. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalRow, digestedColumns } from '../../src/warehouse/digest.ts';
import type { DigestedName, LoadBatch, Warehouse } from '../../src/warehouse/warehouse.ts';
import { makeBatch, makeCall, makeLogRow, makeTombstone } from './batches.ts';
import { type Target, targets } from './conformance-targets.ts';
import { bePatient } from './patience.ts';

bePatient();

const opened: Target[] = [];
let warehouses: Warehouse[];

beforeAll(async () => {
  for (const [, useTarget] of targets) opened.push(await useTarget());
  warehouses = opened.map((target) => target.open());
  for (const warehouse of warehouses) await warehouse.migrate();
  for (const batch of history()) for (const warehouse of warehouses) await warehouse.load(batch);
});
afterAll(async () => {
  for (const target of opened) await target.dispose();
});

const history = (): LoadBatch[] => {
  const texts = ['plain', 'ünï \u{1f600} "q" \\', '', '1e5 -0 null', '\u2028 \t'];
  const day = (n: number): string => `2026-02-0${1 + (n % 5)}`;
  const call = (n: number, revision: number) =>
    makeCall({
      callId: `c-${n}`,
      revision,
      timestamp: n % 7 === 0 ? null : `${day(n + revision)}T23:59:59.99999${n % 10}Z`,
      utterances: (n * revision) % 4,
      tags: n % 3,
      text: texts[(n + revision) % texts.length] as string,
      partitions: revision === 1 ? [] : [n % 7 === 0 ? null : day(n + 1)],
      extra: { nested: { b: [n / 3, { a: n }], a: null }, 'odd key': n % 2 === 0 },
    });
  const numbers = Array.from({ length: 30 }, (_, n) => n);
  const first = makeBatch({ calls: numbers.map((n) => call(n, 1)) });
  const received = Date.parse('2026-02-01T00:00:00Z') * 1000;
  const deliveries = numbers.map((seq) =>
    makeLogRow('deliveries', { seq, call_id: `c-${seq}`, received_at: received + seq, outcome: 'accepted' }),
  );
  return [
    first,
    makeBatch({ calls: numbers.filter((n) => n % 2 === 0).map((n) => call(n, 2)), logs: { deliveries } }),
    { ...first, loadId: `${first.loadId}_late` },
    makeBatch({ tombstones: [makeTombstone('c-3', 2, [day(4)]), makeTombstone('c-4', 3, [day(5), day(6)])] }),
  ];
};

test.each([
  'calls',
  'utterances',
  'tags',
  'metadata',
  'udfs',
  'contacts',
  'redactions',
  'documents',
  'deliveries',
  'words',
] as const)('table %s', async (name) => {
  const [postgres, bigquery] = await Promise.all(warehouses.map((warehouse) => readCanonical(warehouse, name)));
  expect(postgres?.length).toBeGreaterThan(10);
  expect(bigquery).toEqual(postgres);
});

test('digests', async () => {
  const [postgres, bigquery] = await Promise.all(warehouses.map((warehouse) => warehouse.digestTables()));
  expect(bigquery).toEqual(postgres);
});

const readCanonical = async (warehouse: Warehouse, name: DigestedName): Promise<string[]> => {
  const rows: string[] = [];
  for await (const row of warehouse.rowsOf(name)) rows.push(canonicalRow(digestedColumns(name), row));
  return rows.sort();
};
