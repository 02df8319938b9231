/** Serves health, readiness and metrics of a process, and the status page of a process that works. */
import type { Client } from '@temporalio/client';
import type { Registry } from 'prom-client';
import type { Config } from '../../../schemas/config.ts';
import { type BackfillProgress, progressQuery } from '../../../workflows/messages.ts';
import { createAccess } from '../../health/page/access.ts';
import { createPage, type Page } from '../../health/page/page.ts';
import { createPageReader } from '../../health/page/read-state.ts';
import { serveOperations } from '../../health/page/server.ts';
import type { PageBackfill } from '../../health/page/state.ts';
import type { Waiting } from '../../health/read-health.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { openSecret } from '../../lib/secret.ts';
import { requestLimitRules } from '../../source/source.ts';
import { recordVersion } from '../../store/status/events.ts';
import { backfillHandle } from '../../temporal/workflow-client.ts';
import type { Receiver } from '../../webhook/server/receiver.ts';
import { readVersion } from '../shell/version.ts';
import { listBackfills } from './list-backfills.ts';
import type { Parts } from './open-parts.ts';
import { createPageActions } from './page-actions.ts';
import type { Services } from './services.ts';
import { shareOf } from './watch-backfill.ts';

/**
 * Returns the address, if this process has one.
 * @param input.portMayBeTaken several workers run on one host: all but the first go without.
 */
export const openOperations = async (
  services: Services<Pick<Config, 'operations'>>,
  input: {
    readonly registry: Registry;
    readonly ready: () => boolean;
    readonly portMayBeTaken?: boolean;
    /** The port is a wish: where another process has it, any will do. */
    readonly orAnyPort?: boolean;
    /** The status page; a process that does no work has none. */
    readonly page?: Page | undefined;
  },
): Promise<string | undefined> => {
  const { enabled, listen, port, tls, token_file: file } = services.config.operations;
  if (!enabled) return undefined;
  const { registry, ready, portMayBeTaken = false, orAnyPort, page } = input;
  const token = openSecret({ key: 'operations.token', file })?.read;
  try {
    const server = await serveOperations({ listen, port, orAnyPort, registry, ready, token, page, tls });
    services.defer(() => server.close());
    return server.address;
  } catch (error) {
    if (!portMayBeTaken || !(error instanceof CallsyncError)) throw error;
    services.log('health and metrics are not served: another process has the port', { port });
    return undefined;
  }
};

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/**
 * Undefined where it is turned off, or where everybody who reaches the port could read it.
 * @param receiver in this process, if there is one: the page shows its spool.
 */
export const openPage = (services: Services, parts: Parts, receiver?: Pick<Receiver, 'status'>): Page | undefined => {
  const { enabled, page, listen, hosts, actors: configured, token_file: file } = services.config.operations;
  if (!enabled || !page) return undefined;
  const readToken = openSecret({ key: 'operations.token', file })?.read;
  const actors = configured.flatMap(({ name, token_file: own }) => {
    const secret = openSecret({ key: 'operations.actors[].token', file: own });
    return secret === undefined ? [] : [{ name, token: secret.read }];
  });
  const isLocal = loopback.test(listen);
  if (!isLocal && readToken === undefined && actors.length === 0) {
    services.log('the status page is not served: operations.listen is no loopback address and there is no token', {});
    return undefined;
  }
  recordVersion(parts.store, readVersion()).catch(() => undefined);
  const reader = createPageReader({
    store: parts.store,
    warehouses: parts.targets.map(({ warehouse }) => warehouse.name),
    version: readVersion(),
    rules: requestLimitRules(services.config.source),
    readHealth: parts.readings.read,
    usages: parts.readings.usages,
    readBackfills: () => readBackfills(services, parts.temporal),
    readSpool: receiver && (() => describeSpool(receiver.status().spool)),
  });
  const access = createAccess({ isOpen: isLocal && readToken === undefined, readToken, actors, hosts });
  return createPage({
    ...reader,
    access,
    actions: actors.length === 0 ? undefined : createPageActions(services, parts),
  });
};

const describeSpool = ({ records, oldest }: ReturnType<Receiver['status']>['spool']): Waiting => ({
  count: records,
  oldestAge: oldest === undefined ? null : Math.max(0, (Date.now() - oldest.getTime()) / 1_000),
});

const shownBackfills = 12;

const readBackfills = async (services: Services, { client, uiUrl }: Parts['temporal']): Promise<PageBackfill[]> => {
  const { task_queue: prefix, namespace } = services.config.temporal;
  const listed = (await listBackfills(client, prefix)).slice(0, shownBackfills);
  return await Promise.all(
    listed.map(async ({ name, status, startedAt }) => {
      const { workflowId } = backfillHandle(client, prefix, name);
      const link =
        uiUrl === undefined
          ? null
          : `${uiUrl.replace(/\/$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
      return {
        name,
        status,
        startedAt,
        link,
        progress: status === 'RUNNING' ? await askProgress(client, workflowId) : null,
      };
    }),
  );
};

/** Null where no worker answers in time. */
const askProgress = async (client: Client, workflowId: string): Promise<PageBackfill['progress']> => {
  const asked = client.withDeadline(Date.now() + 1_500, () =>
    client.workflow.getHandle(workflowId).query(progressQuery),
  );
  return await asked.then(describeProgress).catch(() => null);
};

const describeProgress = (progress: BackfillProgress): NonNullable<PageBackfill['progress']> => {
  const { state, totals, startedAt } = progress;
  const share = shareOf(progress);
  const seconds = Math.max(0.001, (Date.now() - startedAt) / 1000);
  const secondsLeft = state === 'running' && share > 0.01 ? (seconds / share) * (1 - share) : null;
  return {
    state,
    share,
    windows: totals.windows,
    calls: totals.calls,
    callsPerSecond: totals.calls / seconds,
    secondsLeft,
  };
};
