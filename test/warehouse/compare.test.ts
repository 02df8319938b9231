/** The comparison of two warehouses finds whatever was changed by hand in one of them, and says no value. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Row } from '../../schemas/tables.ts';
import { describeDifference } from '../../src/simulator/demo/check-equal.ts';
import { compareTable, compareWarehouses, type Readable } from '../../src/warehouse/compare.ts';
import type { DigestedName, Warehouse } from '../../src/warehouse/warehouse.ts';
import { children, makeBatch, makeCall, makeLogRow } from './batches.ts';
import { type Target, targets } from './conformance-targets.ts';
import { bePatient } from './patience.ts';

bePatient();

const tables = ['calls', ...children, 'deliveries', 'words'] as const;

describe('over both warehouses', () => {
  const opened: Target[] = [];
  let postgres: Warehouse;
  let bigquery: Warehouse;

  beforeAll(async () => {
    for (const [, useTarget] of targets) opened.push(await useTarget());
    const [one, other] = opened.map((target) => target.open()) as [Warehouse, Warehouse];
    [postgres, bigquery] = [one, other];
    const received_at = Date.parse('2026-01-05T00:00:00Z') * 1000;
    const batch = makeBatch({
      calls: ['c-1', 'c-2', 'c-3'].map((callId) => makeCall({ callId, tags: 3 })),
      logs: { deliveries: [makeLogRow('deliveries', { seq: 7, received_at, call_id: 'c-1', outcome: 'accepted' })] },
    });
    for (const warehouse of [one, other]) {
      await warehouse.migrate();
      await warehouse.load(batch);
    }
  });
  afterAll(async () => {
    for (const target of opened) await target.dispose();
  });

  const compare = () => compareWarehouses(postgres, bigquery, tables);
  const foundIn = async (table: DigestedName) => {
    const compared = await compare();
    const others = Object.entries(compared).filter(([name]) => name !== table && name !== 'words');
    expect(others.filter(([, { different }]) => different > 0)).toEqual([]);
    return compared[table];
  };

  test('equal loads are equal, and every row was looked at', async () => {
    const compared = await compare();
    const rows = Object.fromEntries(Object.entries(compared).map(([name, table]) => [name, table.rows]));
    expect(rows).toEqual({
      ...{ calls: 3, utterances: 6, tags: 9, metadata: 12, udfs: 9, contacts: 3, redactions: 6, documents: 3 },
      ...{ deliveries: 1, words: 12 },
    });
    expect(Object.values(compared).map((table) => table.different)).toEqual(tables.map(() => 0));
  });

  test.each([
    [0, 'postgres'],
    [1, 'bigquery'],
  ])(
    'a change by hand in %i (%s) is found: a value, a lost row, a row without a call, a copy',
    async (index) => {
      const target = opened[index] as Target;
      const counts = (mine: number): [number, number] => (index === 0 ? [mine, 1] : [1, mine]);

      await target.execute(`UPDATE tags SET display_name = 'secret' WHERE call_id = 'c-2' AND tag_index = 1`);
      const tag = { table: 'tags', key: 'call_id=c-2 tag_index=1', columns: ['display_name'] };
      expect(await foundIn('tags')).toEqual({ rows: 9, different: 1, examples: [tag] });
      await target.execute(`UPDATE tags SET display_name = 'Tag 1' WHERE call_id = 'c-2' AND tag_index = 1`);

      await target.execute(`UPDATE calls SET revision = 9 WHERE call_id = 'c-2'`);
      const call = { table: 'calls', key: 'call_id=c-2', columns: ['revision'] };
      expect(await foundIn('calls')).toEqual({ rows: 3, different: 1, examples: [call] });
      await target.execute(`UPDATE calls SET revision = 1 WHERE call_id = 'c-2'`);

      await target.execute(`UPDATE deliveries SET call_id = NULL WHERE seq = 7`);
      const delivery = { table: 'deliveries', key: 'arrival_id=seq:7', columns: ['call_id'] };
      expect(await foundIn('deliveries')).toEqual({ rows: 1, different: 1, examples: [delivery] });
      await target.execute(`UPDATE deliveries SET call_id = 'c-1' WHERE seq = 7`);

      await target.execute(`INSERT INTO contacts (call_id, side, label) VALUES ('c-9', 'in', 'nobody')`);
      const orphan = { table: 'contacts', key: 'call_id=c-9 side=in', columns: [] };
      const alone = index === 0 ? [1, 0] : [0, 1];
      expect(await foundIn('contacts')).toEqual({ rows: 4, different: 1, examples: [{ ...orphan, counts: alone }] });
      await target.execute(`DELETE FROM contacts WHERE call_id = 'c-9'`);
      expect((await foundIn('contacts'))?.different).toBe(0);

      if (index === 1) {
        await target.execute(`INSERT INTO contacts (call_id, side) VALUES ('c-1', 'in')`);
        expect((await foundIn('contacts'))?.examples[0]?.counts).toEqual([1, 2]);
        await target.execute(`DELETE FROM contacts WHERE call_id = 'c-1' AND label IS NULL AND data IS NULL`);
      }

      const word = index === 0 ? `word_values[1] = 'other'` : `words = [STRUCT('other' AS value)]`;
      await target.execute(`UPDATE utterances SET ${word} WHERE call_id = 'c-3' AND utterance_index = 0`);
      expect((await foundIn('utterances'))?.examples[0]).toMatchObject({ columns: ['words'] });

      await target.execute(`DELETE FROM utterances WHERE call_id = 'c-3' AND utterance_index = 0`);
      const utterance = { table: 'utterances', key: 'call_id=c-3 utterance_index=0', columns: [] };
      const lost = await foundIn('utterances');
      expect(lost).toEqual({ rows: 6, different: 1, examples: [{ ...utterance, counts: counts(0) }] });
      const call3 = makeCall({ callId: 'c-3', tags: 3, partitions: ['2026-01-05'] });
      await target.open().load(makeBatch({ calls: [call3], force: true }));
      expect(Object.values(await compare()).map((table) => table.different)).toEqual(tables.map(() => 0));
    },
    240_000,
  );
});

const sourceOf = (rows: readonly Row[]): Readable => ({
  async *rowsOf() {
    yield* rows;
  },
});
const contact = (call_id: string, side: string, label: string): Row => ({ call_id, side, label });

test('rows are told apart by key, in any order, and only the first differences are named', async () => {
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  const rows = numbers.map((n) => contact(`c-${n % 20}`, n < 20 ? 'in' : 'out', 'x'));
  expect(await compareTable(sourceOf(rows), sourceOf([...rows].reverse()), 'contacts')).toEqual({
    ...{ rows: 40, different: 0, examples: [] },
  });
  const changed = numbers.map((n) => contact(`c-${n % 20}`, n < 20 ? 'in' : 'out', n < 20 ? 'y' : 'x'));
  const compared = await compareTable(sourceOf(rows), sourceOf(changed), 'contacts');
  expect(compared).toMatchObject({ rows: 40, different: 20 });
  expect(compared.examples).toHaveLength(5);
  // Two rows that changed places with each other are two changes, though the sum over the table is the same.
  const [a, b] = [contact('a', 'in', '1'), contact('b', 'in', '2')];
  const swapped = [contact('a', 'in', '2'), contact('b', 'in', '1')];
  expect((await compareTable(sourceOf([a, b]), sourceOf(swapped), 'contacts')).different).toBe(2);
});

test('a difference is told by table, key and columns', () => {
  const difference = { table: 'tags', key: 'call_id=c-2 tag_index=1', columns: ['type', 'value'] } as const;
  expect(describeDifference(difference, ['postgres', 'bigquery'])).toBe(
    'Table tags, row call_id=c-2 tag_index=1: differs in type, value.',
  );
  expect(describeDifference({ ...difference, columns: [], counts: [0, 1] }, ['postgres', 'bigquery'])).toBe(
    'Table tags, row call_id=c-2 tag_index=1: is there 0 times in postgres and 1 times in bigquery.',
  );
});
