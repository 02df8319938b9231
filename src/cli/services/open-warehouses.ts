import { flattenVersion } from '../../calls/flatten.ts';
import { CallsyncError } from '../../errors.ts';
import type { WarehouseTarget } from '../../pipeline/deps.ts';
import { createLedgerCheck, type LedgerCheck } from '../../pipeline/load/check-ledger.ts';
import { createLease } from '../../store/loads/lease.ts';
import { registerWarehouse } from '../../store/loads/warehouses.ts';
import type { Store } from '../../store/store.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { createWarehouse } from '../create-warehouse.ts';
import type { Services } from './services.ts';

/**
 * All configured warehouses, migrated and known to the ledger. A warehouse that is away is reported and stays
 * configured: what it misses stays pending.
 */
export const openWarehouses = async (services: Services, store: Store): Promise<readonly WarehouseTarget[]> => {
  const targets: WarehouseTarget[] = [];
  const warehouses: Warehouse[] = [];
  const check = createLedgerCheck({ store, warehouses, lease: createLease(store), say: services.say });
  for (const [name, config] of Object.entries(services.config.warehouses)) {
    const opened = createWarehouse(name, config, store);
    services.defer(() => opened.close());
    await opened.migrate().catch((error: unknown) => {
      if (!(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
      services.say(`Warehouse ${name} does not answer; what it misses stays pending. ${error.message}`);
    });
    await registerWarehouse(store, name, flattenVersion);
    const warehouse = prepareBeforeLoad(opened, check);
    warehouses.push(warehouse);
    targets.push({ warehouse, documents: config.documents });
  }
  await check.run();
  return targets;
};

/**
 * A warehouse that was away at the start is migrated before its first load. Before every load it is asked whether the
 * ledger was restored since: a load of an older ledger would stay mute.
 */
const prepareBeforeLoad = (warehouse: Warehouse, check: LedgerCheck): Warehouse => {
  const migrate = onceItSucceeds(() => warehouse.migrate());
  return {
    ...warehouse,
    migrate,
    load: async (batch) => {
      await migrate();
      await check.beforeLoad(warehouse.name);
      return await warehouse.load(batch);
    },
    recordState: async (row) => {
      await migrate();
      await warehouse.recordState(row);
    },
  };
};

const onceItSucceeds = (work: () => Promise<void>): (() => Promise<void>) => {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
};
