/**
 * What a receiver may do in the store: add deliveries, and see how many wait. It is the one process that the internet
 * reaches, so its role reads no call: neither ledger nor bodies, nor the key of tombstones.
 */
import { scramVerifier } from '../../lib/keyed-hash.ts';
import type { Queryable } from '../../postgres/database.ts';
import { storeSchema } from '../migrate.ts';

/** Statements that give a role exactly the rights that `createInboxWriter` needs. */
export const receiverGrants = (role: string): readonly string[] => {
  const grantee = `"${role.replaceAll('"', '""')}"`;
  const inbox = `${storeSchema}.inbox`;
  return [
    `REVOKE ALL ON ALL TABLES IN SCHEMA ${storeSchema} FROM ${grantee}`,
    `GRANT USAGE ON SCHEMA ${storeSchema} TO ${grantee}`,
    `GRANT INSERT ON ${inbox} TO ${grantee}`,
    // The same delivery again is noticed by its arrival_id; age and depth of the inbox need the others.
    `GRANT SELECT (seq, arrival_id, outcome, received_at) ON ${inbox} TO ${grantee}`,
    `GRANT SELECT ON ${storeSchema}.counters TO ${grantee}`,
    // It compares its key of tokens, and could not keep workers out with one of its own.
    `GRANT SELECT ON ${storeSchema}.token_keys TO ${grantee}`,
    // Warehouses are told of rejected deliveries.
    `GRANT INSERT ON ${storeSchema}.unloaded_deliveries TO ${grantee}`,
    `GRANT SELECT (name, configured_at) ON ${storeSchema}.warehouses TO ${grantee}`,
  ];
};

/**
 * Makes the role, or sets its password if it is there, and gives it its rights. The store must be migrated.
 * @param password undefined = the role is there and keeps its own.
 */
export const setUpReceiverRole = async (db: Queryable, role: string, password: string | undefined): Promise<void> => {
  const [present] = await db.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (password !== undefined) {
    const verb = present === undefined ? 'CREATE' : 'ALTER';
    const [made] = await db.query<{ sql: string }>(
      `SELECT format('${verb} ROLE %I LOGIN PASSWORD %L', $1::text, $2::text) AS sql`,
      [role, scramVerifier(password)],
    );
    await db.query(made?.sql ?? '');
  }
  for (const statement of receiverGrants(role)) await db.query(statement);
};
