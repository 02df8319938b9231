/** The webhook receiver of a process with its spool and its wake-up. */

import { Registry } from 'prom-client';
import type { Config } from '../../schemas/config.ts';
import { resolveDataDir } from '../config/data-dir.ts';
import { watchInbox } from '../health/metrics/registry.ts';
import { CallsyncError, terminal } from '../lib/errors.ts';
import { type ConnectionUrl, openDatabase, type Queryable } from '../postgres/database.ts';
import { createInboxWriter } from '../store/delivery/inbox-writer.ts';
import { compareKeys, isIncomplete } from '../store/store.ts';
import { createReceiver, type Receiver } from '../webhook/server/receiver.ts';
import { openSigningKeys } from '../webhook/server/signature.ts';
import { openSpool } from '../webhook/spool/spool.ts';
import { createLogger, inDataDir, listPrivacyKeys, openPrivacyKeys, type Services } from './services.ts';

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
    answerMs: webhook.group_commit.deadline_s * 1_000,
    onConnect: compare,
  });
  services.defer(db.close);
  await compare(db).catch((error: unknown) => {
    // The store may be away: deliveries then wait in the spool, and the merge compares their key.
    if (!(error instanceof CallsyncError) || error.kind === 'terminal') throw error;
  });
  const inbox = createInboxWriter(db);
  watchInbox({ registry, read: inbox.depth });
  const spool = await openSpool({
    dir: webhook.spool.dir ?? inDataDir(store, 'spool'),
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
  const rules = openPrivacyKeys(services.config);
  const threads = rules && (await import('../privacy/threads.ts')).openCleaner(services.config.privacy, rules);
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
