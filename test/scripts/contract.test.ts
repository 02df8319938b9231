/** The data contract is one by the standard's own schema, and says what the warehouses have. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { renderContract } from '../../scripts/contract.ts';
import { columnsOf, tablesOf } from '../../src/warehouse/postgres/layout.ts';

type Property = Record<'name' | 'logicalType' | 'classification', string> &
  Partial<{ physicalType: string; required: boolean; primaryKey: boolean; primaryKeyPosition: number }>;
interface Contract {
  readonly version: string;
  readonly schema: { readonly name: string; readonly properties: Property[] }[];
}

const schema = JSON.parse(readFileSync(join(import.meta.dirname, 'odcs/odcs-v3.2.0.schema.json'), 'utf8'));
const validate = new Ajv2019({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
const contract: Contract = parse(renderContract());

/** A line for each column: what a reader of the tables relies on. */
const shape = contract.schema
  .flatMap(({ name, properties }) =>
    properties.map((one) => {
      const key = one.primaryKeyPosition === undefined ? [] : [`key ${one.primaryKeyPosition}`];
      const required = one.required ? ['required'] : [];
      return [`${name}.${one.name}`, one.logicalType, ...required, ...key, one.classification].join(' ');
    }),
  )
  .sort();

test('another shape has another version: the second number for additions, the first for removals', async () => {
  // One file a version. One that has landed is not written again: a new version, in scripts/contract.ts, gets its own.
  await expect(`${shape.join('\n')}\n`).toMatchFileSnapshot(`contract-shapes/${contract.version}.txt`);
  const folder = join(import.meta.dirname, 'contract-shapes');
  const numbersOf = (version: string) => version.split('.').map(Number) as [number, number, number];
  const versions = readdirSync(folder).map((name) => name.replace(/\.txt$/, ''));
  versions.sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));
  expect(versions.at(-1)).toBe(contract.version);
  const linesOf = (version: string) =>
    readFileSync(join(folder, `${version}.txt`), 'utf8')
      .split('\n')
      .slice(0, -1);
  for (const [index, version] of versions.slice(1).entries()) {
    const former = versions[index] as string;
    const [before, now] = [linesOf(former), linesOf(version)];
    const [major, minor] = numbersOf(version);
    const [formerMajor, formerMinor] = numbersOf(former);
    const lost = before.filter((line) => !now.includes(line));
    const added = now.filter((line) => !before.includes(line));
    expect(major > formerMajor ? [] : lost, `${version} takes away what ${former} says`).toEqual([]);
    expect(major > formerMajor || minor > formerMinor ? [] : added, `${version} adds to ${former}`).toEqual([]);
    expect(lost.length + added.length, `${version} is as ${former}`).toBeGreaterThan(0);
  }
});

test('the contract has the relations of a default warehouse, and only types that a checker can see', () => {
  const seen = tablesOf({ schema: 'calls', documents: false }).map((table) => [table.name, columnsOf(table)] as const);
  for (const { name, properties } of contract.schema.filter((one) => one.name !== 'words')) {
    const columns = new Map(seen.find(([table]) => table === name)?.[1].map((column) => [column.name, column.type]));
    for (const one of properties)
      expect([columns.has(one.name), columns.get(one.name) === 'jsonb'], `${name}.${one.name}`).toEqual([
        true,
        one.physicalType === 'jsonb',
      ]);
  }
  expect(contract.schema.map(({ name }) => name).sort()).toEqual([...seen.map(([name]) => name), 'words'].sort());
});

test('the contract is valid by the Open Data Contract Standard, and a broken one is not', () => {
  expect(validate(contract), JSON.stringify(validate.errors)).toBe(true);
  expect(validate({ ...contract, kind: 'Contract' })).toBe(false);
  const wrong = { ...contract.schema[0], properties: [{ name: 'x', logicalType: 'text' }] };
  expect(validate({ ...contract, schema: [wrong] })).toBe(false);
});
