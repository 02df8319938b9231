/** The store: a database schema, the ledger's epoch, and the files that must not be in it. */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { CallDocument } from '../../schemas/call.ts';
import { CallsyncError, terminal, transient } from '../lib/errors.ts';
import { createKeyedHash, fingerprintOf } from '../lib/keyed-hash.ts';
import { lazily } from '../lib/timing.ts';
import type { ConnectionUrl, Database, Queryable, Sql } from '../postgres/database.ts';
import { lockName, openDatabase, raw, repeatTransaction, unnest, withSessionLock } from '../postgres/database.ts';
import type { ErasureLog } from './erasure-log.ts';
import { type Migrations, migrations } from './migrations.ts';
import type { ProofKeys } from './windows/chain.ts';

export type Store = Awaited<ReturnType<typeof openStore>>;

/** A file outside the store, because a restore would otherwise bring erased calls back. */
export interface Erasures {
  readonly key: Buffer;
  readonly log: ErasureLog;
  readonly subjects: Subjects;
  /** Opened at the first use. @throws CallsyncError CONFIG_SECRET, PROOF_KEY */
  readonly proof: Proof;
}

/** Where the keys of the proof chain are, and the file outside the store that holds its heads. */
export type Proof = { readonly keys: ProofKeys; readonly headsFile: string };

/** Subjects of calls and persons, normalised to one spelling: see `src/persons/subjects.ts`. */
interface Subjects {
  /** Changes with the results of the functions. */
  readonly version: string;
  /** Subjects of a call: those of its parties, and all. */
  readonly subjectsOf: (fields: CallDocument) => {
    readonly party: ReadonlySet<string>;
    readonly all: ReadonlySet<string>;
  };
  /** `all` of a call that is under a version of privacy rules; undefined where that takes longer than a fold may. */
  readonly subjectsWhileFolded: (fields: CallDocument, rules: string | null) => ReadonlySet<string> | undefined;
  readonly subjectsInText: (text: string) => ReadonlySet<string>;
}

/** Stored form of subjects: for each, the first 8 bytes of its keyed hash, in hex. */
export type SubjectIndex = ReturnType<typeof createIndex>;

/** The fingerprint, 8 bytes in hex. */
const hashLength = 16;

const createIndex = ({ subjects }: Erasures, keyOf: (subject: string) => string) => {
  const hashesOf = (named: Iterable<string>) => Array.from(named, (one) => keyOf(one).slice(0, hashLength));
  return {
    /** Version of the hashes of a call; changes with the key too. 32 bits. */
    version: Buffer.from(keyOf(`index\0${subjects.version}`), 'hex').readInt32BE(),
    hashesOf,
    /** Undefined where they are listed later. @param rules version of the privacy rules that the document is under. */
    whileFolded: (document: CallDocument, rules: string | null) => {
      const named = subjects.subjectsWhileFolded(document, rules);
      return named && hashesOf(named);
    },
  };
};

/** Index of a document or text: the first 8 bytes of its subjects' hashes. */
export const isHeldSql = (subjects: string, ofWhat = ''): Sql =>
  raw(
    `EXISTS (SELECT FROM unnest(${subjects}) AS s JOIN held_keys k ON left(k.held_key, 16) = encode(s, 'hex') ${ofWhat})`,
  );

/** Hashes of an index as PostgreSQL reads them in place of a `bytea[]`. */
export const arrayText = (hashes: readonly string[]): string => `{${hashes.map((one) => `"\\\\x${one}"`).join(',')}}`;

/**
 * Opens and migrates the store.
 * @param options.erasures asked at the first use, so that commands which erase and load nothing need no key.
 * @param options.keys those that `checkKeys` compares; without them the key of tombstones alone.
 * @throws CallsyncError DATABASE_… when it cannot be used.
 */
export const openStore = async (options: {
  url: ConnectionUrl;
  schema?: string;
  max?: number;
  erasures?: () => Erasures;
  keys?: () => readonly StoreKey[];
}) => {
  const { url, schema = 'callsync', max = 12 } = options;
  const database = openDatabase({ url, schema, application: 'callsync', purpose: 'store', max });
  const opened = lazily(() => {
    const erasures = (options.erasures ?? refuseErasures)();
    const keyOf = createKeyedHash(erasures.key);
    return { erasures, keyOf, index: createIndex(erasures, keyOf) };
  });
  try {
    await migrateStore(database);
    return {
      ...database,
      url,
      /** Epoch of the ledger, the highest part of every warehouse guard; 0 before the first is issued. */
      epoch: (): Promise<number> => database.value`SELECT coalesce(max(epoch), 0) AS epoch FROM epochs`,
      /**
       * Signs that the ledger was restored, dropped, or moved to another server, for one small query.
       * `src/pipeline/load/check-ledger.ts` compares them. A restore writes the row of an epoch again, in another transaction.
       * A restore creates the foreign key last; until then, rows may be missing from the tables.
       * `identity` = changes with every restore, with every epoch, with every start of the server, and if somebody empties the ledger.
       * `known` = how many of the given loads the ledger knows.
       * @throws CallsyncError DATABASE_INCOMPLETE while tables are missing or being restored, or another of the store
       */
      readMark: async (loadIds: readonly string[] = []) => {
        const mark = await database.row<{ identity: string; epoch: number; known: number } | undefined>`
            SELECT concat_ws(' ', pg_postmaster_start_time(), c.oid, e.epoch, e.xmin, EXISTS (SELECT FROM ledger)) AS identity,
                   coalesce(e.epoch, 0) AS epoch, (SELECT count(*) FROM loads WHERE load_id = ANY(${loadIds})) AS known
              FROM pg_constraint c LEFT JOIN (SELECT epoch, xmin FROM epochs ORDER BY epoch DESC LIMIT 1) e ON true
             WHERE c.conrelid = 'load_calls'::regclass AND c.contype = 'f'`;
        if (mark !== undefined) return mark;
        throw transient('DATABASE_INCOMPLETE', 'The store is being restored.');
      },
      /** One process at a time does the work of a name. The lock goes with its connection: `signal` then aborts, and another may start. */
      lease: {
        run: <T>(name: string, work: (signal: AbortSignal) => Promise<T>) =>
          withSessionLock(database, `${schema}.lease.${name}`, work),
      },
      /** Keys and log that outlive a lost or restored store. @throws CallsyncError TOMBSTONE_KEY if the key is missing */
      get erasures() {
        return opened().erasures;
      },
      /** Compares the keys of this process with those that the store is used with. @throws CallsyncError PRIVACY_KEY, PROOF_KEY, SEAL_KEY, TOMBSTONE_KEY */
      checkKeys: () => joinKeys(database, options.keys?.() ?? [tombstoneKey(opened().erasures.key)]),
      /** Index of the subjects of calls and texts. @throws CallsyncError TOMBSTONE_KEY */
      get index() {
        return opened().index;
      },
      /** Keyed hash of a call id, or of another subject of an erasure, under which a tombstone stays in warehouses and receipts. @throws CallsyncError TOMBSTONE_KEY */
      keyOf: (subject: string): string => opened().keyOf(subject),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
};

/**
 * Creates the tables of a dropped store, unless another session works in the database and may be restoring them. A
 * session of another role counts as busy, because our role may not see its state.
 * @returns whether they were created.
 */
export const recreateStore = async (store: Store): Promise<boolean> => {
  const isLost = await store.value<boolean>`
      SELECT to_regclass(${`${store.schema}.migrations`}) IS NULL AND NOT EXISTS (
               SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND coalesce(backend_type, 'client backend') = 'client backend'
                  AND application_name NOT LIKE 'callsync%' AND state IS DISTINCT FROM 'idle' AND pid <> pg_backend_pid())`;
  return isLost && (await migrateStore(store));
};

/** Tables or their parts are missing. */
export const isIncomplete = (error: unknown) => error instanceof CallsyncError && error.code === 'DATABASE_INCOMPLETE';

const tombstoneKey = (bytes: Buffer): StoreKey => {
  const name = 'store.tombstone_key';
  return { name, file: `${name}_file`, bytes, former: [], code: 'TOMBSTONE_KEY' };
};

const refuseErasures = (): Erasures => {
  throw terminal('TOMBSTONE_KEY', 'The tombstone key is missing.');
};

/**
 * Brings the tables to this version, in one transaction; safe to run concurrently, and beside workers of the version before.
 * @returns whether it made the tables of a store that had none.
 * @throws CallsyncError STORE_SCHEMA where another version of callsync made tables that this one cannot use
 */
export const migrateStore = async (database: Database, since: Migrations = migrations): Promise<boolean> => {
  const tables = await readFile(new URL('./schema.sql', import.meta.url), 'utf8');
  const name = `schema.sql ${createHash('sha256').update(tables).digest('hex').slice(0, 12)}`;
  const { schema } = database;
  const ownFunctions = tables.replaceAll('SET search_path = callsync ', `SET search_path = ${schema} `);
  const known = Object.entries<string>({ [name]: ownFunctions, ...since });
  return await repeatTransaction(database, async (tx) => {
    await lockName(tx, 'callsync.migrate');
    await tx.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await tx.query(
      `CREATE TABLE IF NOT EXISTS ${schema}.migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    const applied = new Set(await tx.column<string>`SELECT name FROM ${raw(schema)}.migrations`);
    const foreign = [...applied].filter((one) => known.every(([mine]) => mine !== one));
    if (foreign.some((one) => !/^\d+-expand-/.test(one)))
      throw terminal('STORE_SCHEMA', 'The tables of the store are of another version of callsync.');
    // A statement that waits for a lock holds up every later query of its table.
    await tx.query("SET LOCAL lock_timeout = '2s'");
    for (const [open, sql] of known.filter(([one]) => !applied.has(one))) {
      await tx.client.query(sql);
      await tx.query`INSERT INTO ${raw(schema)}.migrations (name) VALUES (${open})`;
    }
    await catchUpSequences(tx, schema);
    return applied.size === 0;
  });
};

/**
 * Moves sequences behind the ids of their tables. Logical replication, by which many servers are upgraded, copies rows and
 * leaves sequences where they were; the next rows would get ids that are taken. Only an owner may move them.
 */
export const catchUpSequences = async (db: Queryable, schema: string): Promise<void> => {
  await db.query(`DO $$
    DECLARE one record;
    BEGIN
      FOR one IN SELECT c.oid::regclass AS of, a.attname AS id, pg_get_serial_sequence(c.oid::regclass::text, a.attname) AS name
                   FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                  WHERE a.attidentity <> '' AND c.relkind = 'r' AND c.relnamespace = '${schema}'::regnamespace
                    AND pg_has_role(c.relowner, 'USAGE')
      LOOP
        EXECUTE format('SELECT setval(%L, newest) FROM (SELECT max(%I) AS newest FROM %s) t, %s s
                         WHERE newest >= s.last_value + s.is_called::integer', one.name, one.id, one.of, one.name);
      END LOOP;
    END $$`);
};

export interface StoreKey {
  /** Configuration key of the secret; for a key of tokens, followed by its id. */
  readonly name: string;
  readonly file: string;
  readonly bytes: Buffer;
  /** Keys before it: a store that was used with one of them takes this one as the next. */
  readonly former: readonly Buffer[];
  /** Code of the error. */
  readonly code: 'PRIVACY_KEY' | 'PROOF_KEY' | 'SEAL_KEY' | 'TOMBSTONE_KEY';
}

/** Compares, and notes keys that are new. @throws CallsyncError as `StoreKey.code` has it */
const joinKeys = (store: Database, keys: readonly StoreKey[]): Promise<void> =>
  store.transaction(async (tx) => {
    if ((await compareKeys(tx, keys)).length === 0) return;
    // If two processes start at once with different keys, one is refused.
    await lockName(tx, 'callsync.token_keys');
    const fresh = await compareKeys(tx, keys);
    const noted = fresh.map(({ name, bytes }) => ({ name, fingerprint: fingerprintOf(bytes) }));
    await tx.query`INSERT INTO token_keys (key_id, fingerprint)
                   SELECT * FROM ${unnest(noted, { name: 'text', fingerprint: 'text' })} ON CONFLICT DO NOTHING`;
  });

/** @returns the keys that the store does not know yet. @throws CallsyncError as `StoreKey.code` has it */
export const compareKeys = async (db: Queryable, keys: readonly StoreKey[]): Promise<readonly StoreKey[]> => {
  const rows = await db.query<{ id: string; fingerprint: string }>`
      SELECT key_id AS id, fingerprint FROM token_keys WHERE key_id = ANY(${keys.map(({ name }) => name)})`;
  return keys.filter(({ name, bytes, former, file, code }) => {
    const known = new Set(rows.flatMap(({ id, fingerprint }) => (id === name ? [fingerprint] : [])));
    if (known.has(fingerprintOf(bytes))) return false;
    if (known.size === 0 || former.some((one) => known.has(fingerprintOf(one)))) return true;
    throw terminal(code, `The key in ${file} (${name}) is not the key of this store.`, {
      hint: `Replace ${file} by a copy of that file from a host whose workers run. After a change of the key, add the old key to the former keys.`,
    });
  });
};
