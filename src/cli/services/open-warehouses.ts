import { flattenVersion } from '../../calls/flatten.ts';
import { CallsyncError } from '../../errors.ts';
import type { WarehouseTarget } from '../../pipeline/deps.ts';
import { issueEpoch } from '../../store/loads/epochs.ts';
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
  const unasked = new Set<string>();
  for (const [name, config] of Object.entries(services.config.warehouses)) {
    const warehouse: Warehouse = prepareBeforeLoad(createWarehouse(name, config, store), async () => {
      if (unasked.has(name)) await ensureEpoch(services, store, [warehouse]);
      unasked.delete(name);
    });
    services.defer(() => warehouse.close());
    await warehouse.migrate().catch((error: unknown) => {
      if (!(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
      services.say(`Warehouse ${name} does not answer; what it misses stays pending. ${error.message}`);
    });
    await registerWarehouse(store, name, flattenVersion);
    targets.push({ warehouse, documents: config.documents });
  }
  await ensureEpoch(
    services,
    store,
    targets.map((target) => target.warehouse),
    unasked,
  );
  return targets;
};

/**
 * A warehouse that was away at the start is migrated, and asked for its last load, before its first load: a load of a
 * ledger that was restored meanwhile would stay mute there, and would hide from the next start that it is unknown.
 */
const prepareBeforeLoad = (warehouse: Warehouse, ask: () => Promise<void>): Warehouse => {
  const migrate = onceItSucceeds(() => warehouse.migrate());
  const prepare = onceItSucceeds(() => migrate().then(ask));
  return {
    ...warehouse,
    migrate,
    load: async (batch) => {
      await prepare();
      return await warehouse.load(batch);
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

/**
 * A ledger without an epoch is new; one that does not know the last load of a warehouse was restored from a backup.
 * Both get an epoch above everything that the warehouses have seen, so that nothing stays mute.
 */
const ensureEpoch = async (
  services: Services,
  store: Store,
  warehouses: readonly Warehouse[],
  unasked?: Set<string>,
): Promise<void> => {
  const present = await store.epoch();
  let highest = 0;
  let unknown = false;
  for (const warehouse of warehouses) {
    const [last] = await warehouse
      .query('SELECT load_id, ledger_epoch FROM loads ORDER BY ledger_epoch DESC, loaded_at DESC LIMIT 1')
      .catch((error: unknown) => {
        // A new ledger must know every warehouse's epoch, or it could stay mute there; an old one can ask later.
        if (!unasked || present === 0 || !(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
        unasked.add(warehouse.name);
        return [];
      });
    if (last === undefined) continue;
    highest = Math.max(highest, Number(last.ledger_epoch));
    const { rowCount } = await store.pool.query('SELECT 1 FROM loads WHERE load_id = $1', [last.load_id]);
    unknown ||= rowCount === 0;
  }
  if (present > 0 && !unknown) return;
  const reason = present === 0 ? 'created' : 'restored: a warehouse has a load that this ledger does not know';
  const epoch = await issueEpoch(store, reason, highest);
  if (present > 0)
    services.say(`The ledger is older than a warehouse: epoch ${epoch} was issued, all calls are sent again.`);
};
