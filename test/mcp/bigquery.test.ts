/** Assistants over a BigQuery warehouse: what is refused before it runs, and what the local one answers. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/lib/error-codes.ts';
import { terminal } from '../../src/lib/errors.ts';
import { openStore } from '../../src/store/store.ts';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { createQueries } from '../../src/warehouse/bigquery/queries.ts';
import { openReader } from '../../src/warehouse/bigquery/reader.ts';
import { analytics, changeCall } from '../marts/analytics.ts';
import { fillWarehouses, readChangedCalls } from '../marts/two-warehouses.ts';
import { callTool, openAssistant } from '../support/assistant.ts';
import { openCliFolder, withoutService } from '../support/cli.ts';
import { useOpened } from '../support/opened.ts';

const limits = { rows: 3, bytes: 100, billedBytes: 1_000 };

const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'p', dataset: 'calls' });
const roles = { restricted: 'r', analyst: 'a', marts: 'calls_marts', openMarts: {} };
const ran: string[] = [];
/** A BigQuery whose dry runs say this; `closed` is how it answers when transcripts are asked for. */
const readerOf = (
  plan: object,
  { closed = [] as ErrorCode[], restricted = false, rows = 1, row = '{}', queryMs = 10_000, pauseMs = 0 } = {},
) =>
  openReader({
    config,
    rights: { marts: 'calls_marts', queryMs, ...(restricted && { restricted: roles }) },
    query: async () => [],
    queries: {
      plan: async (sql: string) => {
        const code = sql.includes('utterances') ? closed.shift() : undefined;
        if (code) throw terminal(code, 'The account may not read it, or there is no answer.');
        return { type: 'SELECT', bytes: 10, reads: ['calls.calls'], ...plan };
      },
      async *stream({ sql }: { readonly sql: string }) {
        ran.push(sql);
        await delay(pauseMs);
        for (let n = 0; n < rows; n += 1) yield { row };
      },
    } as never,
  });
const refused = (plan: object, how = {}, sql = 'SELECT 1') => {
  const answering = readerOf(plan, how).answer(sql, limits);
  return answering.then(() => 'answered').catch(({ code }: { code: string }) => code);
};

test('what changes something, reads too much, or reads beyond tables and marts is refused', async () => {
  for (const type of ['INSERT', 'DELETE', 'MERGE', 'SCRIPT', 'EXPORT_DATA', 'CREATE_TABLE_AS_SELECT', 'CALL'])
    expect(await refused({ type }), type).toBe('QUERY_REFUSED');
  expect(await refused({ bytes: 1_001 })).toBe('QUERY_REFUSED');
  for (const table of ['other.calls', 'calls_elsewhere.x', 'calls.INFORMATION_SCHEMA.TABLES', 'callsync.events'])
    expect(await refused({ reads: ['calls.calls', table] }), table).toBe('QUERY_REFUSED');
  expect(await refused({}, { restricted: true })).toBe('QUERY_READER');
  for (const sql of [
    'SELECT 1; SELECT 2',
    "SELECT ';'; DROP TABLE calls",
    "SELECT '''a\\''' ''' ; DROP TABLE calls; --'''",
    'SELECT 1 /* ; */ ; # ;\nDROP TABLE calls',
    'SELECT 1 -- a comment ends here\r; DROP TABLE calls',
    "SELECT * FROM External_Query('us.books', 'SELECT * FROM customers')",
  ])
    expect(await refused({}, {}, sql), sql).toBe('QUERY_REFUSED');
  expect(ran).toEqual([]);
  const within = 'SELECT \';\' AS a, "x;y" AS b, `c;d` FROM t -- ; e\n;';
  for (const sql of [within, "SELECT '''it's; so''' # ;", 'SELECT 1;\n'])
    expect(await refused({}, {}, sql), sql).toBe('answered');
  for (const table of ['calls.calls', 'calls_marts.agent_daily', 'calls_restricted.calls'])
    expect(await refused({ reads: [table] }), table).toBe('answered');
  const denied = 'BIGQUERY_ACCESS_DENIED';
  expect(await refused({}, { restricted: true, closed: [denied] })).toBe('answered');
  // Without an answer, nothing is known of the account's rights: the next query asks again.
  const unsure = readerOf({}, { restricted: true, closed: ['BIGQUERY_UNREACHABLE', denied] });
  await expect(unsure.answer('SELECT 1', limits)).rejects.toMatchObject({ code: 'BIGQUERY_UNREACHABLE' });
  expect(await unsure.answer('SELECT 1', limits)).toMatchObject({ complete: true });
});

test('a dry run names tables and functions with their datasets', async () => {
  const referencedTables = [{ projectId: 'p', datasetId: 'calls', tableId: 'calls' }];
  const routine = { datasetId: 'elsewhere', routineId: 'send' };
  const referencedRoutines = ['p', 'q'].map((projectId) => ({ projectId, ...routine }));
  const query = { statementType: 'SELECT', referencedTables, referencedRoutines };
  const rest = async () => ({ statistics: { query } });
  const queries = createQueries({ config, rest: rest as never, pause: async () => undefined }, {} as never);
  expect((await queries.plan('SELECT 1')).reads).toEqual(['calls.calls', 'elsewhere.send', 'q.elsewhere.send']);
});

test('a query ends when its time is over', async () => {
  const slow = readerOf({}, { queryMs: 50, pauseMs: 5_000 });
  await expect(slow.answer('SELECT 1', limits)).rejects.toMatchObject({ code: 'QUERY_FAILED' });
});

test('rows and bytes end an answer, and it says so', async () => {
  expect(await readerOf({}, { rows: 3 }).answer('SELECT 1;', limits)).toMatchObject({ complete: true });
  const many = await readerOf({}, { rows: 4 }).answer('SELECT 1', limits);
  expect([many.complete, many.rows.length]).toEqual([false, 3]);
  const large = await readerOf({}, { rows: 2, row: `{"x":"${'x'.repeat(60)}"}` }).answer('SELECT 1', limits);
  expect([large.complete, large.rows.length]).toEqual([false, 1]);
});

describe('the local BigQuery', () => {
  const here = useOpened(async () => {
    const { documents, firstDay } = await readChangedCalls(changeCall);
    return await fillWarehouses({ documents: documents.slice(0, 40), firstDay });
  });
  const folder = useOpened(openCliFolder, ({ remove }) => remove());
  let assistant: Client;
  beforeAll(async () => {
    await here.bigquery.applyMarts(analytics);
    await (await openStore({ url: here.postgresUrl })).close();
    const { project, dataset, restUrl: api_endpoint } = here.bigqueryPlace;
    await folder.configure({
      ...withoutService(here.postgresUrl),
      warehouses: { big: { type: 'bigquery', project, dataset, api_endpoint, marts_schema: `${dataset}_copies` } },
      analytics,
    });
    assistant = await openAssistant(`${folder.path}/callsync.yaml`, ['--warehouse', 'big', '--transcripts']);
  });
  afterAll(() => assistant?.close());

  const call = (name: string, args?: Record<string, unknown>) => callTool(assistant, name, args);

  test('answers with the numbers of the warehouse, and refuses what does not read it alone', async () => {
    const { project, dataset } = here.bigqueryPlace;
    expect(await call('describe_tables')).toMatchObject({ dialect: 'bigquery' });
    const sql = 'SELECT agent, SUM(calls) AS calls FROM {marts}.agent_daily GROUP BY agent ORDER BY agent';
    const asked = sql.replace('{marts}', `\`${project}\`.${dataset}_copies`);
    const { rows, proven_through } = await call('query', { sql: asked });
    expect(proven_through).toMatch(/^2026-/);
    const found = rows.map((row: { calls: unknown }) => ({ ...row, calls: Number(row.calls) }));
    expect(found).toEqual(await here.bigquery.ask(sql));
    const { days } = await call('completeness');
    expect(days.length).toBe((await here.bigquery.readMart('completeness_daily')).length);
    const id = here.documents[0]?.unique_id as string;
    const { call: one, turns } = await call('get_call', { call_id: id });
    expect(one.call_id).toBe(id);
    expect(turns.length).toBeGreaterThan(0);
    expect((await call('get_call', { call_id: "\\' OR TRUE --" })).turns).toEqual([]);
    expect((await call('search_transcripts', { text: 'bonjour' })).refused).toMatch(/SEARCH_UNSUPPORTED/);
    for (const sql of [
      'DELETE FROM calls WHERE TRUE',
      'DROP TABLE calls',
      'CREATE TABLE t AS SELECT 1 AS n',
      'INSERT INTO calls (call_id) VALUES ("x")',
      'SELECT 1; DROP TABLE calls',
      'SELECT 1) AS q); DROP TABLE calls; SELECT * FROM (SELECT 1',
      `SELECT * FROM \`${project}\`.another.calls`,
    ])
      expect((await call('query', { sql })).refused, sql).toMatch(/^(QUERY_REFUSED|BIGQUERY_)/);
    expect(await here.bigquery.ask('SELECT COUNT(*) AS n FROM {tables}.calls')).toEqual([{ n: 40 }]);
    const instant = "SELECT TIMESTAMP '2026-01-01 10:00:00.123456+02' AS at";
    expect(await here.bigquery.ask(instant)).toEqual([{ at: '2026-01-01T08:00:00.123456Z' }]);
  });
});
