import type { WarehouseConfig } from '../../../schemas/config/warehouses.ts';
import type { Config } from '../../../schemas/config.ts';
import { terminal } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';
import { kinds } from '../../warehouse/kinds.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import { createWarehouse } from './create-warehouse.ts';
import type { Services } from './services.ts';

/** The settings of a warehouse by its name. @throws CallsyncError USAGE_WAREHOUSE */
export const configuredWarehouse = (config: Config, name: string): WarehouseConfig => {
  const found = Object.hasOwn(config.warehouses, name) ? config.warehouses[name] : undefined;
  if (found !== undefined) return found;
  throw terminal('USAGE_WAREHOUSE', `There is no warehouse “${name}” in the configuration.`, {
    hint: `Use one of: ${Object.keys(config.warehouses).join(', ')}.`,
  });
};

/** A warehouse by its name; without a name, the first of the kind that is listed first. @throws CallsyncError USAGE_WAREHOUSE */
export const chooseWarehouse = (config: Config, name?: string) => {
  const { warehouses } = config;
  const names = kinds.flatMap(({ type }) => Object.keys(warehouses).filter((one) => warehouses[one]?.type === type));
  const chosen = name ?? names[0] ?? '';
  return { name: chosen, settings: configuredWarehouse(config, chosen) };
};

/** A warehouse to ask something; nothing is migrated. */
export const openWarehouse = (services: Services, store: Store, name?: string): Warehouse => {
  const { name: chosen, settings } = chooseWarehouse(services.config, name);
  const warehouse = createWarehouse(chosen, settings, store);
  services.defer(() => warehouse.close());
  return warehouse;
};
