/** `callsync query` as a person meets it, on PostgreSQL. */
import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { renderTable, reportFailure } from '../../src/cli/shell/output.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import { openCli, withoutService } from '../support/cli.ts';
import { connect, runOnServer } from '../support/postgres.ts';
import { startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

const { folder, database } = await openCli();
await folder.configure(withoutService(database.url));

const ask = async (sql: string) => (await folder.json(['query', sql])).rows;

test('columns of the same name are all there, numbered past names that are taken', async () => {
  const sql = 'SELECT count(*), count(*) FILTER (WHERE n > 1), 7 AS count_2 FROM (VALUES (1), (2), (3)) AS t (n)';
  expect(await ask(sql)).toEqual([{ count: 3, count_3: 2, count_2: 7 }]);
  expect((await folder.run(['query', sql])).stdout).toMatch(/^ {2}count +count_3 +count_2\n {2}3 +2 +7\n$/);
});

test('JSON with a text of several megabytes, half of it escapes, is read', async () => {
  const [row] = await ask(`SELECT jsonb_build_object('text', repeat(E'x\\n', 4500000), 'n', 1) AS large`);
  expect(row?.large).toEqual({ text: 'x\n'.repeat(4_500_000), n: 1 });
});

const huge = Number('12345678901234567890');
/** An expression of SQL, and what `query --json` and an assistant have of it; the assistant's own words where they differ. */
const values: readonly (readonly [sql: string, ours: unknown, assistants?: unknown])[] = [
  // A whole number that a double cannot hold is text, and no other.
  ['9007199254740993', '9007199254740993', Number('9007199254740993')],
  ['-9007199254740993', '-9007199254740993', Number('-9007199254740993')],
  ['9007199254740991', 9_007_199_254_740_991],
  ["timestamp '2026-01-01 10:00'", '2026-01-01T10:00:00.000', '2026-01-01T10:00:00'],
  ["timestamptz '2026-03-29 01:30:00.123456Z'", '2026-03-29T01:30:00.123456Z', '2026-03-29T01:30:00.123456+00:00'],
  ["timestamptz '2026-01-01 10:00:00.5+02'", '2026-01-01T08:00:00.500Z', '2026-01-01T08:00:00.5+00:00'],
  ["date '2026-01-01'", '2026-01-01'],
  ["ARRAY[date '2026-01-01', NULL]", ['2026-01-01', null]],
  ["ARRAY[timestamp '2026-01-01 10:00']", ['2026-01-01T10:00:00.000'], ['2026-01-01T10:00:00']],
  ["ARRAY[timestamptz '2026-01-01 10:00Z']", ['2026-01-01T10:00:00.000Z'], ['2026-01-01T10:00:00+00:00']],
  ["timestamptz 'infinity'", 'infinity'],
  ["date '-infinity'", '-infinity'],
  ["timestamptz '0044-03-15 10:00:00Z BC'", '0044-03-15 10:00:00+00 BC', '0044-03-15T10:00:00+00:00 BC'],
  ["date '0044-03-15 BC'", '0044-03-15 BC'],
  ["interval '1 month 2 days -03:04:05.000006'", '1 mon 2 days -03:04:05.000006'],
  ["ARRAY[interval '90 minutes']", ['01:30:00']],
  ["time '10:00:00.000001'", '10:00:00.000001'],
  ['12345678901234567890.5', '12345678901234567890.5', huge],
  ['ARRAY[1.10, 12345678901234567890.5]', ['1.10', '12345678901234567890.5'], [1.1, huge]],
  ['ARRAY[12345678901234567, 1]', ['12345678901234567', 1], [Number('12345678901234567'), 1]],
  ["ARRAY[0.1::float8, 'NaN']", [0.1, 'NaN']],
  ["'-Infinity'::float4", '-Infinity'],
  ["'\\x00ff'::bytea", '\\x00ff'],
  ["ARRAY['\\x00'::bytea]", ['\\x00']],
  ['jsonb \'{"a": [1.5, "12345678901234567890"]}\'', { a: [1.5, '12345678901234567890'] }],
  ['jsonb \'{"a": 12345678901234567890}\'', '{"a": 12345678901234567890}', { a: huge }],
  ["ARRAY['a,b', NULL, 'NULL']", ['a,b', null, 'NULL']],
  ['ARRAY[true, NULL]', [true, null]],
  ["point '(1,2)'", '(1,2)'],
  ["ARRAY['00000000-0000-0000-0000-000000000001'::uuid]", ['00000000-0000-0000-0000-000000000001']],
];

test('a value is the one of the database, in every time zone and under the settings of the database', async () => {
  const name = new URL(database.url).pathname.slice(1);
  const settings = { datestyle: 'German', intervalstyle: 'iso_8601', bytea_output: 'escape', extra_float_digits: 0 };
  for (const [setting, value] of Object.entries(settings))
    await runOnServer(database.adminUrl, `ALTER DATABASE ${name} SET ${setting} = '${value}'`);
  onTestFinished(() => void runOnServer(database.adminUrl, `ALTER DATABASE ${name} RESET ALL`));
  const sql = `SELECT ${values.map(([one], at) => `${one} AS v${at}`).join(', ')}`;
  const expected = Object.fromEntries(values.map(([, ours], at) => [`v${at}`, ours]));
  for (const zone of ['Europe/Paris', 'America/St_Johns']) {
    const asked = startProgram(['query', sql, '--json'], { cwd: folder.path, env: { ...process.env, TZ: zone } });
    expect([await asked.ended, JSON.parse(asked.stdout()).rows]).toEqual([0, [expected]]);
  }
  expect((await folder.run(['query', sql])).stdout).toContain(' 2026-03-29T01:30:00.123456Z ');
  const config = { schema: 'calls', documents: false };
  const reader = createPostgresWarehouse({ name: 'pg', url: database.url, config });
  const assistant = reader.openReader({ marts: 'calls_marts' });
  const { rows } = await assistant.answer(sql, { rows: 1, bytes: 100_000, billedBytes: 0 });
  await Promise.all([assistant.close(), reader.close()]);
  const told = Object.fromEntries(values.map(([, ours, theirs = ours], at) => [`v${at}`, theirs]));
  expect(JSON.parse(rows[0] as string)).toEqual(told);
});

test('a result has as many rows as it likes', () => {
  expect(renderTable(Array.from({ length: 200_000 }, (_, n) => ({ n }))).split('\n')).toHaveLength(200_001);
});

test('words of a library end like a sentence before ours go on', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => void write.mockRestore());
  reportFailure(new RangeError('Maximum call stack size exceeded'), false);
  expect(write.mock.calls.join('')).toMatch(/: Maximum call stack size exceeded\.\n {2}Run the command again/);
});

test('what a query does to values is told in words of ours, with the place', async () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['SELECT 1 / 0', /cannot compute the query: division by zero\. Change/],
    ["SELECT 'ä😀',\n  'private'::integer", /a text cannot be read as a value of its type \(line 2, character 3\)/],
    ["SELECT 'ä😀', 'private'::date", /a text cannot be read as a date or time \(line 1, character 14\)/],
    ["SELECT '2025-02-30'::date", /a date or time is out of range \(line 1, character 8\)/],
    ['SELECT 70000::smallint', /a number is out of the range of its type\. /],
    ['SELECT\n  privte', /refuses the query: column "privte" does not exist \(line 2, character 3\)\. /],
    ['SELECT coun FROM (SELECT 1 AS count) t', / 8\)\. Perhaps you meant to reference the column "t\.count"\./],
    ["SELECT a::regclass FROM (SELECT 'private'::text AS a) AS t", /a text is not the name of anything\. /],
    ['SELECT 1; SELECT 2', /multiple commands into a prepared statement\. Send one query/],
    ['SELECT privte FROM sync_state', /exist \(.*\)\. callsync query 'SELECT \* FROM sync_state LIMIT 1' shows/],
    ['SELECT extract(hour FROM privte) FROM calls', /'SELECT \* FROM calls LIMIT 1' shows/],
    ['SELECT 1 FROM calendar', /'SELECT \* FROM calls LIMIT 1' shows/],
    ['SELECT 1 FORM t t', /error at or near "t" \(line 1, character 15\)\. Correct the query at the marked place/],
  ];
  for (const [sql, sentence] of wrong) {
    const { code, stderr } = await folder.run(['query', sql]);
    const said = stderr.replaceAll('\n  ', ' ');
    expect({ sql, code, said }).toEqual({ sql, code: 2, said: expect.stringMatching(sentence) });
    expect(stderr).not.toContain('private');
  }
});

test('a query that begins with a dash, or options before a subcommand, say how they are given', async () => {
  const sql = '-- how many\nSELECT 1 AS one';
  const refused = await folder.run(['query', sql]);
  const advice = expect.stringMatching(/begins with a dash comes last, after --: callsync query -- '-…'/);
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: advice });
  expect((await folder.run(['search', '-facture'])).stderr).toMatch(/callsync search -- '-…'/);
  expect((await folder.run(['backfill', '--json', 'cancel', 'a'])).stderr).toMatch(/: callsync backfill cancel …/);
  const asked = startProgram(['search', '-'], { cwd: folder.path, input: 'facture' });
  const expected = [expect.any(Number), expect.stringContaining('SEARCH_INDEX_MISSING')];
  expect([await asked.ended, asked.stderr()]).toEqual(expected);
  expect(JSON.parse((await folder.run(['query', '-', '--json'], { input: sql })).stdout).rows).toEqual([{ one: 1 }]);
  expect((await folder.run(['query', '-'])).stderr).toMatch(/There is no query/);
  expect((await folder.run(['status', '-facture'])).stderr).not.toMatch(/dash/);
  const { code, stdout } = await folder.run(['query', '--json', '--', sql]);
  expect({ code, rows: JSON.parse(stdout).rows }).toEqual({ code: 0, rows: [{ one: 1 }] });
});

test('Ctrl-C ends the query on the server too', async () => {
  const client = await connect(database.url);
  const { child } = startProgram(['query', "SELECT 'watched', pg_sleep(100)"], { cwd: folder.path });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await client.end();
  });
  const count = async (): Promise<number> => {
    const sql = `SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT ''watched''%'`;
    return Number((await client.query(sql)).rows[0].n);
  };
  await until('the query runs', async () => (await count()) === 1);
  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  expect(code).toBe(130);
  // Its answer was waited for: nothing is left to wait for.
  expect(await count()).toBe(0);
});
