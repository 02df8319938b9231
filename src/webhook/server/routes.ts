/** The receiver's HTTP surface: one path that takes deliveries, two that tell how it is, nothing else. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { WebhookMetrics } from '../../metrics/webhook-metrics.ts';
import type { Delivery, RejectedDelivery } from '../../store/delivery/inbox-writer.ts';
import type { MayCall } from './allow-list.ts';
import { BodyError, type BodyReader } from './body.ts';
import { type DeliveryHeaders, newArrivalId, type ReadHeaders } from './delivery-headers.ts';
import type { GroupCommit } from './group-commit.ts';
import { errorCode, type ReceiverLog } from './receiver-log.ts';
import type { RejectReason, Verify } from './signature.ts';
import type { SigningKeys } from './signing-keys.ts';

export interface RouteOptions {
  readonly path: string;
  readonly keys: SigningKeys;
  readonly allowUnsigned: boolean;
  readonly verify: Verify;
  readonly mayCall: MayCall;
  readonly readHeaders: ReadHeaders;
  readonly bodies: BodyReader;
  readonly landing: GroupCommit;
  readonly ready: () => boolean;
  readonly noteRejected: (rejected: Omit<RejectedDelivery, 'arrivalId'>) => void;
  readonly metrics: WebhookMetrics;
  /** Text of `/metrics`, when it is served here. */
  readonly metricsText: (() => Promise<{ contentType: string; text: string }>) | undefined;
  readonly log: ReceiverLog;
}

/** The same for every delivery that is not let in, so that it hints at nothing. */
const forbidden = JSON.stringify({ error: 'forbidden' });
const json = 'application/json; charset=utf-8';

export const addRoutes = (app: FastifyInstance, options: RouteOptions): void => {
  const { path, bodies, metrics, log } = options;
  const allowed = new Map([
    [path, 'POST'],
    ['/healthz', 'GET, HEAD'],
    ['/readyz', 'GET, HEAD'],
    ...(options.metricsText ? [['/metrics', 'GET, HEAD'] as const] : []),
  ]);

  // No body is ever parsed: deliveries are read as bytes by their route, everything else is left unread.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.addHook('onRequest', async (request, reply) => {
    // What the sender calls its body must not decide whether it is taken.
    request.raw.headers['content-type'] = 'application/octet-stream';
    if (!request.is404) return;
    const allow = allowed.get(request.url.split('?', 1)[0] ?? '');
    if (allow === undefined) return refuse(reply, 404, 'not found');
    return refuse(reply.header('allow', allow), 405, 'method not allowed');
  });
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'not found'));
  app.setErrorHandler((error, _request, reply) => {
    const status = statusOf(error);
    if (status >= 500) log.error({ code: errorCode(error) }, 'A request could not be served.');
    return refuse(reply, status, status >= 500 ? 'not available' : 'bad request');
  });

  app.get('/healthz', (_request, reply) => reply.header('content-type', json).send('{"alive":true}'));
  app.get('/readyz', (_request, reply) => {
    const ready = options.ready();
    return reply
      .code(ready ? 200 : 503)
      .header('content-type', json)
      .send(JSON.stringify({ ready }));
  });
  const { metricsText } = options;
  if (metricsText) {
    app.get('/metrics', async (_request, reply) => {
      const { contentType, text } = await metricsText();
      return reply.header('content-type', contentType).send(text);
    });
  }

  app.post(path, async (request, reply) => {
    const startedAt = performance.now();
    const headers = options.readHeaders(request.headers);
    const receivedAt = new Date();
    if (!options.mayCall(request.ip))
      return reject(reply.header('connection', 'close'), headers, receivedAt, 'address');
    try {
      const held = await bodies.read(request.raw);
      try {
        return await take(reply, headers, receivedAt, held.body);
      } finally {
        held.release();
        metrics.answered((performance.now() - startedAt) / 1_000);
      }
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      metrics.refused(error.refusal);
      if (error.refusal === 'too_large') return refuse(reply, 413, 'too large');
      if (error.refusal === 'overload' || error.refusal === 'closing')
        return overloaded(reply.header('connection', 'close'));
      return refuse(reply, 400, 'incomplete');
    }
  });

  const take = async (
    reply: FastifyReply,
    headers: DeliveryHeaders,
    receivedAt: Date,
    body: Buffer,
  ): Promise<FastifyReply> => {
    const { signature, ...kept } = headers;
    const verdict = options.verify({
      body,
      signature,
      hookId: headers.hookId,
      keys: options.keys.current(),
      allowUnsigned: options.allowUnsigned,
    });
    if (!verdict.ok) return reject(reply, headers, receivedAt, verdict.reason);
    const delivery: Delivery = {
      arrivalId: newArrivalId(receivedAt),
      ...kept,
      receivedAt,
      signingKey: verdict.key,
      body,
      bodyHash: createHash('sha256').update(body).digest(),
    };
    try {
      const landed = await options.landing.land(delivery);
      metrics.accepted(landed, verdict.key);
      return reply.code(200).send();
    } catch (error) {
      metrics.refused('not_durable');
      log.warn({ code: errorCode(error) }, 'A delivery could not be made durable and was answered 503.');
      return overloaded(reply);
    }
  };

  const reject = (
    reply: FastifyReply,
    { signature: _signature, ...kept }: DeliveryHeaders,
    receivedAt: Date,
    reason: RejectReason,
  ): FastifyReply => {
    metrics.rejected(reason);
    options.noteRejected({ ...kept, receivedAt, reason });
    return reply.code(403).header('content-type', json).send(forbidden);
  };
};

const overloaded = (reply: FastifyReply): FastifyReply => {
  return reply.code(503).header('retry-after', '1').header('content-type', json).send('{"error":"not available"}');
};

/** The connection is closed, because what is left of the request is not read. */
const refuse = (reply: FastifyReply, status: number, error: string): FastifyReply => {
  return reply.code(status).header('connection', 'close').header('content-type', json).send(JSON.stringify({ error }));
};

const statusOf = (error: unknown): number => {
  if (error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number') return error.statusCode;
  return 500;
};
