/** The same loads into both warehouses leave the same rows in both, value by value. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkEqual } from '../../src/simulator/demo/check-equal.ts';
import { countRows } from '../../src/warehouse/digest.ts';
import type { LoadBatch, Warehouse } from '../../src/warehouse/warehouse.ts';
import { children, makeBatch, makeCall, makeLogRow, makeTombstone } from './batches.ts';
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

const equalTables = ['calls', ...children, 'deliveries'];
const differing = async (): Promise<string[]> => {
  const { differences } = await checkEqual(...(warehouses as [Warehouse, Warehouse]), equalTables);
  return differences.map(({ table, key }) => `${table} ${key}`);
};

test('every table has the same rows in both', async () => {
  expect(await differing()).toEqual([]);
  const counts = await countRows(warehouses[0] as Warehouse, true);
  for (const table of equalTables) expect(counts[table], table).toBeGreaterThan(10);
});

test('a change by hand is found: a value, a lost row, a row without a call, a word', async () => {
  const changes = {
    'calls call_id=c-5': `UPDATE calls SET revision = 9 WHERE call_id = 'c-5'`,
    'tags call_id=c-5 tag_index=1': `UPDATE tags SET display_name = 'secret' WHERE call_id = 'c-5' AND tag_index = 1`,
    'utterances call_id=c-7 utterance_index=0': `UPDATE utterances SET word_values[1] = 'other' WHERE call_id = 'c-7' AND utterance_index = 0`,
    'utterances call_id=c-7 utterance_index=1': `DELETE FROM utterances WHERE call_id = 'c-7' AND utterance_index = 1`,
    'contacts call_id=c-90 side=in': `INSERT INTO contacts (call_id, side, label) VALUES ('c-90', 'in', 'nobody')`,
    'deliveries arrival_id=seq:7': 'UPDATE deliveries SET call_id = NULL WHERE seq = 7',
  };
  for (const change of Object.values(changes)) await opened[0]?.execute(change);
  expect((await differing()).sort()).toEqual(Object.keys(changes).sort());
});
