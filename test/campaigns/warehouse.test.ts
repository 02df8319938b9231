/** Rows that others alter in the warehouses. About 5 minutes in all, each case as it says. */

import { test } from 'vitest';
import { findTampering } from '../pipeline/reconcile/tamper-cases.ts';

/**
 * Alters 1,000 values, deletes rows and adds rows by SQL in both warehouses: level rows finds and heals all of it.
 * About 5 minutes.
 */

test('tamper: everything is found and healed', async () => {
  await findTampering({ calls: 2_000, altered: 1_000, moved: 20, deleted: 100, added: 60, raised: 60, again: true });
});
