/** A receiver as a process of its own, to be killed. Options as JSON in its first argument; prints `ready` once. */
import { Registry } from 'prom-client';
import { webhookConfigSchema } from '../../../schemas/config/webhook.ts';
import { openPool } from '../../../src/postgres/database.ts';
import { createInboxWriter } from '../../../src/store/delivery/inbox-writer.ts';
import { createReceiver } from '../../../src/webhook/server/receiver.ts';
import { openSigningKeys } from '../../../src/webhook/server/signature.ts';
import { openSpool } from '../../../src/webhook/spool/spool.ts';

export interface ReceiverProcessOptions {
  readonly databaseUrl: string;
  readonly spoolDir: string;
  readonly config: object;
}

const { databaseUrl: url, spoolDir, config: given } = JSON.parse(process.argv[2] ?? '') as ReceiverProcessOptions;
const config = webhookConfigSchema.parse(given);
const log = { info: () => {}, warn: () => {}, error: () => {} };
const receiver = createReceiver({
  config,
  secrets: openSigningKeys({ secrets: config.secrets, allowUnsigned: false, log }),
  inbox: createInboxWriter({
    pool: openPool({ url, schema: 'callsync', application: 'receiver', purpose: 'store', max: 5 }),
  }),
  spool: await openSpool({ dir: spoolDir, config: config.spool, log }),
  registry: new Registry(),
  log,
  wake: async () => {},
});
await receiver.listen();
process.stdout.write(`${JSON.stringify({ address: receiver.address })}\n`);
// Asked for by the parent: memory after a collection, and what waits.
process.stdin.on('data', () => {
  const { rss } = process.memoryUsage();
  process.stdout.write(`${JSON.stringify({ rss, ...receiver.status() })}\n`);
});
process.stdin.on('end', () => process.exit());
