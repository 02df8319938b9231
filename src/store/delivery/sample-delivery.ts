/** The trace of a sample delivery in the store, to see that it arrived and to take it out again. */
import type { Queryable } from '../../postgres/database.ts';

/** Finds and removes a delivery by the SHA-256 of its body. */
export const createSampleStore = (db: Queryable) => ({
  hasDelivery: async (bodyHash: Buffer): Promise<boolean> => {
    const rows = await db.query('SELECT 1 FROM inbox WHERE body_hash = $1 LIMIT 1', [bodyHash]);
    return rows.length > 0;
  },
  /** From the inbox first: a merge that holds the row ends before it is deleted, and what it quarantined follows. */
  removeDelivery: async (bodyHash: Buffer): Promise<void> => {
    await db.query('DELETE FROM inbox WHERE body_hash = $1', [bodyHash]);
    await db.query('DELETE FROM quarantine WHERE body_hash = $1', [bodyHash]);
  },
});
