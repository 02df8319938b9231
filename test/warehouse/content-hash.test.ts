import { expect, test } from 'vitest';
import type { Column } from '../../schemas/tables.ts';
import { canonicalRow, contentHash, contentTables } from '../../src/warehouse/content-hash.ts';
import { digestCall } from '../../src/warehouse/digest.ts';
import { makeCall } from './batches.ts';

const rowsOf = (over: Record<string, unknown> = {}) => makeCall({ callId: 'c-1', tags: 2, extra: over }).flatten();

test('equal content has one hash in each version, whatever the order of keys; documents do not count', () => {
  const rows = rowsOf({ visit: { a: 1, b: [1, { c: 2, '\ufffd': 3 }] } });
  expect(contentHash(rowsOf({ visit: { b: [1.0, { '\0': 3, c: 2 }], a: 1 } }))).toBe(contentHash(rows));
  expect(contentHash({ ...rows, documents: [] })).toBe(contentHash(rows));
  expect(contentHash(rowsOf())).toBe('OlNsBSYiZMNCZimMtLsOli');
});

test('a changed value of any column changes hash and digest of its table alone', () => {
  const rows = rowsOf();
  const [hash, digest] = [contentHash(rows), digestCall('c-1', rows, true)];
  for (const table of contentTables) {
    for (const { name: column, type } of table.columns) {
      const changed = rows[table.name].map((row, n) =>
        n === 0 ? { ...row, [column]: otherValue(type, row[column]) } : row,
      );
      const other = { ...rows, [table.name]: changed };
      expect(contentHash(other), `${table.name}.${column}`).not.toBe(hash);
      const { tables } = digestCall('c-1', other, true);
      expect(Object.keys(tables).filter((name) => tables[name] !== digest.tables[name])).toEqual([table.name]);
    }
  }
});

test('values that move from one place to another change the hash', () => {
  const words = (value: (string | null)[], start: (number | null)[]) => {
    const rows = rowsOf();
    const none = value.map(() => null);
    const utterances = rows.utterances.map((row) => ({ ...row, words: { value, start, length: none, score: none } }));
    return contentHash({ ...rows, utterances });
  };
  const hashes = [
    words(['ab', 'c'], [1, 2]),
    words(['ab', 'c'], [2, 1]),
    words(['ab', 'c'], [1, null]),
    words(['a', 'bc'], [1, 2]),
    words(['ab', null], [1, 2]),
    words(['ab', ''], [1, 2]),
  ];
  expect(new Set(hashes).size).toBe(6);
});

const otherValue = (type: string, value: unknown): unknown => {
  if (type === 'words') return { value: ['x'], start: [1], length: [1], score: [1] };
  if (type === 'json') return '{"other":true}';
  if (type === 'bool') return value === null ? false : !value;
  if (type === 'decimal') return '987.5';
  return type === 'text' ? `${value}x` : Number(value ?? 0) + 1;
};

/** The canonical text of a value of such a column. */
const textOf = (type: Column['type'], value: unknown) =>
  canonicalRow([{ name: type, type, description: '' }], { [type]: value });
test('equal values have one text, whatever their form', () => {
  for (const [type, one, other] of [
    ['json', '{"b":1,"a":[1.0,{"z":0,"y":-0}]}', '{ "a": [1, {"y": 0, "z": 0.0}], "b": 1e0 }'],
    ['int', '12', 12],
    ['timestamp', '-1', -1],
    ['float', 'Infinity', Infinity],
    ['words', { value: [], start: [], length: [], score: [] }, null],
  ] as const)
    expect(textOf(type, one)).toBe(textOf(type, other));
});

test('different values have different texts', () => {
  const values = ['{"a":1}', '[{"a":1}]', '{"a":"1"}', '{"a":null}', '{}', '[]', '[[]]', '{"__proto__":1}', '"a"'];
  expect(new Set(values.map((value) => textOf('json', value))).size).toBe(values.length);
  expect(textOf('text', '')).not.toBe(textOf('text', null));
  expect(textOf('float', Infinity)).not.toBe(textOf('float', null));
});
