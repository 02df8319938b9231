import { expect, test } from 'vitest';
import type { Column } from '../../schemas/tables.ts';
import { canonicalRow } from '../../src/warehouse/digest.ts';

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
