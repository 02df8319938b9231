/** The marts as views in both warehouses: equal to each other, and to what the documents say. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { beforeAll, describe, expect, test } from 'vitest';
import type { CallDocument } from '../../schemas/call.ts';
import { openColumns } from '../../schemas/tables.ts';
import { checkTimeZone } from '../../src/app/activity-deps.ts';
import { buildCoverage } from '../../src/health/coverage/coverage.ts';
import { cookbook } from '../../src/marts/cookbook.ts';
import { marts, openMartColumns } from '../../src/marts/render-views.ts';
import { exportCalls } from '../../src/pipeline/export/export-calls.ts';
import { importFile } from '../../src/pipeline/import/import-file.ts';
import { analystQueries } from '../../src/simulator/demo/ask-lines.ts';
import { demoAnalytics } from '../../src/simulator/demo/simulator-process.ts';
import type { StoredVerdict } from '../../src/store/windows/verdicts.ts';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { grantsSql } from '../../src/warehouse/bigquery/grants.ts';
import { useFolder } from '../support/folder.ts';
import { useOpened } from '../support/opened.ts';
import { usePipeline } from '../support/pipeline.ts';
import { executeIn } from '../warehouse/conformance-targets.ts';
import { amounts, analytics, changeCall, dues } from './analytics.ts';
import { countByHand, type Exported } from './by-hand.ts';
import { dayMicros, verdictShapes } from './log-rows.ts';
import { agentSideOf, talkOf, utterancesOf } from './talk.ts';
import { fillWarehouses, readChangedCalls, readDemoCalls, type SimulatedCalls, sortRows } from './two-warehouses.ts';

const useFilled = (read: () => Promise<SimulatedCalls>) => useOpened(async () => fillWarehouses(await read()));

const folder = useFolder('marts');
const pipeline = usePipeline();
const here = useFilled(() => readChangedCalls(changeCall));
beforeAll(async () => {
  for (const one of [here.postgres, here.bigquery]) expect(await one.applyMarts(analytics)).toHaveLength(marts.length);
});

/** As rows that a test asks for. */
const sixDigits = (value: unknown): unknown => (typeof value === 'number' ? Number(value.toFixed(6)) + 0 : value);

test.each(marts)('$name is the same in both, with its columns and key', async ({ name, key, keyMayBeNull }) => {
  const both = [here.postgres, here.bigquery];
  const [left = [], right = []] = await Promise.all(both.map((one) => one.readMart(name)));
  expect(left.length).toBeGreaterThan(0);
  expect(right).toEqual(left);
  for (const [at, one] of both.entries()) {
    // The local BigQuery makes a view whose list of columns is shorter than its query.
    const described = one.viewsOf(analytics).find((view) => view.name === name)?.columns;
    expect(Object.keys([left, right][at]?.[0] ?? {})).toEqual(described?.map((column) => column.name));
  }
  expect(new Set(left.map((row) => JSON.stringify(key.map((column) => row[column])))).size).toBe(left.length);
  if (keyMayBeNull !== true) for (const column of key) expect(left.every((row) => row[column] !== null)).toBe(true);
});

test('talk figures are those of the timeline, counted hundredth by hundredth of a second', async () => {
  const rows = new Map((await here.postgres.readMart('call_talk')).map((row) => [row.call_id, row]));
  expect(rows.size).toBe(here.documents.length);
  // Without the remainders of floats, which other figures here are rounded of: a second is not longer than 1.
  const spaced = "SELECT call_id, CONCAT(longest_silence_seconds, ' s') AS silence FROM {marts}.call_talk";
  const silences = new Map((await here.postgres.ask(spaced)).map(({ call_id, silence }) => [call_id, silence]));
  let compared = 0;
  for (const document of here.documents) {
    const row = rows.get(document.unique_id) ?? {};
    const utterances = utterancesOf(document);
    const expected = talkOf(utterances, agentSideOf(document), 1000);
    for (const [name, value] of Object.entries(expected)) {
      if (typeof value === 'number') expect(row[name], `${name} of ${document.unique_id}`).toBeCloseTo(value, 4);
      else expect(row[name], name).toBe(value);
    }
    expect(silences.get(document.unique_id)).toBe(`${expected.longest_silence_seconds ?? ''} s`);
    compared += Number(utterances.length > 0);
  }
  expect(compared).toBeGreaterThan(70);
});

test('handle time, tag rates, hours and returning callers are those counted by hand over a Parquet export', async () => {
  const lines = here.documents.map((document) => `${JSON.stringify(document)}\n`).join('');
  await writeFile(join(folder, 'calls.ndjson'), lines);
  await importFile(pipeline.deps, { from: join(folder, 'calls.ndjson') }, {});
  const units = { utterance_start: 'seconds', utterance_duration: 'milliseconds' } as const;
  const whole = { from: -Infinity, to: Infinity, processedField: 'qualified', units, version: 'test' };
  const exported = join(folder, 'parquet');
  const quiet = { signal: AbortSignal.timeout(60_000), onProgress: () => undefined };
  await exportCalls(pipeline.store, { format: 'parquet', folder: exported, ...whole }, quiet);
  const readRows = async (table: string) =>
    await parquetReadObjects({ file: await asyncBufferFromFile(join(exported, `${table}.parquet`)), utf8: true });
  const [calls, tags, utterances] = [await readRows('calls'), await readRows('tags'), await readRows('utterances')];
  for (const [mart, rows] of Object.entries(countByHand({ calls, tags, utterances } as Exported, here.firstDay)))
    for (const one of [here.postgres, here.bigquery]) {
      const found = await one.ask(`SELECT ${Object.keys(rows[0] ?? {}).join(', ')} FROM {marts}.${mart}`);
      const wanted: Record<string, unknown>[] = JSON.parse(JSON.stringify(rows, (_, value) => sixDigits(value)));
      expect(sortRows(found), mart).toEqual(sortRows(wanted));
      expect(found.length, mart).toBeGreaterThan(5);
    }
  expect(await here.postgres.ask('SELECT DISTINCT is_called_again FROM {marts}.repeat_calls')).toHaveLength(2);
});

test('keys from the configuration are typed, and what is not of the type is null', async () => {
  const rows = await here.postgres.readMart('calls_wide');
  for (const [index, document] of here.documents.entries()) {
    const row = rows.find((one) => one.call_id === document.unique_id) ?? {};
    const text = (document.metadata as Record<string, string>).UDF_num_02 ?? '';
    const [sent = '', amount] = amounts[index % amounts.length] ?? [];
    expect({ ...row, amount_as_sent: String(row.amount_as_sent) }, sent).toMatchObject({
      deal_value: /^\d+\.?\d*$/.test(text) ? Number(text) : null,
      due: [0, 4, 6].includes(index % 7) ? dues[index % 7] : null,
      flag: [true, false, true, null, null][index % 5],
      ...{ amount, amount_as_sent: sent, amount_unparsable: amount === null && sent !== '' },
      ...{ pieces: [1234, 12, null][index % 3], agent_side: agentSideOf(document) },
    });
  }
});

test('on BigQuery, the views of the restricted hold no transcript, number or free field', async () => {
  const { project, dataset, restUrl: api_endpoint } = here.bigqueryPlace;
  const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project, dataset, api_endpoint });
  const [analyst, restricted] = ['group:analysts@example.com', 'group:others@example.com'];
  const rights = grantsSql(config, { analyst, restricted, marts: `${dataset}_copies`, openMarts: openMartColumns });
  for (const sql of rights.filter((one) => one.startsWith('CREATE'))) await executeIn(config, sql);
  const read: string[] = [];
  for (const name of [...Object.keys(openColumns), ...Object.keys(openMartColumns)]) {
    const rows = await here.bigquery.ask(`SELECT * FROM \`${project}\`.${dataset}_restricted.${name}`);
    // No rules act on these calls.
    if (name !== 'redactions') expect(rows.length, name).toBeGreaterThan(0);
    read.push(JSON.stringify(rows));
  }
  const text = read.join('\n');
  const secrets = here.documents.flatMap((document) => {
    const { Agent: _agent, Direction: _direction, Dept: _dept, ...free } = document.metadata as Record<string, string>;
    const contacts = [document.in, document.out] as ({ readonly data?: string } | null)[];
    const said = utterancesOf(document).map(({ content }) => content);
    return [...said, ...contacts.map((contact) => contact?.data ?? ''), ...Object.values(free)];
  });
  // Shorter texts are found by chance.
  const long = secrets.filter((secret) => secret.length >= 8);
  expect(long.length).toBeGreaterThan(500);
  expect(long.filter((secret) => text.includes(JSON.stringify(secret).slice(1, -1)))).toEqual([]);
  expect(JSON.stringify(await here.bigquery.readMart('transcripts'))).toContain(long[0]);
});

test('a business day is as proven as the UTC windows that it touches; the latest verdict counts', async () => {
  const days = await here.postgres.ask(`SELECT business_day, proven_share, rows_proven_share, completeness
    FROM {marts}.completeness_daily ORDER BY business_day`);
  // Paris is an hour ahead: its days take an hour of the UTC day before. UTC day 3 is proven in its second half alone, by rows.
  const day = (name: string, hours: number, hoursByRows: number) => ({
    business_day: `2026-03-0${name}`,
    proven_share: Number((hours / 24).toFixed(6)),
    rows_proven_share: Number((hoursByRows / 24).toFixed(6)),
    completeness: hours === 24 ? 'proven' : 'partly proven',
  });
  expect(days).toEqual([...[day('1', 23, 0), day('2', 24, 0), day('3', 12, 11), day('4', 1, 1)], ...days.slice(4)]);
});

const planOf = async (columns: string, mart = 'calls_wide'): Promise<string> =>
  JSON.stringify(
    await here.postgres.ask(`EXPLAIN SELECT ${columns} FROM {marts}.${mart} WHERE call_timestamp > now()`),
  );

test('on PostgreSQL, a question reads the rows of the configured keys that it names, and groups none', async () => {
  const [none, one, two] = [await planOf('agent'), await planOf('deal_value'), await planOf('deal_value, queue')];
  expect([none, one, two].map((plan) => plan.split(/on (?:metadata|udfs)/).length - 1)).toEqual([0, 1, 2]);
  expect(none + one + two).not.toContain('Aggregate');
});

test('on PostgreSQL, talk is measured for the calls that a question asks for alone', async () => {
  const [all, times] = [await planOf('*', 'call_talk'), await planOf('words', 'call_talk')];
  expect([all, times].map((plan) => plan.split('Index Cond: (call_id = c.call_id)').length - 1)).toEqual([3, 1]);
});

test('views are replaced only where their definition has changed, also when they lose a column', async () => {
  for (const one of [here.postgres, here.bigquery]) {
    expect(await one.applyMarts(analytics)).toEqual([]);
    const { flag: _flag, ...fewer } = analytics.fields;
    const price = `Prix d'achat {HT} "à" 100 % ${'x'.repeat(100)}`;
    // A mart has a column of that name, and one of its steps a column of the other.
    const fields = { ...fewer, [price]: { name: 'price' }, a: { name: 'previous_call_id' }, b: { name: 'next_day' } };
    expect(await one.applyMarts({ ...analytics, fields })).toEqual(['field_texts', 'calls_wide']);
    const columns = Object.keys((await one.readMart('calls_wide'))[0] ?? {});
    expect([columns.includes('flag'), columns.includes('price')]).toEqual([false, true]);
    expect((await one.readMart('call_talk')).length).toBe(here.documents.length);
    expect(Object.keys((await one.readMart('repeat_calls'))[0] ?? {})).toContain('previous_call_id');
  }
});

test.each(['Europe/Paris', 'America/St_Johns', 'Etc/GMT+2'])('warehouses know the days of %s', async (zone) => {
  for (const { warehouse, place } of [here.postgres, here.bigquery])
    await expect(checkTimeZone(warehouse, place, zone)).resolves.toBeUndefined();
});

test('a time zone that a warehouse knows otherwise is refused', async () => {
  const { warehouse, place } = here.postgres;
  await expect(checkTimeZone(warehouse, place, 'CET')).rejects.toMatchObject({ code: 'CONFIG_TIME_ZONE' });
});

test('without settings a figure that needs them is null and says so, and no other is', async () => {
  for (const one of [here.postgres, here.bigquery]) {
    await one.applyMarts({});
    const talk = await one.readMart('call_talk');
    const units = 'unit unknown: set analytics.units.utterance_start and utterance_duration (callsync calibrate)';
    const statuses = new Set(talk.map(({ talk_status, agent_status }) => `${talk_status}, ${agent_status}`));
    expect([...statuses]).toEqual([`${units}, side unknown: set analytics.agent_side`]);
    const figures = ['talk_in_seconds', 'agent_talk_share', 'longest_silence_seconds', 'words_per_minute'];
    for (const row of talk) expect(figures.map((name) => row[name])).toEqual(Array(4).fill(null));
    expect(talk.some((row) => Number(row.turns) > 2)).toBe(true);
    const calls = await one.readMart('calls_wide');
    for (const row of calls) expect([row.duration_seconds, row.agent_side]).toEqual([null, null]);
    expect(calls[0]?.duration_status).toMatch(/^unit unknown/);
    expect(sortRows(await one.ask('SELECT campaign FROM {marts}.campaign_daily')).length).toBeGreaterThan(3);
  }
});

test('README, demo and cookbook count the calls of a tag, also where a call has the tag several times', async () => {
  const tagsOf = ({ tags }: CallDocument) => (tags ?? []) as { display_name: string; value: unknown }[];
  const had = new Map<string, { calls: number; calls_true: number }>();
  for (const document of here.documents)
    for (const name of new Set(tagsOf(document).map((tag) => tag.display_name))) {
      const isTrue = tagsOf(document).some((tag) => tag.display_name === name && tag.value === true);
      const { calls = 0, calls_true = 0 } = had.get(name) ?? {};
      had.set(name, { calls: calls + 1, calls_true: calls_true + Number(isTrue) });
    }
  const lines = here.documents.flatMap(tagsOf);
  expect(lines.length).toBeGreaterThan([...had.values()].reduce((sum, { calls }) => sum + calls, 0));
  const [, readme = ''] = /## One query\n\n```sql\n([^`]+)```/.exec(readFileSync('README.md', 'utf8')) ?? [];
  const { sql } = cookbook.find(({ title }) => title === 'How often was each tag found true?') ?? {};
  expect(Object.values(analystQueries)).toContain(readme.trim());
  for (const one of [here.postgres, here.bigquery])
    for (const query of [readme.replace('FROM tags', 'FROM {tables}.tags'), String(sql)]) {
      const rows = await one.ask(query);
      expect(rows.length).toBeGreaterThan(4);
      for (const { display_name, tag_name = display_name, calls, found_true, calls_true = found_true } of rows)
        expect({ calls, calls_true: calls_true ?? 0 }, String(tag_name)).toEqual(had.get(String(tag_name)));
    }
});

test('where business days are UTC days, they are as proven as callsync coverage says', async () => {
  const { firstDay } = here;
  const range = { from: firstDay, to: firstDay + 4 * dayMicros };
  const counted = verdictShapes.filter(({ axis, epoch }) => axis === undefined && epoch === undefined);
  const verdicts = counted.map(({ outcome, ...days }) => {
    const [window_from, window_to] = [days.from, days.to].map((day) => firstDay + day * dayMicros);
    return { warehouse: 'main', window_from, window_to, outcome, healed: 0 } as StoredVerdict;
  });
  const webhooks = { since: firstDay, expected: 0, lost: 0, lossRate: 0, lagP50: 0, lagP95: 0 };
  const input = { ...range, warehouses: ['main'], read: [range], verdicts, deliveries: [], webhooks };
  const expected = buildCoverage(input).days.map(({ from, shares }) => ({
    business_day: new Date(from / 1000).toISOString().slice(0, 10),
    proven_share: shares.proven + shares.healed,
  }));
  // The copy of completeness_daily in BigQuery was taken in another time zone, which its own definition does not name.
  for (const [one, mart] of [[here.postgres, 'completeness_daily'] as const, [here.bigquery, 'proven_days'] as const]) {
    await one.applyMarts({});
    const shares = `SELECT business_day, proven_share FROM {marts}.${mart} ORDER BY business_day`;
    expect(await one.ask(shares)).toEqual(expected);
  }
});

describe('the cookbook on the calls of the demo', () => {
  // The page tells this number.
  const demo = useFilled(() => readDemoCalls(200));
  beforeAll(async () => {
    for (const one of [demo.postgres, demo.bigquery]) await one.applyMarts(demoAnalytics);
  });
  test('every question has one answer in both, that of the page', async () => {
    const lines: string[] = [];
    for (const { title, sql } of cookbook) {
      const rows = await demo.postgres.ask(sql);
      expect(await demo.bigquery.ask(sql), title).toEqual(rows);
      expect(rows.length, title).toBeGreaterThan(0);
      lines.push(`${JSON.stringify({ title, rows })}\n`);
    }
    // After `vitest run -u`, `npm run generate` brings the new results into the page.
    await expect(lines.join('')).toMatchFileSnapshot('cookbook-results.ndjson');
  });
});
