/** The data contract is one by the standard's own schema, and says what the warehouses have. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { tables } from '../../schemas/tables.ts';
import { renderContract } from '../../src/config/contract.ts';
import { columnsOf } from '../../src/warehouse/postgres/layout.ts';

interface Property {
  readonly name: string;
  readonly primaryKey?: boolean;
  readonly classification: string;
}
interface Contract {
  readonly schema: { readonly name: string; readonly properties: Property[] }[];
}

const schema = JSON.parse(readFileSync(join(import.meta.dirname, 'odcs/odcs-v3.2.0.schema.json'), 'utf8'));
const validate = new Ajv2019({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
const contract: Contract = parse(renderContract());

test('the contract is valid by the Open Data Contract Standard, and a broken one is not', () => {
  expect(validate(contract), JSON.stringify(validate.errors)).toBe(true);
  expect(validate({ ...contract, kind: 'Contract' })).toBe(false);
  const [first] = contract.schema;
  expect(validate({ ...contract, schema: [{ ...first, properties: [{ name: 'x', logicalType: 'text' }] }] })).toBe(
    false,
  );
});

test('it has every table and column with its key, and hides transcripts, numbers and free fields', () => {
  for (const table of tables) {
    const found = contract.schema.find(({ name }) => name === table.name);
    const names = found?.properties.map(({ name }) => name);
    // Postgres lays the words of an utterance out as four arrays.
    const columns = columnsOf(table)
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('word_') || name === 'word_count');
    expect(
      names?.filter((name) => name !== 'words'),
      table.name,
    ).toEqual(columns);
    expect(found?.properties.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)).toEqual(table.key);
  }
  const hidden = (table: string, column: string) =>
    contract.schema.find(({ name }) => name === table)?.properties.find(({ name }) => name === column)?.classification;
  expect([hidden('utterances', 'content'), hidden('calls', 'ani'), hidden('udfs', 'value_text')]).toEqual(
    Array(3).fill('restricted'),
  );
  expect(hidden('calls', 'duration')).toBe('internal');
});
