/** Limit A: what PostgreSQL itself needs to COPY the rows of a load that somebody has flattened before. */
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished, pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { guardColumns, tableOf, type WordArrays } from '../../schemas/tables.ts';
import { flattenCall } from '../../src/calls/flatten.ts';
import type { startSimulatorProcess } from '../../src/simulator/demo/simulator-process.ts';
import { contentHash } from '../../src/warehouse/content-hash.ts';
import { listChanges } from '../../src/warehouse/postgres/ddl.ts';
import { columnsOf, type Layout, qualified } from '../../src/warehouse/postgres/layout.ts';
import type { FlatRows } from '../../src/warehouse/warehouse.ts';
import { createDatabase } from './create-database.ts';
import { type ProcessorTime, readProcessorTime, usedBetween } from './processor.ts';
import { requestToken } from './request-token.ts';

type SimulatorProcess = Awaited<ReturnType<typeof startSimulatorProcess>>;

const layout: Layout = { schema: 'limit_a', documents: false };
/** One row per word: the layout that limit A is measured with. */
const wordsTable = `CREATE TABLE ${qualified(layout, 'words')} (
  call_id text, call_timestamp timestamptz, utterance_index integer, word_index integer, side text,
  value text, start_offset float8, length float8, score float8,
  PRIMARY KEY (call_id, utterance_index, word_index))`;
const names = ['calls', 'utterances', 'words', 'tags', 'metadata', 'udfs', 'contacts'] as const;

export interface PreparedRows {
  readonly files: Readonly<Record<string, string>>;
  readonly bytes: number;
  readonly words: number;
}

const cell = (value: unknown, type: string): string => {
  if (value === null || value === undefined) return '\\N';
  if (type === 'timestamp') return new Date((value as number) / 1000).toISOString();
  if (typeof value === 'boolean') return value ? 't' : 'f';
  return String(value).replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('\r', '\\r');
};

interface Page {
  readonly data: readonly Record<string, unknown>[];
  /** Bytes of the body. */
  readonly size: number;
}

/** Spans of the list; each must hold fewer calls than the service lets an offset reach. */
const spans = 64;

async function* readPages(simulator: SimulatorProcess, token: string): AsyncGenerator<Page> {
  const [from, to] = [Date.parse(simulator.range.from), Date.parse(simulator.range.to)];
  const length = Math.ceil((to + 1 - from) / spans);
  for (let start = from; start <= to; start += length) {
    const window = `timestamp_from=${iso(start)}&timestamp_to=${iso(start + length - 1)}`;
    for (let offset = 0; ; offset += 100) {
      const response = await fetch(`${simulator.url}/calls?limit=100&offset=${offset}&${window}`, {
        headers: { authorization: `bearer ${token}` },
      });
      const body = Buffer.from(await response.arrayBuffer());
      if (!response.ok) throw new Error(`The simulator answers ${response.status}.`);
      const { data } = JSON.parse(body.toString('utf8')) as { data: Record<string, unknown>[] };
      if (data.length === 0) break;
      yield { data, size: body.length };
    }
  }
}

const iso = (ms: number): string => new Date(ms).toISOString();

const guardCell = (name: string, rows: FlatRows): string => {
  if (name === 'content_hash') return contentHash(rows);
  return name === 'load_id' ? 'bench' : '1';
};

/** Reads every page once, flattens it and writes one COPY text file a table. */
export const prepareLimitA = async (input: { simulator: SimulatorProcess; folder: string }): Promise<PreparedRows> => {
  const { simulator, folder } = input;
  const token = await requestToken(simulator);
  const files = Object.fromEntries(names.map((name) => [name, join(folder, `${name}.copy`)]));
  const streams = Object.fromEntries(names.map((name) => [name, createWriteStream(files[name] as string)]));
  const write = (name: string, line: string): void => void streams[name]?.write(line);
  let bytes = 0;
  let words = 0;
  for await (const { data, size } of readPages(simulator, token)) {
    bytes += size;
    for (const document of data) {
      const { rows } = flattenCall({
        callId: document.unique_id as string,
        document,
        firstSeenAt: null,
        changedAt: null,
        sourceDeletedAt: null,
      });
      for (const name of names) {
        if (name === 'words') continue;
        const columns = tableOf(name).columns;
        for (const row of rows[name]) {
          const cells = columns.flatMap(({ name, type }) => (type === 'words' ? [] : [cell(row[name], type)]));
          const guard = name === 'calls' ? guardColumns.map((column) => guardCell(column.name, rows)) : [];
          write(name, `${[...cells, ...guard].join('\t')}\n`);
        }
      }
      for (const { call_id, call_timestamp, utterance_index, side, words: arrays } of rows.utterances) {
        const { value, start, length, score } = arrays as WordArrays;
        words += value.length;
        for (let word = 0; word < value.length; word += 1) {
          const row = [
            call_id,
            cell(call_timestamp, 'timestamp'),
            utterance_index,
            word,
            side,
            value[word],
            start[word],
            length[word],
            score[word],
          ];
          write('words', `${row.map((item) => cell(item, 'text')).join('\t')}\n`);
        }
      }
    }
    await Promise.all(
      Object.values(streams).map((stream) =>
        stream.writableNeedDrain ? new Promise((resolve) => stream.once('drain', () => resolve(undefined))) : undefined,
      ),
    );
  }
  for (const stream of Object.values(streams)) {
    stream.end();
    await finished(stream);
  }
  return { files, bytes, words };
};

/** COPYs the files into empty tables with primary keys over one connection. */
export const loadLimitA = async (input: {
  serverUrl: string;
  prepared: PreparedRows;
  database: string;
  postgresPid: number;
}): Promise<{ seconds: number; megabytes: number; processor: ProcessorTime }> => {
  const database = await createDatabase(input.serverUrl, input.database);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const statements = listChanges(layout).filter(({ name }) => /^(schema|table|index)/.test(name));
    for (const sql of [...statements.map((change) => change.sql), wordsTable]) await client.query(sql);
    const begin = performance.now();
    const processes = { postgres: input.postgresPid };
    const before = readProcessorTime(processes);
    for (const name of names) {
      const columns =
        name === 'words'
          ? ''
          : `(${columnsOf(tableOf(name))
              .filter((column) => !column.type.endsWith('[]'))
              .map((column) => `"${column.name}"`)
              .join(', ')})`;
      const copy = client.query(copyFrom(`COPY ${qualified(layout, name)} ${columns} FROM STDIN`));
      await pipeline(createReadStream(input.prepared.files[name] as string, { highWaterMark: 1 << 20 }), copy);
    }
    const seconds = (performance.now() - begin) / 1000;
    const processor = usedBetween(before, readProcessorTime(processes));
    const { rows } = await client.query<{ bytes: string }>('SELECT pg_database_size(current_database()) AS bytes');
    return { seconds, megabytes: Number(rows[0]?.bytes) / 1e6, processor };
  } finally {
    await client.end();
    await database.drop();
  }
};
