/** Exports read back: NDJSON by the import, Parquet by a library, compared with ledger and warehouse. */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { beforeAll, expect, test } from 'vitest';
import { callTables, type Row, wordsView } from '../../../schemas/tables.ts';
import { exportCalls, type exportFormats } from '../../../src/pipeline/export/export-calls.ts';
import { importFile } from '../../../src/pipeline/import/import-file.ts';
import { eraseCalls } from '../../../src/store/persons/calls.ts';
import { digestedColumns } from '../../../src/warehouse/content-hash.ts';
import type { DigestedName } from '../../../src/warehouse/warehouse.ts';
import { type Vcon, vconSchema } from '../../calls/vcon-schema.ts';
import { useFolder } from '../../support/folder.ts';
import { usePipeline } from '../../support/pipeline.ts';
import { collect } from '../../support/rows.ts';

const pipeline = usePipeline({}, { keep: true });
const folder = useFolder('export');
const calls = 230;
const start = Date.parse('2024-01-01T00:00:00Z');
const micros = (index: number): number => (start + index * 60_000) * 1000;

/** Several calls of one instant, so that pages end between them. */
const words = [
  { value: 'bonjour', start: 0.5 },
  { score: 1, value: null },
];
const said = { from: 'out', content: 'bonjour là', words };
const record = (index: number): Record<string, unknown> => ({
  unique_id: `c${String(index).padStart(4, '0')}`,
  timestamp: new Date(start + Math.floor(index / 3) * 180_000).toISOString(),
  duration: index % 2 === 0 ? '61.25' : 'long',
  metadata: { Agent: 'Zoë “é” \u2028', UDF_num_01: '12345678901234567890.5', UDF_num_02: 'n/a' },
  in: { data: '+1 555 0100', type: 'PHONE' },
  tags: Object.entries({ t: index % 2 === 0, u: 1.5 }).map(([unique_id, value]) => ({ unique_id, value })),
  visit: { depth: [1, null] },
  transcript_json: { callData: [said], meta: { lang: 'fr', obfuscated: 'true' } },
});
const records = Array.from({ length: calls }, (_, index) => record(index));

beforeAll(async () => {
  const path = join(folder, 'all.ndjson');
  await writeFile(path, records.map((one) => JSON.stringify(one)).join('\n'));
  await importFile(pipeline.deps, { from: path }, {});
  await pipeline.drain();
});

type Format = (typeof exportFormats)[number];
const run = (name: string, format: Format, over: { from?: number; to?: number; signal?: AbortSignal } = {}) => {
  const { from = micros(0), to = micros(calls), signal = new AbortController().signal } = over;
  const units = { utterance_start: 'seconds', utterance_duration: 'unknown' } as const;
  const input = { format, folder: join(folder, name), from, to, processedField: 'qualified', units, version: 'test' };
  return exportCalls(pipeline.store, input, { signal, onProgress: () => undefined });
};

const readLines = async (path: string): Promise<unknown[]> =>
  (await readFile(join(folder, path), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

const readJson = async (...path: string[]) => JSON.parse(await readFile(join(folder, ...path), 'utf8'));
/** Each is a file with its identifier as name. */
const readVcons = async (path: string): Promise<Vcon[]> => {
  const names = (await readdir(join(folder, path))).filter((name) => name.endsWith('.vcon'));
  const vcons: Vcon[] = await Promise.all(names.map((name) => readJson(path, name)));
  expect(vcons.map(({ uuid }) => `${uuid}.vcon`)).toEqual(names);
  return vcons;
};

/** In the columns' order, as flatten makes them. */
const readParquet = (path: string): Promise<Row[]> =>
  asyncBufferFromFile(path).then((file) => parquetReadObjects({ file, utf8: true }));

/** PostgreSQL spells JSON in its own way. */
const plain = (value: unknown, type: string | undefined): unknown => {
  if (value instanceof Date) return value.getTime() * 1000;
  if (typeof value === 'bigint') return Number(value);
  return type === 'json' && value !== null ? JSON.parse(String(value)) : value;
};

test('NDJSON: every document once, in order of time, and the import takes it', async () => {
  expect(await run('documents', 'ndjson')).toEqual({ calls, undated: 0, files: { 'calls.ndjson': calls } });
  expect(await readLines('documents/calls.ndjson')).toEqual(records);
  const again = await importFile(pipeline.deps, { from: join(folder, 'documents/calls.ndjson') }, {});
  expect(again).toMatchObject({ records: calls, refused: 0, changed: 0 });
  expect((await run('part', 'ndjson', { from: micros(30), to: micros(60) })).calls).toBe(30);
  expect(await readJson('part/manifest.json')).toMatchObject({ calls: 30, format: 'ndjson' });
  for (const name of ['manifest.json', 'calls.ndjson'])
    expect((await stat(join(folder, 'part', name))).mode & 0o777, name).toBe(0o600);
});

test('Parquet: a file for each table, with the rows that the warehouse has', async () => {
  const { files } = await run('tables', 'parquet');
  const tables = callTables.filter(({ name }) => name !== 'documents').map(({ name }) => name as DigestedName);
  for (const name of [...tables, wordsView.name]) {
    const held: Row[] = await collect(pipeline.warehouse.proof.rowsOf(name));
    // The guard is the warehouse's own, and word arrays are a file of their own.
    const definition = name === 'words' ? wordsView : callTables.find((table) => table.name === name);
    const own = new Set(definition?.columns.map((one) => one.name));
    const kept = digestedColumns(name).filter((one) => one.type !== 'words' && own.has(one.name));
    const pick = (row: Row) => JSON.stringify(kept.map(({ name: column, type }) => plain(row[column], type)));
    const read = await readParquet(join(folder, 'tables', `${name}.parquet`));
    expect(read.length, name).toBe(files[`${name}.parquet`]);
    expect(read.map(pick).sort(), name).toEqual(held.map(pick).sort());
    // Readers differ in what they make of the older type alone: some take a local time.
    const { schema } = await parquetMetadataAsync(await asyncBufferFromFile(join(folder, 'tables', `${name}.parquet`)));
    const utc = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' };
    const types = new Map(schema.map((one) => [one.name, one.logical_type]));
    for (const one of definition?.columns ?? [])
      if (one.type !== 'words')
        expect(types.get(one.name), one.name).toEqual(one.type === 'timestamp' ? utc : undefined);
  }
});

test('vCon: one a call, valid, with nothing of the record lost', async () => {
  const { files } = await run('vcons', 'vcon');
  expect(files).toEqual({ '*.vcon': calls });
  const vcons = (await readVcons('vcons')).map((one) => vconSchema.parse(one));
  const bodyOf = ({ analysis }: Vcon, type: string) => analysis.find((one) => one.type === type)?.body;
  const kept = vcons.map((vcon) => ({
    ...(bodyOf(vcon, 'call_record') as Record<string, unknown>),
    tags: bodyOf(vcon, 'tags'),
    transcript_json: bodyOf(vcon, 'transcript'),
  }));
  const byId = (one: Record<string, unknown>, other: Record<string, unknown>) =>
    `${one.unique_id}` < `${other.unique_id}` ? -1 : 1;
  expect(kept.sort(byId)).toEqual(records);
  expect(new Set(vcons.map(({ uuid }) => uuid)).size).toBe(calls);
});

test('calls without a time are in an export of all calls, and any other export counts them', async () => {
  const undated = join(folder, 'undated.json');
  await writeFile(undated, JSON.stringify({ unique_id: 'undated', timestamp: 'some day', status: 'void' }));
  await importFile(pipeline.deps, { from: undated, observedAt: micros(0) });
  const all = { from: -Infinity, to: Infinity };
  for (const format of ['ndjson', 'parquet', 'vcon'] as const) {
    const { calls: written, undated: left, files } = await run(`whole-${format}`, format, all);
    expect([written, left, Object.values(files)[0]], format).toEqual([calls + 1, 0, calls + 1]);
  }
  expect((await readLines('whole-ndjson/calls.ndjson')).at(-1)).toMatchObject({ unique_id: 'undated' });
  const undatedVcon = (await readVcons('whole-vcon')).find(({ dialog }) => dialog.length === 0);
  expect(vconSchema.parse(undatedVcon).analysis).toMatchObject([{ type: 'call_record', body: { status: 'void' } }]);
  expect(await run('ranged', 'ndjson')).toMatchObject({ calls, undated: 1 });
  const { left_out } = await readJson('ranged/manifest.json');
  expect(left_out).toEqual({ 'calls without a time, which are in no range': 1 });
  expect(await readJson('whole-ndjson/manifest.json')).toMatchObject({ from: null, to: null, left_out: {} });
});

test('erased calls are left out, what is there is not replaced, and a stopped export leaves nothing', async () => {
  await eraseCalls(pipeline.store, ['c0001']);
  expect((await run('erased', 'ndjson')).calls).toBe(calls - 1);
  for (const name of ['erased', '-'])
    await expect(run(name, 'ndjson'), name).rejects.toMatchObject({ code: 'USAGE_FILE' });
  await mkdir(join(folder, 'empty'));
  await run('empty', 'parquet', { from: micros(0), to: micros(3) });
  expect(await readFile(join(folder, 'empty/redactions.parquet'), 'latin1')).toContain('\x16\0\x19\x0c');
  const before = await readdir(folder);
  await expect(run('stopped', 'parquet', { signal: AbortSignal.abort() })).rejects.toThrow();
  expect(await readdir(folder)).toEqual(before);
});
