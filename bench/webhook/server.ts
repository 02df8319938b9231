/**
 * The measured server, in a process of its own. It is the receiver, or a bare fastify route that takes the same bytes,
 * verifies nothing and stores nothing. Prints its address as a line of JSON, its processor time for each line that it
 * is sent, and ends when its input does.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fastify } from 'fastify';
import { Registry } from 'prom-client';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { webhookConfigSchema } from '../../schemas/config/webhook.ts';
import { openPool } from '../../src/postgres/database.ts';
import { openCleaner } from '../../src/privacy/threads.ts';
import { createInboxWriter } from '../../src/store/delivery/inbox-writer.ts';
import { createReceiver } from '../../src/webhook/server/receiver.ts';
import { openSigningKeys } from '../../src/webhook/server/signature.ts';
import { openSpool } from '../../src/webhook/spool/spool.ts';
import { serveStatusPage } from './status-page.ts';

interface Running {
  readonly port: number;
  /** Of the operations port with its status page; only the receiver has one. */
  readonly operations?: string;
  close(): Promise<void>;
}

/** `bare` is fastify as it comes, which parses JSON; `raw` takes the bytes as they are. */
const startBare = async (raw: boolean): Promise<Running> => {
  const app = fastify({ bodyLimit: 16 * 1024 * 1024 });
  if (raw) {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  }
  app.post('/webhook', (_request, reply) => reply.code(200).send());
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  return { port: Number(new URL(address).port), close: () => app.close() };
};

/** Rules of a delivery's fields alone, and the whole profile; without a name none. */
const rulesOf: Readonly<Record<string, object>> = {
  fields: {
    rules: ['in.data', 'out.data', 'metadata.ANI', 'metadata.Agent', 'metadata.ClientID'].map((path) => ({
      path,
      action: 'token',
    })),
    unreadable: 'drop',
  },
  pseudonymous: { profile: 'pseudonymous', unreadable: 'drop' },
};

const startDurable = async (url: string, spoolDir: string, secret: string, rules?: string): Promise<Running> => {
  const log = { info: () => {}, warn: console.error, error: console.error };
  const secrets = [{ name: 'bench', secret }];
  const config = webhookConfigSchema.parse({ port: 0, secrets });
  const privacy = rulesOf[rules ?? ''];
  const keys = { token: Buffer.alloc(32, 7), seal: undefined };
  const threads = privacy && openCleaner(privacyConfigSchema.parse(privacy), keys);
  const pool = openPool({ url, schema: 'callsync', application: 'bench', purpose: 'store', max: 4 });
  const receiver = createReceiver({
    config,
    secrets: openSigningKeys({ secrets, allowUnsigned: false, log }),
    inbox: createInboxWriter({ pool }),
    spool: await openSpool({ dir: spoolDir, config: config.spool, log }),
    registry: new Registry(),
    log,
    wake: async () => {},
    admit: threads?.clean,
  });
  await receiver.listen();
  const operations = await serveStatusPage(pool);
  return {
    port: Number(new URL(receiver.address).port),
    operations: operations.address,
    async close() {
      await operations.close();
      await receiver.close();
      await threads?.close();
      await pool.end();
    },
  };
};

/** The status page without a receiver. */
const startPage = async (url: string): Promise<Running> => {
  const pool = openPool({ url, schema: 'callsync', application: 'bench', purpose: 'store', max: 1 });
  const page = await serveStatusPage(pool);
  return {
    port: Number(new URL(page.address).port),
    operations: page.address,
    async close() {
      await page.close();
      await pool.end();
    },
  };
};

const [mode, url = '', spoolDir = '', secret = '', rules] = process.argv.slice(2);
const start = (): Promise<Running> => {
  if (mode === 'durable') return startDurable(url, spoolDir, secret, rules);
  return mode === 'page' ? startPage(url) : startBare(mode === 'raw');
};
const server = await start();
process.stdout.write(`${JSON.stringify({ port: server.port, operations: server.operations })}\n`);
const lines = createInterface({ input: process.stdin });
lines.on('line', () => {
  const { user, system } = process.cpuUsage();
  process.stdout.write(`${(user + system) / 1e6}\n`);
});
await once(lines, 'close');
await server.close();
