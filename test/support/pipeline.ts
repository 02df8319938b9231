/**
 * A store and a PostgreSQL warehouse in a database of the test file's own, wired as a worker wires them.
 *
 *   const pipeline = usePipeline();            // opened before the tests, emptied after each
 */
import { createHash, randomUUID } from 'node:crypto';
import { afterEach } from 'vitest';
import type { CallDocument } from '../../schemas/call.ts';
import type { Observation, ObservationSource } from '../../schemas/observation.ts';
import { flattenVersion } from '../../src/calls/flatten.ts';
import { JsonRecord } from '../../src/lib/json-record.ts';
import type { IngestDeps, WarehouseTarget } from '../../src/pipeline/deps.ts';
import { ingest } from '../../src/pipeline/load/ingest.ts';
import { loadPendingBatch } from '../../src/pipeline/load/load-pending.ts';
import { mergeInbox } from '../../src/pipeline/load/merge-inbox.ts';
import type { Queryable } from '../../src/postgres/database.ts';
import { readRows } from '../../src/store/ledger/ledger.ts';
import { walkToEnd } from '../../src/store/loads/walk.ts';
import { issueEpoch, registerWarehouse } from '../../src/store/loads/warehouses.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { createErasures } from './erasures.ts';
import { useOpened } from './opened.ts';
import { createDatabase, type TestDatabase } from './postgres.ts';
import { column, queryBy } from './rows.ts';

type PostgresWarehouseOptions = Parameters<typeof createPostgresWarehouse>[0];

export type Pipeline = Awaited<ReturnType<typeof openPipeline>>;

/** @param prepare what happens to the empty database before the store is opened. @param create in place of one on the shared server. */
export const openPipeline = async (
  config: Partial<PostgresWarehouseOptions['config']> = {},
  prepare?: (database: TestDatabase) => Promise<void>,
  create = createDatabase,
) => {
  const database = await create();
  await prepare?.(database);
  const erasures = createErasures();
  const store = await openStore({ url: database.url, max: 8, erasures: erasures.open });
  await issueEpoch(store, 'test', 0);
  /** Newest last. */
  const logged: { readonly event: string; readonly fields: Record<string, unknown> }[] = [];
  const opened: Warehouse[] = [];
  /** Another warehouse of the same database, migrated but not registered. */
  const addWarehouse = async (name: string, more: typeof config = {}): Promise<WarehouseTarget> => {
    const warehouse = createPostgresWarehouse({
      name,
      url: database.url,
      config: { schema: `wh_${name}`, documents: false, ...more },
    });
    opened.push(warehouse);
    await warehouse.migrate();
    return { warehouse, documents: more.documents ?? false };
  };
  const target = await addWarehouse('main', config);
  await register(store, 'main');
  const deps: IngestDeps = {
    store,
    targets: [target],
    sanitize: undefined,
    processedField: 'qualified',
    clockSkew: 120_000_000,
    log: (event, fields) => logged.push({ event, fields }),
  };
  /** Merges what waits in the inbox until nothing does; returns how many deliveries. */
  const merge = async (of = deps): Promise<number> => {
    const { deliveries, more } = await mergeInbox(of);
    return more ? deliveries + (await merge(of)) : deliveries;
  };
  /** Loads what is pending until nothing is. */
  const drain = async (of = target) => {
    const total = { sent: 0, changed: 0 };
    for (;;) {
      const loaded = await loadPendingBatch(deps, of, { origin: 'pending' });
      if (loaded === undefined) return total;
      total.sent += loaded.sent;
      total.changed += loaded.changed;
    }
  };
  return {
    url: database.url,
    /** The file of the erasure log. */
    erasureLog: erasures.file,
    store,
    warehouse: target.warehouse,
    target,
    deps,
    logged,
    /** The dependencies of a worker whose warehouse differs so. */
    depsWith: (over: Partial<Warehouse>): IngestDeps => ({
      ...deps,
      targets: [{ ...target, warehouse: { ...target.warehouse, ...over } }],
    }),
    addWarehouse,
    query: store.query,
    /** `observe` loads as well. */
    fold: (observations: readonly Observation[], of = deps) => ingest(of, { observations, origin: 'test' }),
    observe: async (observations: readonly Observation[], of = deps) => {
      const folded = await ingest(of, { observations, origin: 'test' });
      return { folded, written: await folded.load() };
    },
    merge,
    /** Delivers bodies under ids of their own, and merges them. */
    send: async (bodies: readonly Body[], of?: IngestDeps): Promise<void> => {
      const deliveries = bodies.map((body) => ({ body, deliveryId: randomUUID() }));
      await deliver(store, deliveries);
      await merge(of);
    },
    /** The row of a call, with the values of its document. */
    rowOf: async (id: string) => {
      const row = (await readRows(store, [id])).get(id);
      return row && { ...row, document: row.document?.toJSON() };
    },
    /** Of the calls that the ledger knows, whether nothing is left of each. */
    tombstonesOf: async (ids: readonly string[]) =>
      Object.fromEntries([...(await readRows(store, ids))].map(([id, { tombstone }]) => [id, tombstone])),
    /** Of these calls the ones whose documents are kept, by id. */
    listKept: async (ids: readonly string[]) => {
      const rows = [...(await readRows(store, ids)).values()].filter(({ tombstone }) => !tombstone);
      return rows.map(({ callId }) => callId).sort();
    },
    drain,
    /** Merges what waits, and loads it. */
    settle: async (of = deps): Promise<void> => {
      await merge(of);
      await drain();
    },
    /** Empties the store and the warehouse `main`; epochs and keys stay. */
    clear: async () => {
      // Faster than TRUNCATE for tables of a few rows. Counters last: the others add to them.
      const deletions = `SELECT format('DELETE FROM %I.%I', table_schema, table_name) FROM information_schema.tables
          WHERE table_schema IN ('callsync', 'wh_main') AND table_type = 'BASE TABLE'
            AND table_name NOT IN ('meta', 'epochs', 'migrations', 'warehouses') ORDER BY table_name = 'counters'`;
      await store.pool.query((await column(store, deletions)).join('; '));
      logged.length = 0;
    },
    close: async () => {
      for (const warehouse of opened) await warehouse.close();
      await store.close();
      await database.drop();
      erasures.remove();
    },
  };
};

/** A pipeline for the tests of a file; it can be used from `beforeAll` on. @param options.keep does not empty it after each test. */
export const usePipeline = (
  config: Partial<PostgresWarehouseOptions['config']> = {},
  { keep = false }: { readonly keep?: boolean } = {},
): Pipeline => {
  const held = useOpened(() => openPipeline(config));
  if (!keep) afterEach(() => held.clear());
  return held;
};

/** An observation with `unique_id` among its fields, as every observation has it. */
export const observationOf = (
  callId: string,
  observedAt: number,
  fields: CallDocument = {},
  source: ObservationSource = 'poll',
): Observation => ({ callId, source, observedAt, fields: new JsonRecord({ unique_id: callId, ...fields }) });

/** Registers a warehouse and marks what it lacks; returns how many calls. */
export const register = async (store: Store, name: string): Promise<number> => {
  await registerWarehouse(store, name, flattenVersion);
  return await walkToEnd(store, name);
};

type Body = Buffer | string | object;

export interface TestDelivery {
  /** A record is sent as JSON. */
  readonly body: Body;
  readonly deliveryId?: string | null;
  readonly receivedAt?: Date;
}

/** Puts deliveries into the inbox as the receiver does; returns their numbers. */
export const deliver = async (store: Store, deliveries: readonly TestDelivery[]): Promise<number[]> => {
  const seqs: number[] = [];
  for (const { body, deliveryId = null, receivedAt = new Date() } of deliveries) {
    const isText = typeof body === 'string' || Buffer.isBuffer(body);
    const bytes = Buffer.from(isText ? (body as string) : JSON.stringify(body));
    const { rows } = await store.pool.query<{ seq: number }>(
      `INSERT INTO inbox (arrival_id, delivery_id, hook_id, agent, received_at, signing_key, body, body_hash)
       VALUES ($1, $2, 'hook', 'Service-Webhook/1.0', $3, 'main', $4, $5) RETURNING seq`,
      [randomUUID(), deliveryId, receivedAt, bytes, createHash('sha256').update(bytes).digest()],
    );
    seqs.push(rows[0]?.seq as number);
  }
  return seqs;
};

/** The store, but that `before` ends before each of its transactions begins. */
export const interrupted = (store: Store, before: () => Promise<unknown>): Store => ({
  ...store,
  transaction: async (work) => {
    await before();
    return await store.transaction(work);
  },
});

/** The store, each of whose statements `wrap` runs itself, in transactions and outside. */
export const aroundStatements = (
  store: Store,
  wrap: (sql: string, run: () => Promise<object[]>) => Promise<object[]>,
): Store => {
  const query = (db: Queryable) => queryBy((sql, values) => wrap(sql, () => db.query(sql, values)));
  const transaction: Store['transaction'] = (work) => store.transaction((tx) => work({ ...tx, query: query(tx) }));
  return Object.defineProperties(Object.create(store), {
    query: { value: query(store) },
    transaction: { value: transaction },
  });
};

const days = 86_400_000;
/** As an installation has it that configures none, but for the logs of warehouses. */
export const retention = {
  ...{ inbox_retention: 7 * days, delivery_retention: 400 * days, quarantine_retention: 90 * days },
  ...{ frame_retention: 30 * days, load_retention: 30 * days, verdict_retention: days, warehouse_log_retention: days },
};

/** Sessions of the database that wait for a lock. */
const countWaiting = async (db: Queryable): Promise<number> =>
  (await db.query(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
    .length;

/** Until `work` has ended, or so many sessions of the database wait for a lock. */
export const untilBlocked = async (db: Queryable, work: Promise<unknown>, sessions = 1): Promise<void> => {
  const ended = work.catch(() => undefined).then(() => sessions);
  while ((await Promise.race([ended, countWaiting(db)])) < sessions);
};
