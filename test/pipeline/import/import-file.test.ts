import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { importFile } from '../../../src/pipeline/import/import-file.ts';
import { listQuarantine } from '../../../src/store/delivery/quarantine.ts';
import { readRows } from '../../../src/store/ledger/ledger.ts';
import { countRows } from '../../../src/warehouse/content-hash.ts';
import { useFolder } from '../../support/folder.ts';
import { forAll } from '../../support/for-all.ts';
import { usePipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';

const pipeline = usePipeline();
const folder = useFolder('import');
afterEach(() => pipeline.store.pool.query(`DELETE FROM meta WHERE key LIKE 'import:%'`));

const timestamp = '2023-12-04T15:18:29Z';
const at = Date.parse(timestamp) * 1000;
const record = (n: number, more: Record<string, unknown> = {}) => ({ unique_id: `c${n}`, timestamp, n, ...more });
const ndjson = (records: readonly unknown[]): string => `${records.map((one) => JSON.stringify(one)).join('\n')}\n`;

let files = 0;
const save = async (content: string | Buffer): Promise<string> => {
  const path = join(folder, `file-${++files}.txt`);
  await writeFile(path, content);
  return path;
};
const run = async (content: string | Buffer, options?: Parameters<typeof importFile>[2]) =>
  await importFile(pipeline.deps, { from: await save(content) }, options);
/** Begins an import that is stopped once it has told of its progress so many times. */
const stopAfter = async (times: number, input: Parameters<typeof importFile>[1], batchBytes = 500) => {
  const stop = new AbortController();
  const told: unknown[] = [];
  const onProgress = (progress: unknown) => told.push(progress) === times && stop.abort(new Error('stopped'));
  const first = importFile(pipeline.deps, input, { batchBytes, signal: stop.signal, onProgress });
  await expect(first).rejects.toThrow('stopped');
};
const heldIds = () => column<string>(pipeline.store, 'SELECT call_id FROM ledger ORDER BY 1');
const quarantined = async (): Promise<string[]> =>
  (await listQuarantine(pipeline.store))
    .map((entry) => `${entry.origin.replace(/^file-\d+\.txt/, 'file')} ${entry.reason}`)
    .sort();

const three = [
  record(1),
  record(2, { text: 'a "quoted"\\ ] } , é😀\u2028' }),
  record(3, { nested: [[{ a: [1, 2] }], 'x,y]'] }),
];
const plain: Record<string, string | Buffer> = {
  NDJSON: ndjson(three),
  'NDJSON without a last newline': ndjson(three).trimEnd(),
  'NDJSON with CRLF, blank lines and a byte order mark': `\ufeff\r\n${ndjson(three).replaceAll('\n', '\r\n\r\n')}  \r\n`,
  'a JSON array': JSON.stringify(three),
  'a pretty JSON array with a byte order mark': `\ufeff\n ${JSON.stringify(three, null, 2)}\n\n`,
};

function* cut(bytes: Buffer, length: number) {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

test.each(Object.entries(plain))('forms: %s, plain and gzip, a file or a stream in chunks', async (_, content) => {
  for (const pack of [Buffer.from, gzipSync] as ((bytes: Buffer) => Buffer)[])
    for (const size of [1, 7, undefined]) {
      await pipeline.clear();
      const bytes = pack(Buffer.from(content as string));
      const stream = (length: number) => Readable.from(cut(bytes, length));
      const from = size === undefined ? await save(bytes) : { name: 'stdin', bytes: stream(size) };
      expect(await importFile(pipeline.deps, { from })).toMatchObject({ records: 3, refused: 0, changed: 3 });
      const rows = await readRows(pipeline.store, ['c1', 'c2', 'c3']);
      expect([1, 2, 3].map((n) => rows.get(`c${n}`)?.document?.toJSON())).toEqual(three);
      expect((await countRows(pipeline.warehouse)).calls).toBe(3);
    }
});

test.each([undefined, 2])('forms: saved answers of the list, %s spaces deep: records are read', async (indent) => {
  const answers = [[three[0], three[1]], [], [three[2], { n: 1 }]].map((data) => ({ count: 9, page: { data } }));
  const from = await save(`${answers.map((one) => JSON.stringify(one, null, indent)).join('\r\n')}\n`);
  const input = { from, records: 'page.data' };
  await stopAfter(1, input, 1);
  expect(await importFile(pipeline.deps, input)).toMatchObject({ records: 4, refused: 1 });
  const rows = await readRows(pipeline.store, ['c1', 'c2', 'c3']);
  expect([1, 2, 3].map((n) => rows.get(`c${n}`)?.document?.toJSON())).toEqual(three);
  expect(await quarantined()).toEqual([expect.stringMatching(/^file:\d+ unique_id is absent$/)]);
  // A call may have a field of that name.
  const calls = { from: await save(ndjson([record(7, { page: { data: [1] } })])), records: 'page.data' };
  expect(await importFile(pipeline.deps, calls)).toMatchObject({ records: 1, refused: 0 });
});

test('forms: nothing but blanks is no record, Latin-1 is refused, and members of gzip are one file', async () => {
  for (const content of ['', ' \n\n', '[]', ' [ ] ', '\ufeff', gzipSync('')])
    expect(await run(content)).toMatchObject({ records: 0, refused: 0 });
  const latin1 = Buffer.from(ndjson([record(1, { status: 'é' })]), 'latin1');
  expect(await run(latin1)).toMatchObject({ records: 1, refused: 1 });
  const [a, b] = [Buffer.from(ndjson([record(1)])), Buffer.from(ndjson([record(2)]))];
  expect(await run(Buffer.concat([gzipSync(a), gzipSync(b)]))).toMatchObject({ records: 2 });
});

const observedAt = async (id: string) => (await pipeline.rowOf(id))?.firstSeenAt;

test('the time of a record is the given one, else the end of its processing, else its own; never now', async () => {
  const records = [
    { unique_id: 'both', timestamp, qualified: '2023-12-05T00:00:00Z' },
    { unique_id: 'own', timestamp },
    { unique_id: 'unreadable', timestamp, qualified: 'soon' },
    { unique_id: 'none' },
    { unique_id: 'ahead', timestamp: '2199-01-01T00:00:00Z' },
  ];
  await run(ndjson(records));
  const processed = Date.parse('2023-12-05T00:00:00Z') * 1000;
  const times = [await observedAt('both'), await observedAt('own'), await observedAt('unreadable')];
  expect(times).toEqual([processed, at, at]);
  expect(await heldIds()).toEqual(['both', 'own', 'unreadable']);
  const noTime = 'no time of its own in the past, and none was given for the import';
  expect(await quarantined()).toEqual([`file:4 ${noTime}`, `file:5 ${noTime}`]);
  const given = Date.parse('2024-01-01T00:00:00Z') * 1000;
  const again = await importFile(pipeline.deps, { from: await save(ndjson(records)), observedAt: given });
  expect(again).toMatchObject({ added: 2, changed: 2, earlier: 0 });
  expect(await observedAt('none')).toBe(given);
  expect(await pipeline.rowOf('both')).toMatchObject({ firstSeenAt: processed, lastSeenAt: given });
  const back = await importFile(pipeline.deps, { from: await save(ndjson(records)), observedAt: given / 2 });
  expect(back).toMatchObject({ added: 0, changed: 5, earlier: 5 });
  const ahead = importFile(pipeline.deps, { from: await save(''), observedAt: (Date.now() + 3_600_000) * 1000 });
  await expect(ahead).rejects.toMatchObject({ code: 'IMPORT_TIME_AHEAD' });
});

test('bad records go to quarantine with file and line, and their neighbours are imported', async () => {
  const deep = `{"unique_id":"deep","timestamp":"${timestamp}","x":${'['.repeat(400)}${']'.repeat(400)}}`;
  const lines = [
    JSON.stringify(record(1)),
    '{"unique_id":',
    '',
    'null',
    '{"n":1}',
    deep,
    `{"unique_id":"long","x":"${'x'.repeat(200_000)}"}`,
    JSON.stringify(record(2)),
  ];
  expect(await run(lines.join('\n'), { recordBytes: 100_000 })).toMatchObject({ records: 7, refused: 5, changed: 2 });
  expect(await heldIds()).toEqual(['c1', 'c2']);
  expect(await quarantined()).toEqual([
    'file:2 not JSON',
    'file:4 not a JSON object',
    'file:5 unique_id is absent',
    'file:6 the record nests deeper than 200 levels',
    'file:7 too long; only its beginning is kept',
  ]);
  const bodyOf = async (line: number) => {
    const of = `SELECT convert_from(body, 'UTF8') FROM quarantine WHERE origin LIKE '%:${line}'`;
    return (await column<string>(pipeline.store, of))[0];
  };
  expect(await bodyOf(2)).toBe('{"unique_id":');
  expect(await bodyOf(6)).toBe(deep);
  expect((await bodyOf(7))?.length).toBe(64 * 1024);
});

test('bad records in an array too, by the line on which they begin', async () => {
  const content = `[\n${JSON.stringify(record(1))},\n{"a" "b"},\n  5,\n${JSON.stringify(record(2), null, 1)},\n[{"unique_id":"x"}],\n "a,b",\n${JSON.stringify(record(3))}\n]`;
  expect(await run(content)).toMatchObject({ records: 7, refused: 4, changed: 3 });
  expect(await heldIds()).toEqual(['c1', 'c2', 'c3']);
  expect(await quarantined()).toEqual([
    'file:10 not a JSON object',
    'file:11 not a JSON object',
    'file:3 not JSON',
    'file:4 not a JSON object',
  ]);
});

const anyLines = fc.array(fc.oneof(fc.constant(undefined), fc.uint8Array({ maxLength: 30 })), { maxLength: 20 });

test('bad records: any bytes at all: no crash, and no valid line is lost', () =>
  forAll([anyLines], { numRuns: 12 }, async (parts) => {
    await pipeline.clear();
    // The first line decides the form; here it is a record.
    const lines = [undefined, ...parts].map((part, n) =>
      Buffer.from(part?.filter((byte) => byte !== 0x0a) ?? JSON.stringify(record(n))),
    );
    await run(Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')])));
    expect(await heldIds()).toHaveLength(1 + parts.filter((part) => part === undefined).length);
  }));

const many = Array.from({ length: 400 }, (_, n) => record(n, { r: Math.sin(n) }));

test.each<[string, string | Buffer, string, imported: unknown]>([
  ['an array that does not end', `[${JSON.stringify(record(1))},`, 'IMPORT_FILE_BROKEN', 1],
  ['an array with something behind it', `[${JSON.stringify(record(1))}] x`, 'IMPORT_FILE_BROKEN', 1],
  ['gzip that is cut off', gzipSync(ndjson(many)).subarray(0, -2_000), 'IMPORT_FILE_BROKEN', expect.closeTo(275, -2)],
  ['zstd, which is unpacked on the way', Buffer.from('28b52ffd2004', 'hex'), 'IMPORT_ENCODING', 0],
  ['UTF-16', Buffer.from(`\ufeff${ndjson([record(1)])}`, 'utf16le'), 'IMPORT_ENCODING', 0],
  ['UTF-16 without its mark', Buffer.from(ndjson([record(1)]), 'utf16le'), 'IMPORT_ENCODING', 0],
  ['xz', Buffer.from('fd377a585a000004e6d6b446', 'hex'), 'IMPORT_ENCODING', 0],
  ['bzip2', Buffer.from('425a6839314159265359a1', 'hex'), 'IMPORT_ENCODING', 0],
  ['zip', Buffer.from('504b030414000000080000000a', 'hex'), 'IMPORT_ENCODING', 0],
  ['Parquet', Buffer.from(`PAR1\u0015\u0004\u0015\n{"unique_id":"c1"}\nPAR1`), 'IMPORT_ENCODING', 0],
  ['a tar file in gzip', gzipSync(Buffer.concat([Buffer.from('calls.json'), Buffer.alloc(502)])), 'IMPORT_ENCODING', 0],
])('files that end badly: %s: a terminal error; what came before is imported', async (_, content, code, imported) => {
  await expect(run(content)).rejects.toMatchObject({ code, kind: 'terminal' });
  const { length } = await heldIds();
  expect([length, (await countRows(pipeline.warehouse)).calls]).toEqual([imported, length]);
});

test('files that cannot be read to their end: a file that is not there, and a folder', async () => {
  const refusal = { code: 'IMPORT_FILE_UNREADABLE', kind: 'terminal' };
  for (const from of [join(folder, 'nowhere'), folder])
    await expect(importFile(pipeline.deps, { from })).rejects.toMatchObject(refusal);
});

const records = Array.from({ length: 40 }, (_, n) => record(n, { text: 'x'.repeat(n) }));

test.each<[string, string | Buffer]>([
  ['NDJSON', ndjson(records)],
  ['a JSON array', `[\n${records.map((one) => JSON.stringify(one)).join(',\n')}\n]`],
  ['gzip', gzipSync(ndjson(records))],
])('an import that was interrupted: %s: is run again, and doubles nothing', async (_, content) => {
  const path = await save(content);
  await stopAfter(3, { from: path });
  const before = await heldIds();
  expect(before.length).toBeGreaterThan(0);
  expect(before.length).toBeLessThan(40);
  for (const changed of [40 - before.length, 0])
    expect(await importFile(pipeline.deps, { from: path })).toMatchObject({ records: 40, refused: 0, changed });
  expect(await heldIds()).toHaveLength(40);
  expect((await countRows(pipeline.warehouse)).calls).toBe(40);
});

test('an import that was interrupted says why it fails although its stream waits for more', async () => {
  const bytes = new Readable({ read: () => undefined });
  bytes.push(ndjson(Array.from({ length: 501 }, (_, n) => record(n))));
  const store = { ...pipeline.store, transaction: () => Promise.reject(new Error('the store is away')) };
  const imported = importFile({ ...pipeline.deps, store }, { from: { name: 'stdin', bytes } });
  await expect(imported).rejects.toThrow('the store is away');
});

test('an import that was interrupted is run again: each refused record is in quarantine once', async () => {
  const path = await save(`${ndjson(records.slice(0, 20))}\n\nbad\n${ndjson(records.slice(20))}worse`);
  await stopAfter(1, { from: path });
  await importFile(pipeline.deps, { from: path });
  expect(await quarantined()).toEqual(['file:23 not JSON', 'file:44 not JSON']);
});

test('memory does not grow with the file, and progress is told', async () => {
  const path = join(folder, 'large.ndjson');
  const lines = Array.from({ length: 50 }, (_, n) => record(n, { text: 'x'.repeat(30_000) }));
  for (let n = 0; n < 80; n += 1) await appendFile(path, ndjson(lines));
  const told: number[] = [];
  let peak = 0;
  const start = process.memoryUsage().rss;
  const onProgress = ({ bytes, size }: { bytes: number; size: number | null }) => {
    told.push(bytes / (size ?? 1));
    peak = Math.max(peak, process.memoryUsage().rss);
  };
  expect(await importFile(pipeline.deps, { from: path }, { onProgress })).toMatchObject({ records: 4_000, refused: 0 });
  expect(told.at(-1)).toBe(1);
  expect([...told].sort((a, b) => a - b)).toEqual(told);
  // 120 MB of records.
  expect(peak - start).toBeLessThan(250 * 1024 * 1024);
});
