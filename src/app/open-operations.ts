/** The status page of a process, and the parts of a process that works. */

import { WorkflowFailedError } from '@temporalio/client';
import type { Config } from '../../schemas/config.ts';
import { pauseUpdate, resumeUpdate } from '../../workflows/messages.ts';
import { createRegistry, createWorkMetrics, watchSource, watchStore, watchUsage } from '../health/metrics/registry.ts';
import { type Action, type Actions, createAccess } from '../health/page/access.ts';
import { createPage, type Page } from '../health/page/page.ts';
import { createPageReader, type PageBackfill } from '../health/page/state.ts';
import type { Waiting } from '../health/read-health.ts';
import { transient } from '../lib/errors.ts';
import { readVersion } from '../lib/find-built.ts';
import { openSecret } from '../lib/secret.ts';
import { trimSlashes } from '../lib/trim-slashes.ts';
import { isLoopback } from '../source/http/http.ts';
import { requestLimitRules } from '../source/source.ts';
import { recordEvent, recordOnce } from '../store/status/events.ts';
import { backfillHandle } from '../temporal/workflow-client.ts';
import type { Receiver } from '../webhook/server/receiver.ts';
import { openWarehouses } from './activity-deps.ts';
import { explain, openHealth } from './open-health.ts';
import { claimSource, openSource } from './open-source.ts';
import { openStoreService, type Services } from './services.ts';
import { listBackfills, openTemporal, rootMessage } from './temporal.ts';

/** Users that may act, each with the reader of their token. @throws CallsyncError CONFIG_SECRET */
export const openUsers = ({ operations }: Pick<Config, 'operations'>) =>
  operations.users.map(({ name, token_file: file }) => ({
    name,
    token: openSecret({ key: 'operations.users[].token', file }).read,
  }));

/**
 * Undefined where it is turned off, or where everybody who reaches the port could read it.
 * @param receiver in this process, if there is one: the page shows its spool.
 */
export const openPage = (services: Services, parts: Parts, receiver?: Pick<Receiver, 'status'>): Page | undefined => {
  const { enabled, page, listen, hosts, token_file: file } = services.config.operations;
  if (!enabled || !page) return undefined;
  const readToken = openSecret({ key: 'operations.token', file })?.read;
  const users = openUsers(services.config);
  const isLocal = isLoopback(listen);
  if (!isLocal && readToken === undefined && users.length === 0) {
    services.log('the status page is not served: operations.listen is no loopback address and there is no token', {});
    return undefined;
  }
  recordOnce(parts.store, 'version', `callsync ${readVersion()} runs`).catch(() => undefined);
  const reader = createPageReader({
    store: parts.store,
    warehouses: parts.targets.map(({ warehouse }) => warehouse.name),
    version: readVersion(),
    rules: requestLimitRules(services.config.source),
    readHealth: parts.readings.read,
    latency: parts.readings.latency,
    readBackfills: () => readBackfills(parts.temporal),
    explain: (at) => explain(services.config, parts.store, at),
    readSpool: receiver && (() => describeSpool(receiver.status().spool)),
  });
  const access = createAccess({ isOpen: isLocal && readToken === undefined, readToken, users, hosts });
  const actions = users.length === 0 ? undefined : createPageActions(parts);
  return createPage({ ...reader, access, actions });
};

const describeSpool = ({ records, oldest }: ReturnType<Receiver['status']>['spool']): Waiting => ({
  count: records,
  oldestAge: oldest === undefined ? null : Math.max(0, (Date.now() - oldest.getTime()) / 1_000),
});

const shownBackfills = 12;

const readBackfills = async ({ client, prefix, uiUrl }: Parts['temporal']): Promise<PageBackfill[]> => {
  const listed = (await listBackfills(client, prefix)).slice(0, shownBackfills);
  const { namespace } = client.options;
  const workflows = uiUrl && `${trimSlashes(uiUrl)}/namespaces/${encodeURIComponent(namespace)}/workflows/`;
  return await Promise.all(
    listed.map(async (one) => {
      const handle = backfillHandle(client, prefix, one.name);
      const link = workflows ? `${workflows}${encodeURIComponent(handle.workflowId)}` : null;
      return { ...one, link, ...(one.closedAt !== null && (await readResult(handle))) };
    }),
  );
};

/** Of a run that ended: Temporal itself has it. */
const readResult = (handle: ReturnType<typeof backfillHandle>) =>
  handle.result().then(
    (progress) => ({ progress, error: null }),
    (error: unknown) => ({ progress: null, error: error instanceof WorkflowFailedError ? rootMessage(error) : null }),
  );

const updateDeadlineMs = 10_000;

/** The same as the commands of these names. The timeline shows each action with its user. */
const createPageActions = ({ store, temporal }: Parts): Actions => {
  const { client, prefix } = temporal;

  /** Records an action if it succeeds. The error of a failed action goes only to the browser. */
  const told =
    (word: string, update: typeof pauseUpdate): Action =>
    async (fields, actor) => {
      const name = fields.get('name') ?? '';
      const handle = backfillHandle(client, prefix, name);
      const asked = client.withDeadline(Date.now() + updateDeadlineMs, () => handle.executeUpdate(update));
      await asked.catch((cause: unknown) => {
        throw transient('BACKFILL_UNANSWERED', 'The backfill does not run, or no worker answers.', {
          hint: 'Run callsync backfill list; if the backfill runs, start callsync worker.',
          cause,
        });
      });
      const what = `${word} ${name}`;
      await recordEvent(store, { kind: 'backfill', what, actor });
      return what;
    };

  return { pause: told('Paused', pauseUpdate), resume: told('Resumed', resumeUpdate) };
};

// Parts of a working process: source, store, warehouses.

export type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Opens all parts, in the order in which one needs another.
 * `registry` has the metrics of all parts.
 * @throws CallsyncError CONFIG_SOURCE where the store holds calls of another service, and those of the parts
 */
export const openParts = async (services: Services, { acceptSource }: { readonly acceptSource?: boolean }) => {
  const registry = createRegistry({ ...services.config.operations, version: readVersion() });
  const store = await openStoreService(services);
  await claimSource(store, services.config, acceptSource ? 'accept' : 'keep');
  const targets = await openWarehouses(services, store);
  const source = openSource(services, store);
  const temporal = await openTemporal(services);
  const readings = openHealth(services.config, store, targets);
  watchSource(registry, source);
  watchStore(registry, readings, { requestsAllowed: requestLimitRules(services.config.source).requests });
  watchUsage(registry, readings.usages);
  return { registry, store, targets, source, temporal, readings, observer: createWorkMetrics(registry) };
};
