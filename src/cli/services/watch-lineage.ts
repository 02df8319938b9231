import { randomUUID } from 'node:crypto';
import type { Config } from '../../../schemas/config.ts';
import { createEmitter } from '../../lineage/emitter.ts';
import { type DatasetPlace, lineageEvents } from '../../lineage/events.ts';
import type { WorkObserver } from '../../pipeline/deps.ts';
import { type ConnectionUrl, readUrl } from '../../postgres/database.ts';
import { openSecret } from '../../secret.ts';
import { readVersion } from '../version.ts';
import type { Services } from './services.ts';

const placesOf = (config: Config, store: ConnectionUrl): Record<string, DatasetPlace> =>
  Object.fromEntries(
    Object.entries(config.warehouses).map(([name, warehouse]) => {
      if (warehouse.type === 'bigquery') {
        const prefix = `${warehouse.project}.${warehouse.dataset}`;
        return [name, { namespace: 'bigquery', prefix, documents: warehouse.documents }];
      }
      const secret = openSecret({ key: `warehouses.${name}.url`, value: warehouse.url, file: warehouse.url_file });
      const url = readUrl(secret?.read ?? store);
      const namespace = `postgres://${url.hostname}:${url.port || '5432'}`;
      const prefix = `${url.pathname.slice(1)}.${warehouse.schema}`;
      return [name, { namespace, prefix, documents: warehouse.documents }];
    }),
  );

/** An observer that also tells of loads where `lineage.url` is set; the given one where it is not. */
export const watchLineage = (
  services: Services,
  store: { readonly url: ConnectionUrl },
  observer: WorkObserver | undefined,
): WorkObserver | undefined => {
  const { config } = services;
  const { url, token_file: file, namespace } = config.lineage;
  if (url === undefined) return observer;
  const token = openSecret({ key: 'lineage.token', file })?.read;
  const emitter = createEmitter({ url, token, log: (event, fields) => services.log(event, fields) });
  services.defer(() => emitter.close());
  const service = new URL(config.source.base_url).origin;
  const context = { namespace, service, places: placesOf(config, store.url), version: readVersion() };
  return {
    folded: (batch) => observer?.folded(batch),
    loaded(load) {
      observer?.loaded(load);
      emitter.emit(lineageEvents(load, context, { runId: randomUUID(), endedAt: Date.now() }));
    },
  };
};
