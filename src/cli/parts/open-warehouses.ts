import { flattenVersion } from '../../calls/flatten.ts';
import { CallsyncError } from '../../lib/errors.ts';
import type { WarehouseTarget } from '../../pipeline/deps.ts';
import { checkBeforeLoad, createLedgerCheck, type LedgerCheck } from '../../pipeline/load/check-ledger.ts';
import { createLease } from '../../store/loads/lease.ts';
import { beginWalk } from '../../store/loads/walk.ts';
import { registerWarehouse } from '../../store/loads/warehouses.ts';
import type { Store } from '../../store/store.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { createWarehouse } from './create-warehouse.ts';
import { openMarts } from './open-marts.ts';
import type { Services } from './services.ts';

/**
 * All configured warehouses, migrated, known to the ledger and compared with it, now and for as long as the services are
 * open. A warehouse that is away is reported and stays configured: what it misses stays pending.
 */
export const openWarehouses = async (services: Services, store: Store): Promise<readonly WarehouseTarget[]> => {
  const targets: WarehouseTarget[] = [];
  const warehouses: Warehouse[] = [];
  const ledgerCheck = createLedgerCheck({
    store,
    warehouses,
    lease: createLease(store),
    say: services.say,
  });
  for (const [name, config] of Object.entries(services.config.warehouses)) {
    const warehouse = createWarehouse(name, config, store, (error) =>
      services.log('loaded calls could not be indexed for search', { warehouse: name, error }),
    );
    services.defer(() => warehouse.close());
    await warehouse.migrate().catch((error: unknown) => {
      if (!(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
      services.say(`Warehouse ${name} does not answer; what it misses stays pending. ${error.message}`);
    });
    await registerWarehouse(store, name, flattenVersion);
    await openMarts(services, warehouse);
    warehouses.push(warehouse);
    targets.push({ warehouse: checkBeforeLoad(warehouse, ledgerCheck), documents: config.documents });
  }
  await ledgerCheck.run();
  for (const { name } of warehouses) await beginWalk(store, name);
  watchLedger(services, ledgerCheck);
  return targets;
};

const watchMs = 5_000;

/** Until the services are closed. */
const watchLedger = ({ defer, log }: Services, check: LedgerCheck): void => {
  let looking: Promise<void> | undefined;
  const look = (): void => {
    looking ??= check
      .watch()
      .catch((error: unknown) => log('the ledger could not be checked', { error }))
      .finally(() => {
        looking = undefined;
      });
  };
  const timer = setInterval(look, watchMs).unref();
  defer(async () => {
    clearInterval(timer);
    await looking;
  });
};
