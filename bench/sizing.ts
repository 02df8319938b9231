/**
 * Measures disk, Temporal actions, requests and memory for calls of three lengths, and writes the table of
 * docs/reference/sizing.md. The bytes of BigQuery come from a model. About 3 minutes.
 * Options: --calls N (a length), --seconds N (of continuous sync), --out FILE.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { type Column, callTables, columnsOf, type WordArrays } from '../schemas/tables.ts';
import { flattenCall } from '../src/calls/flatten.ts';
import { createRemoteControl } from '../src/simulator/control/remote-control.ts';
import { loadThroughCallsync } from './load/load-callsync.ts';
import { note, openServers } from './load/open-servers.ts';
import { measureLive } from './sizing/live.ts';

const { values: flags } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '30' },
    out: { type: 'string', default: join(import.meta.dirname, '../../docs/reference/sizing.md') },
  },
});

interface Sizes {
  /** Bytes a call. */
  readonly store: number;
  readonly postgres: number;
  readonly bigquery: number;
  readonly requests: number;
  readonly peakMegabytes: number;
}

const schemaBytes = async (url: string): Promise<Readonly<Record<string, number>>> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; bytes: number }>(
      `SELECT relnamespace::regnamespace::text AS name, sum(pg_total_relation_size(oid))::float8 AS bytes
         FROM pg_class WHERE relkind = 'r' GROUP BY 1`,
    );
    return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
  } finally {
    await client.end();
  }
};

/** Logical bytes by BigQuery's documentation: 8 a number or time, 1 a boolean, 2 more than its UTF-8 a text, 16 a decimal. */
const bytesOf = ({ type }: Pick<Column, 'type'>, value: unknown): number => {
  if (value === null || value === undefined) return 0;
  if (type === 'words') {
    const { value: words, ...numbers } = value as WordArrays;
    return (
      words.reduce((sum, word) => sum + bytesOf({ type: 'text' }, word), 0) +
      Object.keys(numbers).length * 8 * words.length
    );
  }
  if (type === 'text' || type === 'json') return 2 + Buffer.byteLength(String(value));
  return { bool: 1, decimal: 16 }[type as string] ?? 8;
};

const modelOf = (document: Readonly<Record<string, unknown>>): number => {
  const { rows } = flattenCall({
    callId: String(document.unique_id),
    document,
    firstSeenAt: 0,
    changedAt: 0,
    sourceDeletedAt: null,
  });
  let bytes = 0;
  for (const table of callTables) {
    if (table.name === 'documents') continue;
    for (const row of rows[table.name])
      for (const column of columnsOf(table)) bytes += bytesOf(column, row[column.name]);
  }
  return bytes;
};

const calls = Number(flags.calls);
const lengths = [100, 500, 2_000];
const perDay = [1_000, 10_000, 100_000];

const servers = await openServers();
try {
  const { folder, postgresUrl: serverUrl } = servers;
  const temporal = await servers.startTemporal();
  const sizes = new Map<number, Sizes>();
  for (const [run, words] of lengths.entries()) {
    const simulator = await servers.startSimulator(9 + run, { count: calls, utterances: Math.round(words / 12) });
    const control = createRemoteControl(simulator);
    const sizesAt: Readonly<Record<string, number>>[] = [];
    const takeSizes = async (url: string): Promise<void> => void sizesAt.push(await schemaBytes(url));
    const load = await loadThroughCallsync({
      serverUrl,
      database: `sizing_${words}`,
      simulator,
      temporalAddress: temporal.address,
      folder,
      run: words,
      calls,
      again: false,
      prepare: takeSizes,
      settle: takeSizes,
    });
    const perCall = (schema: string): number => ((sizesAt[1]?.[schema] ?? 0) - (sizesAt[0]?.[schema] ?? 0)) / calls;
    let [model, seen] = [0, 0];
    for await (const { document } of control.truth()) {
      if (document === null) continue;
      model += modelOf(document);
      seen += 1;
      if (seen === 100) break;
    }
    sizes.set(words, {
      store: perCall('callsync'),
      postgres: perCall('calls'),
      bigquery: model / seen,
      requests: (await control.stats()).requests.total / calls,
      peakMegabytes: load.peakMegabytes,
    });
    note(`${words} words: ${JSON.stringify(sizes.get(words))}`);
  }
  const live = await measureLive({
    serverUrl,
    temporalAddress: temporal.address,
    folder,
    seconds: Number(flags.seconds),
  });
  note(JSON.stringify(live));
  await writeFile(flags.out, render(sizes, live));
  note(`Written to ${flags.out}.`);
} finally {
  await servers.close();
}
process.exit(0);

function render(sizes: ReadonlyMap<number, Sizes>, live: Awaited<ReturnType<typeof measureLive>>): string {
  const minutes = 1_440;
  /** Tables that one commit names, at 10 MB each, at most every 63 s. */
  const newCalls = (86_400 / 63) * callTables.length * 10e6;
  const digits = (value: number): string =>
    Number(value.toPrecision(2)).toLocaleString('en-US', { maximumSignificantDigits: 2 });
  const lines = perDay.flatMap((day) =>
    [...sizes].map(([words, size]) => {
      const gigabytes = (bytes: number): string => digits((bytes * day * 365) / 1e9);
      const changed = (minutes / 10) * day * size.bigquery;
      const cells = [
        day.toLocaleString('en-US'),
        words.toLocaleString('en-US'),
        ...[size.store, size.postgres, size.bigquery].map(gigabytes),
        digits(newCalls / 1e9),
        digits((newCalls + changed) / 1e9),
        digits(minutes * live.idleActions + day * live.deliveryActions),
        digits(minutes * live.idleRequests + day * size.requests),
        digits(size.peakMegabytes),
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  );
  return `# Sizing

\`npm run bench -- sizing\` wrote this table on Node ${process.versions.node.split('.')[0]}: it loaded ${calls.toLocaleString('en-US')} calls of each length, and ran continuous sync with its
schedules.

| calls a day | words a call | store, GB a year | PostgreSQL warehouse, GB a year | BigQuery, GB a year (model) | BigQuery bills, GB a day (model) | the same with edits (model) | Temporal actions a day | requests a day | worker's peak, MB |
|---|---|---|---|---|---|---|---|---|---|
${lines.join('\n')}

- **Disk**: tables and indexes of one load, with the search index. Edits, deliveries and verdicts need more disk.
- **BigQuery**: logical bytes of all columns by the sizes of its data types. BigQuery bills 10 MB for each table of a commit, with one commit every
  63 s. With edits, a commit every 10 minutes reads all rows of the day.
- **Temporal**: ${digits(live.idleActions)} actions a minute for sync and sweep, including two for each run of a schedule. A delivery that comes alone
  takes ${digits(live.deliveryActions)}; deliveries that come together share their actions.
- **Requests**: ${digits(live.idleRequests)} a minute, and each call once, in pages of 100. A reconcile reads its days once more.
- **Memory**: a worker during a first load with 4 windows at once. \`callsync up\` without calls takes ${digits(live.idleMegabytes)} MB.
`;
}
