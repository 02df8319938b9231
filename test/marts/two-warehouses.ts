/** The calls of the simulated service in both warehouses, with marts of the same settings in each. */
import type { CallDocument } from '../../schemas/call.ts';
import { analyticsConfigSchema } from '../../schemas/config/analytics.ts';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { flattenCall } from '../../src/calls/flatten.ts';
import { martSettings } from '../../src/marts/mart.ts';
import { renderViews } from '../../src/marts/render-views.ts';
import { demoCalls } from '../../src/simulator/demo/simulator-process.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { bigquery } from '../../src/warehouse/bigquery/index.ts';
import type { Place } from '../../src/warehouse/kind.ts';
import { postgresWarehouseSchema } from '../../src/warehouse/postgres/config.ts';
import { postgres as postgresKind } from '../../src/warehouse/postgres/index.ts';
import { type CallLoad, requireFrom, type View, type Warehouse } from '../../src/warehouse/warehouse.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { openBigquery } from '../support/open-bigquery.ts';
import { openPostgres } from '../support/open-postgres.ts';
import { makeBatch } from '../warehouse/batches.ts';
import { executeIn } from '../warehouse/conformance-targets.ts';
import { changesOf, dayMicros, deliveryRows, stateRow, stateTimes, verdictRows } from './log-rows.ts';

export type FilledWarehouse = ReturnType<typeof present>;

export type FilledPostgres = Awaited<ReturnType<typeof fillPostgres>>;
export type FilledWarehouses = Awaited<ReturnType<typeof fillWarehouses>>;

export type ChangeCall = (document: CallDocument, index: number) => CallDocument;

/** Calls of the simulated service, and the day on which the first of them may be. */
export interface SimulatedCalls {
  readonly documents: readonly CallDocument[];
  /** Its first instant, in microseconds since the epoch. */
  readonly firstDay: number;
}

export const fillWarehouses = async (calls: SimulatedCalls) => {
  const filled = await fillPostgres(calls);
  const emulator = await useBigQuery();
  const { project, dataset } = emulator;
  const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project, dataset, api_endpoint: emulator.restUrl });
  const warehouse = openBigquery({ name: 'main', config });
  await fill(warehouse, calls);
  // The local BigQuery works out a view anew at every use, and the views that it reads with it: seconds for each mart of
  // marts. So every view is asked once, into a table, and the marts after it read that table.
  const place = bigquery.place({ ...config, marts_schema: `${dataset}_copies` });
  const views = `${dataset}_marts`;
  await executeIn(config, `CREATE SCHEMA \`${project}\`.${place.marts}`);
  const applyMarts = async (analytics: unknown): Promise<readonly string[]> => {
    const touched: string[] = [];
    for (const view of viewsOf(place, analytics)) {
      if ((await warehouse.marts.ensure(views, [view])).length === 0) continue;
      const [source, copy] = [views, place.marts].map((schema) => `\`${project}\`.${schema}.${view.name}`);
      // One copy is a view, so that a mart is seen to read views too.
      const kind = view.name === 'field_texts' ? 'VIEW' : 'TABLE';
      await executeIn(config, `CREATE OR REPLACE ${kind} ${copy} AS SELECT * FROM ${source}`);
      touched.push(view.name);
    }
    return touched;
  };
  return {
    ...filled,
    bigqueryPlace: emulator,
    bigquery: { ...present(warehouse, place, (name) => `\`${project}\`.${name}`), applyMarts },
    close: async () => {
      await warehouse.close();
      await filled.close();
    },
  };
};

/** The same in PostgreSQL alone. */
export const fillPostgres = async (calls: SimulatedCalls) => {
  const config = postgresWarehouseSchema.parse({ type: 'postgres' });
  const { database, open, close } = await openPostgres(config);
  const postgres = open({ name: 'main' });
  await fill(postgres, calls);
  return {
    ...calls,
    postgresUrl: database.url,
    postgres: present(postgres, postgresKind.place(config), (name) => `"${name}"`),
    close,
  };
};

/** Few and small, each changed so that marts meet what the service may send. */
export const readChangedCalls = async (change: ChangeCall): Promise<SimulatedCalls> => {
  const from = Date.parse('2026-03-01T00:00:00Z');
  const size = { count: 90, utterances: 8, words: 6, tags: 3 };
  const range = { from: new Date(from).toISOString(), to: new Date(from + 4 * 86_400_000).toISOString() };
  return { documents: await readCalls({ seed: 3, calls: { ...size, ...range } }, change), firstDay: from * 1000 };
};

/** As they are when `callsync demo` begins. */
export const readDemoCalls = async (count: number): Promise<SimulatedCalls> => {
  const to = '2026-03-05T00:00:00Z';
  // The simulated service plans its calls over the 30 days before.
  const firstDay = Date.parse(to) * 1000 - 30 * dayMicros;
  return { documents: await readCalls(demoCalls({ count, to }), (document) => document), firstDay };
};

const readCalls = async (options: SimulatorOptions, change: ChangeCall): Promise<readonly CallDocument[]> => {
  const simulator = await startSimulator(options);
  const documents: CallDocument[] = [];
  for await (const entry of simulator.truth({})) {
    const document = await simulator.documentAt(entry.callId, entry.version, entry.version);
    if (document !== undefined) documents.push(change(document, documents.length));
  }
  await simulator.stop();
  return documents;
};

const viewsOf = (place: Place, analytics: unknown): readonly View[] =>
  renderViews(place, martSettings(analyticsConfigSchema.parse(analytics)));

const present = (warehouse: Warehouse, place: Place, quote: (name: string) => string) => {
  const named = (sql: string) =>
    sql.replaceAll('{marts}', quote(place.marts)).replaceAll('{tables}', quote(place.tables));
  const ask = async (sql: string) => (await warehouse.query(named(sql))).map(comparable);
  return {
    warehouse,
    place,
    /** A query in which `{marts}` and `{tables}` stand for schema or dataset. */
    ask,
    /** The marts as `applyMarts` makes them. */
    viewsOf: (analytics: unknown) => viewsOf(place, analytics),
    /** Creates or replaces the marts. Returns the names of those that it touched. */
    applyMarts: (analytics: unknown) => requireFrom(warehouse, 'marts').ensure(place.marts, viewsOf(place, analytics)),
    /** Every row of a mart, columns as comparable values, in an order of its own. */
    readMart: async (name: string) => sortRows(await ask(`SELECT * FROM {marts}.${name}`)),
  };
};

export const sortRows = (rows: Record<string, unknown>[]): Record<string, unknown>[] =>
  rows.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

/** Numbers to six digits, dates as text: what the two clients read in different ways, in one. */
const comparable = (row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(row).map(([name, value]) => [name, comparableValue(value)]));

const comparableValue = (value: unknown): unknown => {
  if (value instanceof Date) {
    // A date without a time is read as midnight of this machine's time zone.
    const isDate = value.getHours() + value.getMinutes() + value.getSeconds() + value.getMilliseconds() === 0;
    if (!isDate) return value.toISOString();
    return new Date(value.getTime() - value.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
  }
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));
  // Plus 0: the sum of nothing much is 0 in one order of the summands, and -0 in another.
  if (isNumber) return Number(Number(value).toFixed(6)) + 0;
  return value;
};

const fill = async (warehouse: Warehouse, { documents, firstDay }: SimulatedCalls): Promise<void> => {
  const calls = documents.map((document, index): CallLoad => {
    const callId = document.unique_id as string;
    const seen = { firstSeenAt: firstDay, changedAt: firstDay + 1, sourceDeletedAt: null };
    const { callTimestamp, rows } = flattenCall({ callId, document, ...seen });
    const changes = changesOf(index).map(({ after, ...change }) => ({
      ...{ call_id: callId, call_timestamp: callTimestamp, ...change, observed_at: firstDay + after },
    }));
    return { callId, revision: 1, callTimestamp, flatten: () => rows, partitions: [], changes };
  });
  await warehouse.migrate();
  const logs = { verdicts: verdictRows(firstDay), deliveries: deliveryRows(firstDay) };
  await warehouse.load(makeBatch({ calls, logs }));
  await warehouse.recordState(stateRow({ watermark: firstDay, ...stateTimes(firstDay) }));
};
