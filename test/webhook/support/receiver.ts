/** A receiver on a free port with its own spool folder, on a database that the caller owns. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import type { z } from 'zod';
import { webhookConfigSchema } from '../../../schemas/config/webhook.ts';
import { sendWebhook } from '../../../src/lib/send-webhook.ts';
import { type ConnectionUrl, openPool } from '../../../src/postgres/database.ts';
import { createInboxWriter } from '../../../src/store/delivery/inbox-writer.ts';
import { createReceiver } from '../../../src/webhook/server/receiver.ts';
import type { ReceiverLog } from '../../../src/webhook/server/receiver-log.ts';
import type { Admit } from '../../../src/webhook/server/routes.ts';
import { openSigningKeys, type Verifier } from '../../../src/webhook/server/signature.ts';
import { openSpool } from '../../../src/webhook/spool/spool.ts';
import { exchange, head, testSecret } from './raw-http.ts';

export { testSecret };

export type StartedReceiver = Awaited<ReturnType<typeof startReceiver>>;

export interface StartOptions {
  readonly databaseUrl: ConnectionUrl;
  readonly config?: Partial<z.input<typeof webhookConfigSchema>>;
  readonly verifier?: Verifier;
  readonly wake?: () => Promise<void>;
  readonly admit?: Admit;
  /** Kept after `stop`; a folder of its own without it. */
  readonly spoolDir?: string;
  /** How often secret files are looked at. */
  readonly intervalMs?: number;
}

export const startReceiver = async (options: StartOptions) => {
  const dir = options.spoolDir ?? (await mkdtemp(join(tmpdir(), 'callsync-receiver-')));
  const config = webhookConfigSchema.parse({
    port: 0,
    secrets: [{ name: 'primary', secret: testSecret }],
    ...options.config,
    spool: { min_free_bytes: 0, ...options.config?.spool },
  });
  const logged: string[] = [];
  const write = (level: string) => (_fields: object, message: string) => void logged.push(`${level} ${message}`);
  const log: ReceiverLog = { info: write('info'), warn: write('warn'), error: write('error') };
  const { databaseUrl, intervalMs } = options;
  const limits = { max: 5, answerMs: config.group_commit.deadline_s * 1_000 };
  const pool = openPool({ url: databaseUrl, schema: 'callsync', application: 'receiver', purpose: 'store', ...limits });
  const inbox = createInboxWriter({ pool });
  const spool = await openSpool({ dir, config: config.spool, log });
  const registry = new Registry();
  const { secrets, allow_unsigned: allowUnsigned } = config;
  const keys = openSigningKeys({ secrets, allowUnsigned, log, ...(intervalMs && { intervalMs }) });
  const receiver = createReceiver({
    ...{ config, secrets: keys, inbox, spool, registry, log },
    wake: options.wake ?? (async () => {}),
    ...(options.verifier && { verifier: options.verifier }),
    admit: options.admit,
  });
  await receiver.listen();
  const port = Number(new URL(receiver.address).port);
  const url = `${receiver.address}${config.path}`;
  const stop = async (): Promise<void> => {
    await receiver.close();
    await pool.end();
    if (options.spoolDir === undefined) await rm(dir, { recursive: true, force: true });
  };
  let stopped: Promise<void> | undefined;
  return {
    receiver,
    url,
    port,
    /** Sends a call of that id once, signed. */
    send: (id: string, more: Partial<Parameters<typeof sendWebhook>[0]> = {}) => {
      const usual = { url, body: JSON.stringify({ unique_id: id }), secret: testSecret, deliveryId: id, retry: false };
      return sendWebhook({ ...usual, ...more });
    },
    /** Status of the answer to a delivery by hand. */
    statusOf: async (headers: Parameters<typeof head>[0], body: string | Buffer) =>
      (await exchange(port, [head(headers), body])).answers[0]?.status,
    pool,
    inbox,
    spool,
    registry,
    /** Level and message of every log line. */
    logged,
    stop: () => (stopped ??= stop()),
  };
};

/** Sends one delivery after another in each of the lanes, with ids of their own, until the returned function is called. */
export const keepSending = (lanes: readonly string[], send: (id: string) => Promise<unknown>) => {
  let isOver = false;
  const sending = lanes.map(async (lane) => {
    for (let n = 0; !isOver; n += 1) await send(`${lane}-${n}`);
  });
  return async (): Promise<void> => {
    isOver = true;
    await Promise.all(sending);
  };
};
