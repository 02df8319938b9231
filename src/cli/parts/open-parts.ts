/** Parts of a working process: source, store, warehouses. */
import type { Registry } from 'prom-client';
import { openHealth, watchParts } from './open-health.ts';
import { claimSource, openSource } from './open-source.ts';
import { openStoreService } from './open-store.ts';
import { openWarehouses } from './open-warehouses.ts';
import type { Services } from './services.ts';
import { openTemporal } from './temporal.ts';

export type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Opens all parts, in the order in which one needs another.
 * @param registry gets the metrics of all parts.
 * @throws CallsyncError CONFIG_SOURCE where the store holds calls of another service, and those of the parts
 */
export const openParts = async (
  services: Services,
  registry: Registry,
  { acceptSource = false }: { readonly acceptSource?: boolean } = {},
) => {
  const store = await openStoreService(services);
  await claimSource(store, services.config, acceptSource ? 'accept' : 'keep');
  const targets = await openWarehouses(services, store);
  const source = openSource(services, store);
  const temporal = await openTemporal(services);
  const readings = openHealth(services.config, store, targets);
  return { store, targets, source, temporal, readings, observer: watchParts(services, registry, { source, readings }) };
};
