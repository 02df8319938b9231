/**
 * Health, readiness and metrics of a process, its status page, its webhook receiver, and the parts of a process that works.
 */

import { join } from 'node:path';
import { type Client, WorkflowFailedError } from '@temporalio/client';
import { Registry } from 'prom-client';
import type { Config } from '../../schemas/config.ts';
import { parseInstant } from '../../schemas/instant.ts';
import { type BackfillProgress, pauseUpdate, progressQuery, resumeUpdate } from '../../workflows/messages.ts';
import { resolveDataDir } from '../config/data-dir.ts';
import {
  createRegistry,
  createWorkMetrics,
  watchInbox,
  watchSource,
  watchStore,
  watchUsage,
} from '../health/metrics/registry.ts';
import { type Action, type Actions, createAccess } from '../health/page/access.ts';
import { createPage, type Page } from '../health/page/page.ts';
import { serveOperations } from '../health/page/server.ts';
import { createPageReader, type PageBackfill } from '../health/page/state.ts';
import type { Waiting } from '../health/read-health.ts';
import { secondsLeft } from '../lib/count-of.ts';
import { CallsyncError, terminal, transient } from '../lib/errors.ts';
import { readVersion } from '../lib/find-built.ts';
import { openSecret } from '../lib/secret.ts';
import { dayMicros as day } from '../lib/timestamps.ts';
import { trimSlashes } from '../lib/trim-slashes.ts';
import { replayQuarantine } from '../pipeline/import/replay-quarantine.ts';
import { type ConnectionUrl, openDatabase, type Queryable } from '../postgres/database.ts';
import { isLoopback } from '../source/http/http.ts';
import { requestLimitRules } from '../source/source.ts';
import { createInboxWriter } from '../store/delivery/inbox-writer.ts';
import { recordEvent, recordOnce } from '../store/status/events.ts';
import { compareKeys, isIncomplete } from '../store/store.ts';
import { backfillHandle, startReconcile } from '../temporal/workflow-client.ts';
import { createReceiver, type Receiver } from '../webhook/server/receiver.ts';
import { openSigningKeys } from '../webhook/server/signature.ts';
import { openSpool } from '../webhook/spool/spool.ts';
import { ingestDeps, openWarehouses } from './activity-deps.ts';
import { explain, openHealth } from './open-health.ts';
import { claimSource, openSource } from './open-source.ts';
import { createLogger, listPrivacyKeys, openReceiverPrivacy, openStoreService, type Services } from './services.ts';
import { beginBackfill, listBackfills, openTemporal, rootMessage, untilNow } from './temporal.ts';

/**
 * Returns the address, if this process has one.
 * @param input.portMayBeTaken several workers run on one host: all but the first go without.
 */
export const openOperations = async (
  services: Services<Pick<Config, 'operations'>>,
  input: Pick<Parameters<typeof serveOperations>[0], 'orAnyPort' | 'page' | 'ready' | 'registry'> & {
    readonly portMayBeTaken?: boolean;
  },
): Promise<string | undefined> => {
  const { enabled, listen, port, tls, token_file: file } = services.config.operations;
  if (!enabled) return undefined;
  const { portMayBeTaken = false, ...parts } = input;
  const token = openSecret({ key: 'operations.token', file })?.read;
  try {
    const server = await serveOperations({ ...parts, listen, port, token, tls });
    services.defer(() => server.close());
    return server.address;
  } catch (error) {
    if (!portMayBeTaken || !(error instanceof CallsyncError)) throw error;
    services.log('health and metrics are not served: another process has the port', { port });
    return undefined;
  }
};

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
    usages: parts.readings.usages,
    latency: parts.readings.latency,
    readBackfills: () => readBackfills(parts.temporal),
    explain: (at) => explain(services.config, parts.store, at),
    readSpool: receiver && (() => describeSpool(receiver.status().spool)),
  });
  const access = createAccess({ isOpen: isLocal && readToken === undefined, readToken, users, hosts });
  const actions = users.length === 0 ? undefined : createPageActions(services, parts);
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
      const { workflowId } = backfillHandle(client, prefix, one.name);
      const link = workflows ? `${workflows}${encodeURIComponent(workflowId)}` : null;
      const { progress, error } = await askProgress(client, workflowId, one.status === 'RUNNING');
      return { ...one, link, progress, error: error ?? one.error };
    }),
  );
};

/** No progress where no worker answers in time. Temporal itself has the result of a run that ended. */
const askProgress = async (client: Client, workflowId: string, isRunning: boolean) => {
  const handle = client.workflow.getHandle(workflowId);
  const ask = (): Promise<BackfillProgress> => (isRunning ? handle.query(progressQuery) : handle.result());
  return await client.withDeadline(Date.now() + 1_500, ask).then(
    (progress) => ({ progress: describeProgress(progress), error: null }),
    (error: unknown) => ({ progress: null, error: error instanceof WorkflowFailedError ? rootMessage(error) : null }),
  );
};

const describeProgress = (progress: BackfillProgress): NonNullable<PageBackfill['progress']> => {
  const { state, share, totals } = progress;
  return { state, share, windows: totals.windows, calls: totals.calls, secondsLeft: secondsLeft(progress) };
};

const updateDeadlineMs = 10_000;

/** A day as the page's forms send it → microseconds. @throws CallsyncError USAGE_RANGE */
const dayOf = (text: string | null): number => {
  const micros = text?.length === '2026-01-31'.length ? parseInstant(text) : undefined;
  if (micros === undefined) throw terminal('USAGE_RANGE', 'A day such as 2026-01-31 is needed.');
  return micros;
};

/** The same as the commands of these names. The timeline shows each action with its user. */
const createPageActions = (services: Services, { store, targets, temporal }: Parts): Actions => {
  const { prefix } = temporal;

  /** Records an action if it succeeds. The error of a failed action goes only to the browser. */
  const told =
    (kind: string, act: (fields: URLSearchParams) => Promise<string>): Action =>
    async (fields, actor) => {
      const what = await act(fields);
      await recordEvent(store, { kind, what, actor });
      return what;
    };

  const change = async (fields: URLSearchParams, update: typeof pauseUpdate): Promise<string> => {
    const name = fields.get('name') ?? '';
    const handle = backfillHandle(temporal.client, prefix, name);
    await temporal.client
      .withDeadline(Date.now() + updateDeadlineMs, () => handle.executeUpdate<BackfillProgress, []>(update))
      .catch((cause: unknown) => {
        throw transient('BACKFILL_UNANSWERED', 'The backfill does not run, or no worker answers.', {
          hint: 'Run callsync backfill list; if the backfill runs, start callsync worker.',
          cause,
        });
      });
    return name;
  };

  return {
    pause: told('backfill', async (fields) => `Paused ${await change(fields, pauseUpdate)}`),
    resume: told('backfill', async (fields) => `Resumed ${await change(fields, resumeUpdate)}`),
    backfill: told('backfill', async (fields) => {
      const range = untilNow({ from: dayOf(fields.get('from')), to: dayOf(fields.get('to')) }, () => undefined);
      const name = `${fields.get('from')}_${fields.get('to')}`;
      await beginBackfill(services, temporal, { name, range });
      return `Started ${name}`;
    }),
    reconcile: told('reconcile', async (fields) => {
      const from = dayOf(fields.get('day'));
      const range = untilNow({ from, to: from + day }, () => undefined);
      await startReconcile(temporal.client, prefix, { name: `${from}-${range.to}`, request: { range, force: true } });
      return `Reconciles ${fields.get('day')}`;
    }),
    replay: told('quarantine', async (fields) => {
      const id = fields.get('id')?.trim() ?? '';
      if (!/^\d{0,15}$/.test(id))
        throw terminal('USAGE_QUARANTINE', 'The number of a record is needed, or an empty field for all records.', {
          hint: 'Run callsync quarantine list for the numbers.',
        });
      const { replayed, refused } = await replayQuarantine(ingestDeps(services, { store, targets }), {
        carries: new Set(services.config.source.list.authoritative_fields),
        ...(id === '' ? {} : { ids: [Number(id)] }),
      });
      return `Replayed ${replayed} quarantined records, ${refused} still refused`;
    }),
  };
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

// The webhook receiver of a process with its spool and its wake-up.

const gaugeDeadlineMs = 2_000;

/** Listens when it resolves. The store may be away: deliveries then wait in the spool. */
export const openReceiver = async (
  services: Services<Pick<Config, 'privacy' | 'store' | 'webhook'>>,
  input: {
    readonly storeUrl: ConnectionUrl;
    /** Registry for its counters; by default it does not count. */
    readonly registry?: Registry;
    readonly logLevel: string;
    /** If another process has the port, takes a free one. */
    readonly orAnyPort?: boolean | undefined;
  },
): Promise<Receiver> => {
  const { webhook, store } = services.config;
  const { registry = new Registry() } = input;
  const log = createLogger(input.logLevel);
  const secrets = openSigningKeys({ secrets: webhook.secrets, allowUnsigned: webhook.allow_unsigned, log });
  const keys = listPrivacyKeys(services.config);
  const compare = async (connection: Queryable): Promise<void> => {
    await compareKeys(connection, keys).catch((error: unknown) => {
      if (!isIncomplete(error)) throw error;
    });
  };
  const db = openDatabase({
    url: input.storeUrl,
    schema: store.schema,
    application: 'callsync receiver',
    purpose: 'store',
    max: webhook.group_commit.writers + 2,
    onConnect: compare,
  });
  services.defer(db.close);
  await compare(db).catch((error: unknown) => {
    // The store may be away: deliveries then wait in the spool, and the merge compares their key.
    if (!(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
  });
  const inbox = createInboxWriter(db);
  watchInbox({ registry, read: () => inbox.depth({ deadlineMs: gaugeDeadlineMs }) });
  const spool = await openSpool({
    dir: webhook.spool.dir ?? join(resolveDataDir(store.data_dir), 'spool'),
    config: webhook.spool,
    log,
  }).catch((error: unknown) => {
    if (!(error instanceof CallsyncError) || error.code !== 'SPOOL_IN_USE' || webhook.spool.dir !== undefined)
      throw error;
    throw terminal('SPOOL_IN_USE', `callsync already receives deliveries in ${resolveDataDir(store.data_dir)}.`, {
      hint: 'Use the callsync up or callsync serve that runs, or stop it first. A second installation needs a store.data_dir of its own.',
      cause: error,
    });
  });
  const threads = openReceiverPrivacy(services.config);
  if (threads !== undefined) services.defer(threads.close);
  const receiver = createReceiver({
    config: webhook,
    secrets,
    inbox,
    spool,
    registry,
    log,
    wake: inbox.wake,
    admit: threads?.clean,
  });
  services.defer(() => receiver.close());
  await receiver.listen({ orAnyPort: input.orAnyPort });
  return receiver;
};
