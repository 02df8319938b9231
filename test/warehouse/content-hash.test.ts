import { expect, test } from 'vitest';
import type { Column } from '../../schemas/tables.ts';
import { dialectOf as bigquery } from '../../src/warehouse/bigquery/dialect.ts';
import { canonicalRow, contentHash, contentTables, digestCall } from '../../src/warehouse/digest.ts';
import { dialectOf as postgres } from '../../src/warehouse/postgres/dialect.ts';
import { makeCall } from './batches.ts';

const rowsOf = (over: Record<string, unknown> = {}) => makeCall({ callId: 'c-1', tags: 2, extra: over }).flatten();

test('equal content has one hash in every version of one flatten version, whatever the order of keys; documents do not count', () => {
  const rows = rowsOf({ visit: { a: 1, b: [1, { c: 2, d: 3 }] } });
  expect(contentHash(rowsOf({ visit: { b: [1.0, { d: 3, c: 2 }], a: 1 } }))).toBe(contentHash(rows));
  expect(contentHash({ ...rows, documents: [] })).toBe(contentHash(rows));
  expect(contentHash(rowsOf())).toBe('6SL1KiWqVZ6l_V7fr3ekZ5');
});
const warehouses = [
  ['postgres', { documents: true, ...postgres({ schema: 'calls', documents: true }) }],
  ['bigquery', { documents: true, ...bigquery('calls') }],
] as const;

test.each(warehouses)(
  'any changed value of any column of any table changes the hash, and the digest of that table alone (%s)',
  (_, rules) => {
    const rows = rowsOf();
    const [hash, digest] = [contentHash(rows), digestCall('c-1', rows, rules)];
    for (const table of contentTables) {
      for (const { name: column, type } of table.columns) {
        const changed = rows[table.name].map((row, n) =>
          n === 0 ? { ...row, [column]: otherValue(type, row[column]) } : row,
        );
        const other = { ...rows, [table.name]: changed };
        expect(contentHash(other), `${table.name}.${column}`).not.toBe(hash);
        const { tables } = digestCall('c-1', other, rules);
        expect(Object.keys(tables).filter((name) => tables[name] !== digest.tables[name])).toEqual([table.name]);
      }
    }
  },
);

test('values that move from one place to another change the hash', () => {
  const words = (value: (string | null)[], start: (number | null)[]) => {
    const rows = rowsOf();
    const none = value.map(() => null);
    const utterances = rows.utterances.map((row) => ({ ...row, words: { value, start, length: none, score: none } }));
    return contentHash({ ...rows, utterances });
  };
  const hashes = [
    words(['ab', 'c'], [1, 2]),
    words(['a', 'bc'], [1, 2]),
    words(['ab', 'c'], [2, 1]),
    words(['ab', null], [1, 2]),
  ];
  expect(new Set([...hashes, words(['ab', ''], [1, 2]), words(['ab', 'c'], [1, null])]).size).toBe(6);
});

const otherValue = (type: string, value: unknown): unknown => {
  if (type === 'words') return { value: ['x'], start: [1], length: [1], score: [1] };
  if (type === 'json') return '{"other":true}';
  if (type === 'bool') return value === null ? false : !value;
  if (type === 'decimal') return '987.5';
  return type === 'text' ? `${value}x` : Number(value ?? 0) + 1;
};

/** The canonical text of values, each of its column. */
const textOf = (columns: readonly Column[], values: readonly unknown[]): string =>
  canonicalRow(columns, Object.fromEntries(columns.map(({ name }, index) => [name, values[index]])));

const column = (type: Column['type']): Column => ({ name: type, type, description: '' });

test('equal values have one text, whatever their form', () => {
  const json = column('json');
  expect(textOf([json], ['{"b":1,"a":[1.0,{"z":0,"y":-0}]}'])).toBe(
    textOf([json], ['{ "a": [1, {"y": 0, "z": 0.0}], "b": 1e0 }']),
  );
  expect(textOf([column('int'), column('timestamp')], ['12', '-1'])).toBe(
    textOf([column('int'), column('timestamp')], [12, -1]),
  );
  const none = { value: [], start: [], length: [], score: [] };
  expect(textOf([column('words')], [none])).toBe(textOf([column('words')], [null]));
});

test('different values have different texts', () => {
  const texts = ['{"a":1}', '[{"a":1}]', '{"a":"1"}', '{"a":null}', '{}', '[]', '[[]]', '{"__proto__":1}', '"a"'].map(
    (text) => textOf([column('json')], [text]),
  );
  expect(new Set(texts).size).toBe(texts.length);
  expect(textOf([column('text')], [''])).not.toBe(textOf([column('text')], [null]));
});
