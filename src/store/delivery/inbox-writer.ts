/** Writes deliveries to the inbox in groups: one statement and one commit for many. */

import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { transient } from '../../lib/errors.ts';
import { scramVerifier } from '../../lib/keyed-hash.ts';
import { BinaryCopyWriter } from '../../postgres/binary-copy.ts';
import { type Database, list, quoteName, raw, sql } from '../../postgres/database.ts';
import { concernedWarehouses } from '../loads/warehouses.ts';

/** A verified delivery, on its way to the inbox. */
export interface Delivery {
  /** UUID given on arrival; writing the same one again changes nothing where it waited in the spool. */
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

/** A refused delivery, without its body and without values of unlimited length. */
export type RejectedDelivery = Pick<Delivery, 'arrivalId' | 'deliveryId' | 'hookId' | 'agent' | 'receivedAt'> & {
  readonly reason: string;
};

export type InboxWriter = ReturnType<typeof createInboxWriter>;

const insertColumns =
  'arrival_id, delivery_id, hook_id, agent, received_at, signing_key, body, body_hash, privacy_version, spooled';

/** Work on a connection of the pool, whose commits are durable. */
const run = async <T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
  let client: pg.PoolClient | undefined;
  try {
    client = await pool.connect();
    const answer = await work(client);
    client.release();
    return answer;
  } catch (error) {
    client?.release(true);
    throw transient('INBOX_UNREACHABLE', 'The inbox could not be reached in time.', { cause: error });
  }
};

const recordRejectedSql = `WITH stored AS (
       INSERT INTO inbox (arrival_id, delivery_id, hook_id, agent, received_at, reason, outcome)
       SELECT "arrivalId", "deliveryId", "hookId", agent, "receivedAt", reason, 'rejected'
         FROM jsonb_to_recordset($1::jsonb) AS rejected
              ("arrivalId" uuid, "deliveryId" text, "hookId" text, agent text, "receivedAt" timestamptz, reason text)
       ON CONFLICT (arrival_id) DO NOTHING RETURNING seq)
     INSERT INTO unloaded_deliveries (warehouse, rejected, seq)
     SELECT c.warehouse, true, seq FROM stored, (${concernedWarehouses}) AS c`;

/**
 * Needs no more rights than `receiverGrants`. Everything rejects with a transient error once the pool has waited for long enough.
 * @param pool from `openPool`, with at least the writers + 1 connections. The receiver has its own, so that a busy
 * merge delays no answer.
 */
export const createInboxWriter = ({ pool }: { readonly pool: pg.Pool }) => {
  const ask = <Row extends pg.QueryResultRow>(text: string, values: unknown[] = [], answerMs?: number) => {
    const query = { text, values, query_timeout: answerMs };
    return run(pool, async (client) => (await client.query<Row>(query)).rows);
  };

  return {
    /** Durable when it resolves. After a failure the outcome may be unknown; the connection may then still send the bodies. */
    insert: (deliveries: readonly Delivery[]) =>
      run(pool, (client) => copyOf(deliveries).send(client, `inbox (${insertColumns})`)),

    /** The same for deliveries that waited in the spool. @param answerMs for an answer, in place of the pool's time */
    async insertSpooled(deliveries: readonly Delivery[], answerMs: number) {
      const rows = deliveries.map(
        (one) => sql`(${one.arrivalId}, ${one.deliveryId}, ${one.hookId}, ${one.agent}, ${one.receivedAt.toISOString()},
                      ${one.signingKey}, ${one.body}, ${one.bodyHash}, ${one.privacyVersion}, true)`,
      );
      const insert = sql`INSERT INTO inbox (${raw(insertColumns)}) VALUES ${list(rows)} ON CONFLICT (arrival_id) DO NOTHING`;
      await ask(insert.text, [...insert.values], answerMs);
    },

    recordRejected: (rejected: readonly RejectedDelivery[]) => ask(recordRejectedSql, [JSON.stringify(rejected)]),

    /** Tells workers that listen (`listenToInbox`) that deliveries came. */
    wake: () => ask(`NOTIFY ${inboxChannel}`),

    /** Rejects when the inbox cannot be written to: takes the same lock and needs the same rights as a delivery, but writes nothing. */
    ping: () => ask('INSERT INTO inbox (received_at) SELECT now() WHERE false'),

    async depth() {
      const rows = await ask<{ pending: number; oldestAge: number }>(
        `SELECT (SELECT coalesce(sum(value), 0)::int FROM counters WHERE name = 'deliveries:pending') AS pending,
                coalesce((SELECT extract(epoch FROM now() - stored_at)::float8 FROM inbox
                           WHERE outcome = 'pending' ORDER BY seq LIMIT 1), 0) AS "oldestAge"`,
      );
      return rows[0] ?? { pending: 0, oldestAge: 0 };
    },
  };
};

/**
 * Deliveries that just came have new arrival ids, so that none conflicts. As parameters their bodies would be copied
 * several times, and the garbage took a third of the receiver's time.
 */
const copyOf = (deliveries: readonly Delivery[]): BinaryCopyWriter => {
  const writer = new BinaryCopyWriter();
  const text = (value: string | null | undefined): void => (value == null ? writer.null() : writer.text(value));
  for (const one of deliveries) {
    // As many as `insertColumns` names.
    writer.row(10);
    writer.bytes(Buffer.from(one.arrivalId.replaceAll('-', ''), 'hex'));
    text(one.deliveryId);
    text(one.hookId);
    text(one.agent);
    writer.timestamptz(one.receivedAt.getTime() * 1000);
    text(one.signingKey);
    writer.lend(one.body);
    writer.bytes(one.bodyHash);
    text(one.privacyVersion);
    writer.bool(false);
  }
  return writer;
};

/** Channel of `NOTIFY`; messages carry nothing, because the inbox says which deliveries wait. */
const inboxChannel = 'callsync_inbox';

/** After this silence, callsync checks that the connection still answers. */
const askAfterMs = 30_000;
const reconnectAfterMs = 1_000;

/**
 * Calls `onDeliveries` for each notification and at each new connection, because earlier notifications are lost.
 * Reconnects until `stop`.
 * @param pool gives up one connection for the whole time.
 * @param onFailure called once for consecutive failures.
 */
export const listenToInbox = (pool: pg.Pool, onDeliveries: () => void, onFailure: (error: unknown) => void) => {
  let failures = 0;
  const stopped = new AbortController();
  const pause = (ms: number): Promise<void> => delay(ms, undefined, stopped).catch(() => undefined);
  const listenOnce = async (): Promise<void> => {
    const client = await pool.connect();
    try {
      const lost = new Promise<never>((_, reject) => client.once('error', reject).once('end', reject));
      lost.catch(() => undefined);
      client.on('notification', onDeliveries);
      await client.query(`LISTEN ${inboxChannel}`);
      failures = 0;
      onDeliveries();
      while (!stopped.signal.aborted) {
        await Promise.race([pause(askAfterMs), lost]);
        await client.query('SELECT 1');
      }
    } finally {
      client.release(true);
    }
  };
  const listening = (async () => {
    while (!stopped.signal.aborted) {
      await listenOnce().catch((error) => {
        failures += 1;
        // The first ends a connection that listened, as every restart of the server does.
        if (failures === 2) onFailure(error);
      });
      await pause(reconnectAfterMs);
    }
  })();
  return {
    stop: () => {
      stopped.abort();
      return listening;
    },
  };
};

/** Statements that give a role exactly the rights that `createInboxWriter` needs. */
export const receiverGrants = (schema: string, role: string): readonly string[] => {
  const grantee = quoteName(role);
  const inbox = `${schema}.inbox`;
  return [
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${grantee}`,
    `GRANT USAGE ON SCHEMA ${schema} TO ${grantee}`,
    `GRANT INSERT ON ${inbox} TO ${grantee}`,
    // The same delivery again is noticed by its arrival_id; age and depth of the inbox need the others.
    `GRANT SELECT (seq, arrival_id, outcome, stored_at) ON ${inbox} TO ${grantee}`,
    `GRANT SELECT ON ${schema}.counters TO ${grantee}`,
    // A receiver compares its key of tokens with the store, and cannot register a key of its own.
    `GRANT SELECT ON ${schema}.token_keys TO ${grantee}`,
    // Warehouses get rejected deliveries.
    `GRANT INSERT ON ${schema}.unloaded_deliveries TO ${grantee}`,
    `GRANT SELECT (name, configured_at) ON ${schema}.warehouses TO ${grantee}`,
  ];
};

/**
 * Makes the role, or sets its password if it is there, and gives it its rights. The store must be migrated.
 * @param password undefined = the role is there and keeps its own.
 */
export const setUpReceiverRole = async (db: Database, role: string, password: string | undefined): Promise<void> => {
  if (password !== undefined) {
    const verb = (await db.has`SELECT FROM pg_roles WHERE rolname = ${role}`) ? 'ALTER' : 'CREATE';
    await db.query(`${verb} ROLE ${quoteName(role)} LOGIN PASSWORD '${scramVerifier(password)}'`);
  }
  for (const statement of receiverGrants(db.schema, role)) await db.query(statement);
};
