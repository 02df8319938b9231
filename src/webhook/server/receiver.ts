/** The webhook receiver: verifies deliveries and answers 2XX once they are durable (interface §4.3, §5.4). */
import type { Server } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import type { WebhookConfig } from '../../../schemas/config/webhook.ts';
import { createWebhookMetrics } from '../../health/metrics/webhook-metrics.ts';
import type { Certificate, TlsFiles } from '../../lib/certificate.ts';
import { listenOnPort, readCertificate, reloadCertificate, serverAddress } from '../../lib/certificate.ts';
import { errorCode, terminal } from '../../lib/errors.ts';
import type { FileWatch } from '../../lib/file-watch.ts';
import type { InboxWriter } from '../../store/delivery/inbox-writer.ts';
import { createDrain } from '../spool/drain.ts';
import type { Spool } from '../spool/spool.ts';
import { type BodyReader, createBodyReader } from './body.ts';
import { createGroupCommit } from './group-commit.ts';
import { createDropLog, type ReceiverLog } from './receiver-log.ts';
import { createRejections } from './rejections.ts';
import { type Admit, addRoutes } from './routes.ts';
import { createAddressList, createKnownSenders, createOffenders, limitConnections } from './senders.ts';
import { type SigningKeys, signatureVerifier, type Verifier } from './signature.ts';
import { createWakeUp } from './wake-up.ts';

interface ReceiverOptions {
  readonly config: WebhookConfig;
  readonly secrets: SigningKeys;
  readonly inbox: InboxWriter;
  /** Closed together with the receiver. */
  readonly spool: Spool;
  readonly registry: Registry;
  readonly log: ReceiverLog;
  /** Wakes the inbox merge. Called after commits, at most once in `wake_interval_ms`; may fail. */
  readonly wake: () => Promise<unknown>;
  readonly verifier?: Verifier;
  /** Privacy rules; by default bodies are stored as they came. */
  readonly admit?: Admit | undefined;
}

export type Receiver = ReturnType<typeof createReceiver>;

/** How often Node looks for requests past their time. */
const connectionCheckMs = 500;
/** The drain may be held up for this long. */
const stalledAfterMs = 5 * 60_000;
/** Time for bodies that are on their way when the receiver stops. */
const bodyGraceMs = 2_000;

/** Puts the receiver together; it takes deliveries from `listen` on. @throws CallsyncError WEBHOOK_TLS_INVALID */
export const createReceiver = (options: ReceiverOptions) => {
  const { config, secrets, spool, registry, log } = options;
  const metrics = createWebhookMetrics(registry);
  let closing = false;

  const app = createApp(config, config.tls && openCertificate(config.tls));
  const parts = assemble(options, app, metrics);
  const { drops, bodies, wakeUp, drain, groupCommit, rejections } = parts;
  const ready = (): boolean => {
    const stalledMs = Date.now() - (drain.state.stalledSince?.getTime() ?? Number.POSITIVE_INFINITY);
    return !closing && (drain.state.usable || !spool.status().full) && stalledMs < stalledAfterMs;
  };
  const held = () => ({ inflightBytes: bodies.bytesHeld(), spool: spool.status(), storeUsable: drain.state.usable });
  metrics.watch(held);
  const { verifier = signatureVerifier, admit } = options;
  addRoutes(app, { ...parts, config, keys: secrets, verifier, admit, metrics, log });
  let certificateWatch: FileWatch | undefined;

  return {
    /**
     * Rejects with a terminal error when the address cannot be had. @param options.orAnyPort any port will do where
     * another process has the configured one.
     */
    async listen({ orAnyPort = false }: { readonly orAnyPort?: boolean | undefined } = {}) {
      await listenAt(app, config, orAnyPort);
      if (config.tls) certificateWatch = watchCertificate(config.tls, app.server as unknown as TlsServer, log);
    },
    /** Such as `http://127.0.0.1:8780`. */
    get address() {
      return serverAddress(app.server, config.tls !== undefined);
    },
    /** False when deliveries cannot be made durable, when those in the spool get no further, or when it closes. */
    ready,
    status: () => ({
      ...held(),
      allowUnsigned: config.allow_unsigned,
      keys: secrets.current().map(({ name }) => name),
    }),
    /** Still accepts for `shutdown_delay_s`, but is not ready, so that proxies turn away. Each answer ends its connection. */
    async withdraw() {
      closing = true;
      app.server.prependListener('request', (_, response) => response.setHeader('connection', 'close'));
      await sleep(config.shutdown_delay_s * 1_000);
    },
    /** Accepts nothing new, finishes and answers accepted requests, then closes secrets and spool. */
    async close() {
      closing = true;
      await closeServer(app, bodies, config.limits.answer_within_s * 1_000);
      await groupCommit.close();
      await drain.close();
      await rejections.close();
      await wakeUp.close();
      drops.close();
      certificateWatch?.close();
      secrets.close();
      await spool.close();
    },
  };
};

/** Parts on the path of a delivery, and their listeners. */
const assemble = (
  { config, inbox, spool, log, wake }: ReceiverOptions,
  app: FastifyInstance,
  metrics: ReturnType<typeof createWebhookMetrics>,
) => {
  const senders = createKnownSenders();
  const drops = createDropLog(log);
  limitConnections(app.server, {
    limits: config.limits,
    isProxy: createAddressList(config.trusted_proxies),
    isKnown: senders.has,
    onDrop() {
      metrics.connectionsDropped.inc();
      drops.count('connection');
    },
  });
  const bodies = createBodyReader(config.limits, senders.has);
  const wakeUp = createWakeUp({
    wake,
    intervalMs: config.wake_interval_ms,
    log,
    onFailure: () => metrics.wakeFailures.inc(),
  });
  const drain = createDrain({
    inbox,
    spool,
    deadlineMs: config.group_commit.deadline_s * 1_000,
    log,
    onDrained(deliveries) {
      metrics.drained.inc(deliveries);
      wakeUp.notify();
    },
  });
  const groupCommit = createGroupCommit({
    config,
    inbox,
    spool,
    drain,
    bodies,
    onStored: { inbox: wakeUp.notify, spool: drain.start },
  });
  const rejections = createRejections({
    perMinute: config.rejected_per_minute,
    record: inbox.recordRejected,
    onUnrecorded: (count) => metrics.unrecorded.inc(count),
  });
  const offenders = createOffenders({ isKnown: senders.has });
  return { senders, offenders, drops, bodies, wakeUp, drain, groupCommit, rejections };
};

/** @throws CallsyncError WEBHOOK_PORT_TAKEN */
const listenAt = async (app: FastifyInstance, config: WebhookConfig, orAnyPort: boolean): Promise<void> => {
  // Connections wait here to be accepted: a flood must not fill it before one of another sender.
  const { listen: host, limits } = config;
  const listenOn = (port: number) => app.listen({ host, port, backlog: limits.connections });
  try {
    await listenOnPort(config.port, orAnyPort, listenOn);
  } catch (error) {
    throw terminal(
      'WEBHOOK_PORT_TAKEN',
      `The webhook receiver cannot listen on ${host}:${config.port} (${errorCode(error)}).`,
      { cause: error },
    );
  }
};

const createApp = (config: WebhookConfig, certificate: Certificate | undefined): FastifyInstance => {
  const { limits } = config;
  const server = {
    maxHeaderSize: limits.header_bytes,
    headersTimeout: limits.headers_timeout_s * 1_000,
    connectionsCheckingInterval: connectionCheckMs,
  };
  return fastify({
    logger: false,
    trustProxy: config.trusted_proxies.length > 0 ? createAddressList(config.trusted_proxies) : false,
    bodyLimit: limits.body_bytes,
    requestTimeout: limits.request_timeout_s * 1_000,
    connectionTimeout: (limits.request_timeout_s + limits.answer_within_s) * 1_000,
    keepAliveTimeout: limits.keep_alive_s * 1_000,
    forceCloseConnections: 'idle',
    // A request that still came over a connection is answered like those before it.
    return503OnClosing: false,
    ...(certificate
      ? { https: { ...server, ...certificate, handshakeTimeout: server.headersTimeout } }
      : { http: server }),
  }) as unknown as FastifyInstance;
};

/** Answers whole requests. Cuts connections with incomplete requests or unread answers after a while. */
const closeServer = async (app: FastifyInstance, bodies: BodyReader, answerWithinMs: number): Promise<void> => {
  const closed = app.close();
  const grace = new AbortController();
  const wait = (ms: number) => sleep(ms, undefined, { signal: grace.signal }).catch(() => {});
  const cutOff = async () => {
    // Node stops looking for slow requests once it closes.
    await wait(bodyGraceMs);
    bodies.abandonAll();
    const until = performance.now() + answerWithinMs;
    while (!grace.signal.aborted && bodies.bytesHeld() > 0 && performance.now() < until) await wait(50);
    await wait(50);
    if (!grace.signal.aborted) (app.server as Server).closeAllConnections();
  };
  const cut = cutOff();
  await closed;
  grace.abort();
  await cut;
};

/** @throws CallsyncError WEBHOOK_TLS_INVALID */
const openCertificate = (files: TlsFiles): Certificate => {
  const certificate = readCertificate(files);
  if (certificate === undefined)
    throw terminal('WEBHOOK_TLS_INVALID', 'The certificate or key of the webhook receiver cannot be used.');
  return certificate;
};

const watchCertificate = (files: TlsFiles, server: TlsServer, log: ReceiverLog): FileWatch =>
  reloadCertificate({
    files,
    server,
    onRead: () => log.info({}, 'Certificate read again.'),
    onError: (error) =>
      log.error(
        { code: errorCode(error) },
        'The changed certificate cannot be used; the earlier certificate stays in use.',
      ),
  });
