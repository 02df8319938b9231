/** Writes deliveries to `callsync.inbox` in groups: one statement and one commit for many. */
import type pg from 'pg';
import { transient } from '../../lib/errors.ts';
import { concernedWarehouses } from '../loads/warehouses.ts';
import { inboxChannel } from './listen-inbox.ts';

/** A verified delivery, on its way to the inbox. */
export interface Delivery {
  /** UUID given on arrival; writing the same one again changes nothing. */
  readonly arrivalId: string;
  readonly deliveryId: string | null;
  readonly hookId: string | null;
  readonly agent: string | null;
  readonly receivedAt: Date;
  /** Name of the key that verified it; null = unsigned. */
  readonly signingKey: string | null;
  readonly body: Buffer;
  /** SHA-256 of the body as it came; keyed where there are privacy rules. */
  readonly bodyHash: Buffer;
  /** Version of the privacy rules that the body is under; absent where there are none. */
  readonly privacyVersion?: string | undefined;
}

/** A delivery that was not let in: no body, and nothing that the caller could make long. */
export type RejectedDelivery = Pick<Delivery, 'arrivalId' | 'deliveryId' | 'hookId' | 'agent' | 'receivedAt'> & {
  readonly reason: string;
};

export interface InboxDepth {
  readonly pending: number;
  readonly oldestReceivedAt: Date | null;
}

export interface InboxWriter {
  /** Durable when it resolves. Rejects with a transient error after `deadlineMs`, when the outcome may be unknown. */
  insert(deliveries: readonly Delivery[], options: { deadlineMs: number; spooled?: boolean }): Promise<void>;
  recordRejected(rejected: readonly RejectedDelivery[], options: { deadlineMs: number }): Promise<void>;
  /** Tells workers that listen (`listenToInbox`) that deliveries came. */
  wake(options: { deadlineMs: number }): Promise<void>;
  /** Rejects when the inbox cannot be written to. */
  ping(options: { deadlineMs: number }): Promise<void>;
  depth(options: { deadlineMs: number }): Promise<InboxDepth>;
}

const insertColumns =
  'arrival_id, delivery_id, hook_id, agent, received_at, signing_key, body, body_hash, privacy_version, spooled' as const;
const columnCount = 10;

/**
 * Its statements need no more rights than `receiverGrants`.
 * @param pool as `openPool` has it, which listens to what its connections lose; of the receiver's own, so that a busy merge cannot hold back an answer; `max` at least the writers + 1.
 */
export const createInboxWriter = (options: { pool: pg.Pool; schema?: string }): InboxWriter => {
  const { pool, schema = 'callsync' } = options;
  const durable = new WeakSet<pg.PoolClient>();

  const run = async <Row extends pg.QueryResultRow>(
    deadlineMs: number,
    text: string,
    values: unknown[],
  ): Promise<readonly Row[]> => {
    const until = performance.now() + deadlineMs;
    const client = await borrow(pool, deadlineMs);
    const query = async () => {
      if (!durable.has(client)) {
        await client.query('SET synchronous_commit = on');
        durable.add(client);
      }
      return client.query<Row>(text, values);
    };
    try {
      const result = await within(query(), until - performance.now());
      client.release();
      return result.rows;
    } catch (error) {
      client.release(true);
      throw transient('INBOX_UNREACHABLE', 'The inbox could not be reached in time.', { cause: error });
    }
  };

  return {
    async insert(deliveries, { deadlineMs, spooled = false }) {
      const values: unknown[] = [];
      for (const one of deliveries) {
        values.push(one.arrivalId, one.deliveryId, one.hookId, one.agent, one.receivedAt.toISOString());
        values.push(one.signingKey, one.body, one.bodyHash, one.privacyVersion ?? null, spooled);
      }
      const text = `INSERT INTO ${schema}.inbox (${insertColumns}) VALUES ${placeholders(deliveries.length)}
                    ON CONFLICT (arrival_id) DO NOTHING`;
      await run(deadlineMs, text, values);
    },

    async recordRejected(rejected, { deadlineMs }) {
      const rows = rejected.map((one) => ({
        arrival_id: one.arrivalId,
        delivery_id: one.deliveryId,
        hook_id: one.hookId,
        agent: one.agent,
        received_at: one.receivedAt,
        reason: one.reason,
      }));
      await run(
        deadlineMs,
        `WITH stored AS (
           INSERT INTO ${schema}.inbox (arrival_id, delivery_id, hook_id, agent, received_at, reason, outcome)
           SELECT arrival_id, delivery_id, hook_id, agent, received_at, reason, 'rejected'
             FROM jsonb_to_recordset($1::jsonb) AS rejected
                  (arrival_id uuid, delivery_id text, hook_id text, agent text, received_at timestamptz, reason text)
           ON CONFLICT (arrival_id) DO NOTHING RETURNING seq)
         INSERT INTO ${schema}.unloaded_deliveries (warehouse, rejected, seq)
         SELECT c.warehouse, true, seq FROM stored, (${concernedWarehouses("'{}'", schema)}) AS c`,
        [JSON.stringify(rows)],
      );
    },

    async wake({ deadlineMs }) {
      await run(deadlineMs, `NOTIFY ${inboxChannel}`, []);
    },

    async ping({ deadlineMs }) {
      // Takes the same lock and needs the same rights as a delivery, but writes nothing.
      await run(deadlineMs, `INSERT INTO ${schema}.inbox (received_at) SELECT now() WHERE false`, []);
    },

    async depth({ deadlineMs }) {
      const rows = await run<{ pending: number; oldest: Date | null }>(
        deadlineMs,
        `SELECT (SELECT coalesce(sum(value), 0)::int FROM ${schema}.counters WHERE name = 'deliveries:pending') AS pending,
                (SELECT received_at FROM ${schema}.inbox WHERE outcome = 'pending' ORDER BY seq LIMIT 1) AS oldest`,
        [],
      );
      return { pending: rows[0]?.pending ?? 0, oldestReceivedAt: rows[0]?.oldest ?? null };
    },
  };
};

const placeholders = (rows: number): string => {
  const groups: string[] = [];
  for (let row = 0; row < rows; row += 1) {
    const first = row * columnCount;
    const group = Array.from({ length: columnCount }, (_, column) => `$${first + column + 1}`);
    groups.push(`(${group.join(',')})`);
  }
  return groups.join(',');
};

/** A connection that comes after the deadline goes back to the pool. */
const borrow = async (pool: pg.Pool, deadlineMs: number): Promise<pg.PoolClient> => {
  const connecting = pool.connect();
  try {
    return await within(connecting, deadlineMs);
  } catch (error) {
    connecting.then(
      (late) => late.release(),
      () => {},
    );
    throw transient('INBOX_UNREACHABLE', 'The operational store could not be reached in time.', { cause: error });
  }
};

const within = async <T>(work: Promise<T>, ms: number): Promise<T> => {
  work.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(transient('STORE_SLOW', 'The operational store did not answer in time.')), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
};
