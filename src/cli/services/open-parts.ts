import type { Registry } from 'prom-client';
import type { WarehouseTarget, WorkObserver } from '../../pipeline/deps.ts';
import type { Source } from '../../source/source.ts';
import type { Store } from '../../store/store.ts';
import { openSource } from './open-source.ts';
import { openStoreService } from './open-store.ts';
import { openTemporal, type TemporalService } from './open-temporal.ts';
import { openWarehouses } from './open-warehouses.ts';
import type { Services } from './services.ts';
import { watchLineage } from './watch-lineage.ts';
import { watchParts } from './watch-parts.ts';

/** What a process that works needs: it reads from the source, keeps in the store, loads into the warehouses. */
export interface Parts {
  readonly store: Store;
  readonly targets: readonly WarehouseTarget[];
  readonly source: Source;
  readonly temporal: TemporalService;
  /** Is told of finished work; absent where nobody counts it or asks for its lineage. */
  readonly observer?: WorkObserver | undefined;
}

/**
 * Opens all parts, in the order in which one needs another.
 * @param registry where they are counted and watched.
 */
export const openParts = async (services: Services, registry?: Registry): Promise<Parts> => {
  const store = await openStoreService(services);
  const targets = await openWarehouses(services, store);
  const source = openSource(services, store);
  const temporal = await openTemporal(services);
  const observer = registry === undefined ? undefined : watchParts(services, registry, { store, targets, source });
  return { store, targets, source, temporal, observer: watchLineage(services, store, observer) };
};
