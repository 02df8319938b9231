/** `callsync calibrate --fields`: typed columns for metadata keys that nobody listed. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { analyticsConfigSchema } from '../../schemas/config/analytics.ts';
import { proposeFields } from '../../src/marts/propose-fields.ts';
import { postgresFragments } from '../../src/warehouse/postgres/dialect.ts';
import { openCli, withoutService } from '../support/cli.ts';
import { connect } from '../support/postgres.ts';

const { folder, database } = await openCli();
await folder.configure(withoutService(database.url));

/** By key: the texts of calls, and the proposed type. */
const keys: Readonly<Record<string, readonly [texts: readonly string[], type: string, decimal?: string]>> = {
  Attempts: [['1', '0', '-12', '100'], 'integer'],
  'Montant dû (€)': [['1 000,50', '12', '1\u202f234\u202f567,1'], 'numeric', 'comma'],
  Total: [['1,000.50', '12.25', '7'], 'numeric', 'point'],
  Score: [['0.5', '-12.25', '3'], 'numeric'],
  'VIP?': [['true', 'FALSE', 'Yes'], 'boolean'],
  due_date: [['2026-02-28', '2024-02-29'], 'date'],
  'No date': [['2026-02-28', '2026-02-30'], 'text'],
  Phone: [['+33612345678', '0612345678'], 'text'],
  phone: [['0612345678'], 'text'],
  'Order number': [['007', '123'], 'text'],
  'Either mark': [['1,000', '2.000'], 'text'],
  'One mark': [['1,000', '2,500'], 'text'],
  'Groups, and none': [['1,500', '950'], 'text'],
  'Points, and none': [['1.500', '950'], 'text'],
  'Thousandths, and more': [['0.125', '1.5'], 'numeric'],
  Identifier: [['1234567890123456'], 'text'],
  Caller: [['33612345678', '441632960961'], 'text'],
  agent: [['Ann', 'Bob'], 'text'],
  '2nd': [['a'], 'text'],
  éè: [['9'], 'integer'],
};
const documents = Array.from({ length: 4 }, (_, index) => ({
  metadata: Object.fromEntries(Object.entries(keys).map(([key, [texts]]) => [key, texts[index] ?? ' '])),
}));

test('each key gets the type that all of its texts have, and a name of its own', () => {
  const proposals = proposeFields(documents, {});
  const found = Object.fromEntries(proposals.map(({ key, field }) => [key, [field.type, field.decimal]]));
  expect(found).toEqual(Object.fromEntries(Object.entries(keys).map(([key, [, type, mark]]) => [key, [type, mark]])));
  const fields = Object.fromEntries(proposals.map(({ key, field }) => [key, field]));
  expect(() => analyticsConfigSchema.parse({ fields })).not.toThrow();
  const names = Object.fromEntries(proposals.map(({ key, field }) => [key, field.name]));
  const own = { 'Montant dû (€)': 'montant_du', agent: 'agent_2', '2nd': 'field_2nd', due_date: 'due_date' };
  expect(names).toMatchObject(own);
  expect(new Set([names.phone, names.Phone])).toEqual(new Set(['phone', 'phone_2']));
});

test('shapes and shares say nothing of a value; keys with a column, and impossible keys, are left out', () => {
  const [first] = proposeFields([{ metadata: { Name: 'Anna Öz 42\u001b[31m', n: null } }, { metadata: 7 }], {});
  expect(first).toMatchObject({ key: 'Name', share: 0.5, shapes: ['Aa+ Aa 9+ [9+a'] });
  expect(proposeFields([{ metadata: { constructor: 'x' } }], {})).toMatchObject([{ key: 'constructor' }]);
  expect(proposeFields([{ metadata: { Agent: 'x', ClientID: 'y', ANI: '33612345678' } }], {})).toEqual([]);
  const configured = { Name: { name: 'person', type: 'text' as const } };
  expect(proposeFields([{ metadata: { Name: 'Anna', 'a\\b': 'x', 'a\nb': 'x' } }], configured)).toEqual([]);
});

test('no text of a proposed type is unparsable in the marts', async () => {
  const client = await connect(database.url);
  for (const { key, field } of proposeFields(documents, {})) {
    if (field.type === 'text') continue;
    const [mark, other] = field.decimal === 'comma' ? [',', '.'] : ['.', ','];
    const text =
      field.decimal === undefined ? 't' : postgresFragments.plain_number('t', mark as string, other as string);
    const sql = `SELECT t FROM unnest($1::text[]) AS t WHERE (${postgresFragments[`as_${field.type}`](text)}) IS NULL`;
    expect((await client.query(sql, [keys[key]?.[0]])).rows, key).toEqual([]);
  }
  await client.end();
});

test('the command prints them, and writes them into the configuration', async () => {
  const records = documents.map((document, index) =>
    JSON.stringify({ unique_id: `c${index}`, timestamp: '2026-01-01T00:00:00Z', ...document }),
  );
  const file = join(folder.path, 'calls.ndjson');
  await writeFile(file, records.join('\n'));
  expect(await folder.run(['import', file])).toMatchObject({ code: 0 });
  const { stdout } = await folder.run(['calibrate', '--fields']);
  expect(stdout).toContain('# 100 % of the calls, such as 9, -9+, 9+\n    Attempts: { name: attempts, type: integer }');
  expect(stdout).not.toMatch(/0612|234/);
  expect(await folder.run(['calibrate', '--fields', '--write'])).toMatchObject({ code: 0 });
  expect(await readFile(join(folder.path, 'callsync.yaml'), 'utf8')).toContain('montant_du');
  expect((await folder.run(['config', 'check'])).code).toBe(0);
  expect((await folder.json(['calibrate', '--fields'])).proposals).toEqual([]);
});
