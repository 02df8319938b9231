/** The calls of the simulated service in both warehouses, with marts of the same settings in each. */
import type { CallDocument } from '../../schemas/call.ts';
import { analyticsConfigSchema } from '../../schemas/config/analytics.ts';
import { bigqueryWarehouseSchema, postgresWarehouseSchema } from '../../schemas/config/warehouses.ts';
import { flattenCall } from '../../src/calls/flatten.ts';
import { type MartPlace, type MartView, renderViews } from '../../src/marts/render-views.ts';
import { martSettings } from '../../src/marts/settings.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { createBigqueryWarehouse } from '../../src/warehouse/bigquery/warehouse.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import type { CallLoad, Warehouse } from '../../src/warehouse/warehouse.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { createDatabase } from '../support/postgres.ts';
import { makeBatch, makeLogRow } from '../warehouse/batches.ts';
import { executeIn } from '../warehouse/conformance-targets.ts';

export interface FilledWarehouse {
  readonly warehouse: Warehouse;
  /** Creates or replaces the marts. Returns the names of those that it touched. */
  applyMarts(analytics: unknown): Promise<readonly string[]>;
  /** Every row of a mart, columns as comparable values, in an order of its own. */
  readMart(name: string): Promise<Record<string, unknown>[]>;
  /** A query in which `{marts}` and `{tables}` stand for schema or dataset. */
  ask(sql: string): Promise<Record<string, unknown>[]>;
}

export interface FilledPostgres {
  readonly documents: readonly CallDocument[];
  readonly postgres: FilledWarehouse;
  readonly postgresUrl: string;
  close(): Promise<void>;
}

export interface FilledWarehouses extends FilledPostgres {
  readonly bigquery: FilledWarehouse;
}

export type ChangeCall = (document: CallDocument, index: number) => CallDocument;

const day = 86_400_000_000;
/** Days of calls, the first of which begins here. */
const firstDay = Date.parse('2026-03-01T00:00:00Z');

/** @param change what is done to each call of the simulated service before it is loaded. */
export const fillWarehouses = async (change: ChangeCall): Promise<FilledWarehouses> => {
  const filled = await fillPostgres(change);
  const emulator = await useBigQuery();
  const { project, dataset } = emulator;
  const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project, dataset, api_endpoint: emulator.restUrl });
  const warehouse = createBigqueryWarehouse({ name: 'main', config });
  await fill(warehouse, filled.documents);
  // The local BigQuery works out a view anew at every use, and the views that it reads with it: seconds for each mart of
  // marts. So every view is asked once, into a table, and the marts after it read that table.
  const place = { kind: 'bigquery', project, tables: dataset, marts: `${dataset}_copies` } as const;
  const views = `${dataset}_marts`;
  await executeIn(config, `CREATE SCHEMA \`${project}\`.${place.marts}`);
  const applyMarts = async (analytics: unknown): Promise<readonly string[]> => {
    const touched: string[] = [];
    for (const view of viewsOf(place, analytics)) {
      if ((await warehouse.ensureViews(views, [view])).length === 0) continue;
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
    bigquery: { ...present(warehouse, place, (name) => `\`${project}\`.${name}`), applyMarts },
    close: async () => {
      await warehouse.close();
      await filled.close();
    },
  };
};

/** The same in Postgres alone. */
export const fillPostgres = async (change: ChangeCall): Promise<FilledPostgres> => {
  const documents = await readCalls(change);
  const database = await createDatabase();
  const config = postgresWarehouseSchema.parse({ type: 'postgres' });
  const postgres = createPostgresWarehouse({ name: 'main', url: database.url, config });
  await fill(postgres, documents);
  return {
    documents,
    postgresUrl: database.url,
    postgres: present(postgres, { kind: 'postgres', tables: 'calls', marts: 'calls_marts' }, (name) => `"${name}"`),
    close: async () => {
      await postgres.close();
      await database.drop();
    },
  };
};

const readCalls = async (change: ChangeCall): Promise<readonly CallDocument[]> => {
  const simulator = await startSimulator({
    seed: 3,
    calls: {
      count: 90,
      utterances: 8,
      words: 6,
      tags: 3,
      from: new Date(firstDay).toISOString(),
      to: new Date(firstDay + 4 * 86_400_000).toISOString(),
    },
  });
  const documents: CallDocument[] = [];
  for await (const entry of simulator.truth({})) {
    const document = await simulator.documentAt(entry.callId, entry.version, entry.version);
    if (document !== undefined) documents.push(change(document, documents.length));
  }
  await simulator.stop();
  return documents;
};

const viewsOf = (place: MartPlace, analytics: unknown): readonly MartView[] =>
  renderViews(place, martSettings(analyticsConfigSchema.parse(analytics)));

const present = (warehouse: Warehouse, place: MartPlace, quote: (name: string) => string): FilledWarehouse => {
  const ask = async (sql: string): Promise<Record<string, unknown>[]> =>
    (
      await warehouse.query(sql.replaceAll('{marts}', quote(place.marts)).replaceAll('{tables}', quote(place.tables)))
    ).map(comparable);
  return {
    warehouse,
    ask,
    applyMarts: (analytics) => warehouse.ensureViews(place.marts, viewsOf(place, analytics)),
    readMart: async (name) => sortRows(await ask(`SELECT * FROM {marts}.${name}`)),
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
    const text =
      isDate && value.getTimezoneOffset() !== 0
        ? new Date(value.getTime() - value.getTimezoneOffset() * 60_000)
        : value;
    return isDate ? text.toISOString().slice(0, 10) : value.toISOString();
  }
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value));
  // Plus 0: the sum of nothing much is 0 in one order of the summands, and -0 in another.
  if (isNumber) return Number(Number(value).toFixed(6)) + 0;
  return value;
};

const fill = async (warehouse: Warehouse, documents: readonly CallDocument[]): Promise<void> => {
  const from = firstDay * 1000;
  const calls = documents.map((document): CallLoad => {
    const callId = document.unique_id as string;
    const flat = flattenCall({ callId, document, firstSeenAt: from, lastSeenAt: from + 1, missingSince: null });
    return { callId, revision: 1, callTimestamp: flat.callTimestamp, flatten: () => flat.rows, partitions: [] };
  });
  const verdict = (verdict_id: number, fromDay: number, toDay: number, outcome: string, more = {}) =>
    makeLogRow('verdicts', {
      verdict_id,
      axis: 'timestamp',
      window_from: from + fromDay * day,
      window_to: from + toDay * day,
      level: 'fields',
      warehouse_level: 'guards',
      calls_listed: 1,
      calls_found: 1,
      missing: 0,
      different: 0,
      healed: 0,
      outcome,
      compared_at: from + 10 * day + verdict_id,
      ledger_epoch: 1,
      ...more,
    });
  const verdicts = [
    verdict(1, 0, 1, 'proven'),
    verdict(2, 1, 3, 'proven'),
    verdict(3, 2, 2.5, 'unproven'),
    verdict(4, 2.5, 3, 'healed'),
    verdict(5, 3, 4, 'proven', { axis: 'other' }),
    verdict(6, 3, 4, 'proven', { ledger_epoch: 0 }),
  ];
  const outcomes = ['accepted', 'accepted', 'duplicate', 'repeat', 'quarantined', 'rejected'];
  const deliveries = outcomes.map((outcome, seq) =>
    makeLogRow('deliveries', {
      seq,
      outcome,
      hook_id: seq === 5 ? null : `hook-${seq % 2}`,
      received_at: from + seq * 9 * 3_600_000_000,
      call_id: seq < 4 ? `c${seq % 2}` : null,
    }),
  );
  await warehouse.migrate();
  await warehouse.load(makeBatch({ calls, logs: { verdicts, deliveries } }));
  // Half a minute past midnight: an instant at midnight would read as a date where UTC is the machine's time zone.
  const [provenThrough, heartbeat] = [from + day + 30_000_000, from + 11 * day + 30_000_000];
  await warehouse.recordState(['main', from, from, 'timestamp', provenThrough, 0, from, null, 1, heartbeat]);
};
