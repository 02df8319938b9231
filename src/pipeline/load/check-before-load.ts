/** A warehouse that migrates before its first load, and has the ledger checked before each. */
import { transient } from '../../errors.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import type { LedgerCheck } from './check-ledger.ts';
import { isTableMissing } from './compare-with-warehouse.ts';

/** A load of a ledger that was restored since would stay mute, and one into a warehouse that was lost would fail for good. */
export const checkBeforeLoad = (warehouse: Warehouse, check: LedgerCheck): Warehouse => {
  let migrated: Promise<void> | undefined;
  const migrate = (): Promise<void> => {
    migrated ??= warehouse.migrate().catch((error: unknown) => {
      migrated = undefined;
      throw error;
    });
    return migrated;
  };
  /** Tables that are missing are created by the next attempt. */
  const migratedFirst = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      await migrate();
      return await work();
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      migrated = undefined;
      check.suspect(warehouse);
      throw transient(error.code, error.message, { cause: error });
    }
  };
  return {
    ...warehouse,
    load: (batch) =>
      migratedFirst(async () => {
        await check.beforeLoad(warehouse, batch);
        const result = await warehouse.load(batch);
        check.afterLoad(warehouse, batch);
        return result;
      }),
    recordState: (row) => migratedFirst(() => warehouse.recordState(row)),
  };
};
