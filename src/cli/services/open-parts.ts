import type { WarehouseTarget } from '../../pipeline/deps.ts';
import type { Source } from '../../source/source.ts';
import type { Store } from '../../store/store.ts';
import { openSource } from './open-source.ts';
import { openStoreService } from './open-store.ts';
import { openTemporal, type TemporalService } from './open-temporal.ts';
import { openWarehouses } from './open-warehouses.ts';
import type { Services } from './services.ts';

/** What a process that works needs: it reads from the source, keeps in the store, loads into the warehouses. */
export interface Parts {
  readonly store: Store;
  readonly targets: readonly WarehouseTarget[];
  readonly source: Source;
  readonly temporal: TemporalService;
}

/** Opens all parts, in the order in which one needs another. */
export const openParts = async (services: Services): Promise<Parts> => {
  const store = await openStoreService(services);
  const targets = await openWarehouses(services, store);
  const source = openSource(services, store);
  return { store, targets, source, temporal: await openTemporal(services) };
};
