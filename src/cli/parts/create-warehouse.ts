import type { WarehouseConfig } from '../../../schemas/config/warehouses.ts';
import { createLease } from '../../store/loads/lease.ts';
import { createQuotaMemory } from '../../store/quota-memory.ts';
import type { Store } from '../../store/store.ts';
import { kindOf } from '../../warehouse/kinds.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';

/**
 * The adapter of one configured warehouse.
 * @param warn told of what fails in the background
 */
export const createWarehouse = (
  name: string,
  config: WarehouseConfig,
  store: Store,
  warn?: (error: unknown) => void,
): Warehouse =>
  kindOf(config).create({
    name,
    config,
    storeUrl: store.url,
    lease: createLease(store),
    memory: () => createQuotaMemory(store, name),
    warn,
  });
