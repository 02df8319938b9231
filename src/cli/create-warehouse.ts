import type { WarehouseConfig } from '../../schemas/config/warehouses.ts';
import { openSecret } from '../secret.ts';
import { createDaySizes } from '../store/day-sizes.ts';
import { createLease } from '../store/loads/lease.ts';
import { createQuotaMemory } from '../store/quota-memory.ts';
import type { Store } from '../store/store.ts';
import type { SpentCommit } from '../warehouse/bigquery/quota.ts';
import { createBigqueryWarehouse } from '../warehouse/bigquery/warehouse.ts';
import { createPostgresWarehouse } from '../warehouse/postgres/warehouse.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

/**
 * The adapter of one configured warehouse; Postgres without a URL lives in the store's own server.
 * @param warn told of what fails in the background
 */
export const createWarehouse = (
  name: string,
  config: WarehouseConfig,
  store: Store,
  warn?: (error: unknown) => void,
): Warehouse => {
  if (config.type === 'bigquery') {
    const quotaMemory = createQuotaMemory<SpentCommit>(store, name);
    const daySizes = createDaySizes(store, name);
    return createBigqueryWarehouse({ name, config, lease: createLease(store), quotaMemory, daySizes });
  }
  const secret = openSecret({ key: `warehouses.${name}.url`, value: config.url, file: config.url_file });
  return createPostgresWarehouse({ name, url: secret?.read ?? store.url, config, warn });
};
