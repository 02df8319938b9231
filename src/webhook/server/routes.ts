/** The receiver's HTTP surface: one path that takes deliveries, two that tell how it is, nothing else. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Registry } from 'prom-client';
import type { WebhookMetrics } from '../../metrics/webhook-metrics.ts';
import type { RejectedDelivery } from '../../store/delivery/inbox-writer.ts';
import type { MayCall } from './allow-list.ts';
import { BodyError, type BodyReader } from './body.ts';
import { type createHeaderReader, newArrivalId } from './delivery-headers.ts';
import type { GroupCommit } from './group-commit.ts';
import { errorCode, type ReceiverLog } from './receiver-log.ts';
import type { RejectReason, Verify } from './signature.ts';
import type { SigningKeys } from './signing-keys.ts';

export interface RouteOptions {
  readonly path: string;
  readonly keys: SigningKeys;
  readonly allowUnsigned: boolean;
  readonly verify: Verify;
  /** Absent = every address. */
  readonly mayCall: MayCall | undefined;
  readonly readHeaders: ReturnType<typeof createHeaderReader>;
  readonly bodies: BodyReader;
  readonly groupCommit: GroupCommit;
  readonly ready: () => boolean;
  readonly noteRejected: (rejected: Omit<RejectedDelivery, 'arrivalId'>) => void;
  readonly metrics: WebhookMetrics;
  /** What `/metrics` shows, where it is served here. */
  readonly registry: Registry | undefined;
  readonly log: ReceiverLog;
}

const json = 'application/json; charset=utf-8';

/**
 * A delivery is answered 200 once it is durable; 403 when it is not let in, always with the same text, so that the answer
 * hints at nothing; 413 when it is too large; 503 when there is no room or time for it, after which the service tries again.
 */
export const addRoutes = (app: FastifyInstance, options: RouteOptions): void => {
  const { path, bodies, metrics, log, registry } = options;
  const allowed = new Map([
    [path, 'POST'],
    ['/healthz', 'GET, HEAD'],
    ['/readyz', 'GET, HEAD'],
    ...(registry ? [['/metrics', 'GET, HEAD'] as const] : []),
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
  if (registry) {
    app.get('/metrics', async (_request, reply) =>
      reply.header('content-type', registry.contentType).send(await registry.metrics()),
    );
  }

  app.post(path, async (request, reply) => {
    const startedAt = performance.now();
    const receivedAt = new Date();
    const { signature, ...headers } = options.readHeaders(request.headers);
    const reject = (reason: RejectReason): FastifyReply => {
      metrics.rejected.inc({ reason });
      options.noteRejected({ ...headers, receivedAt, reason });
      return reply.code(403).header('content-type', json).send('{"error":"forbidden"}');
    };
    if (options.mayCall?.(request.ip) === false) {
      reply.header('connection', 'close');
      return reject('address');
    }
    try {
      const { body, release } = await bodies.read(request.raw);
      try {
        const { keys, allowUnsigned } = options;
        const verdict = options.verify({
          body,
          signature,
          hookId: headers.hookId,
          keys: keys.current(),
          allowUnsigned,
        });
        if (!verdict.ok) return reject(verdict.reason);
        const storedIn = await options.groupCommit.commit({
          arrivalId: newArrivalId(receivedAt),
          ...headers,
          receivedAt,
          signingKey: verdict.key,
          body,
          bodyHash: createHash('sha256').update(body).digest(),
        });
        metrics.accepted.inc({ stored_in: storedIn, key: verdict.key ?? '' });
        return reply.code(200).send();
      } finally {
        release();
        metrics.answerSeconds.observe((performance.now() - startedAt) / 1_000);
      }
    } catch (error) {
      const reason = error instanceof BodyError ? error.refusal : 'not_durable';
      metrics.refused.inc({ reason });
      if (reason === 'too_large') return refuse(reply, 413, 'too large');
      if (reason === 'incomplete') return refuse(reply, 400, 'incomplete');
      if (reason !== 'not_durable') return refuse(reply.header('retry-after', '1'), 503, 'not available');
      log.warn({ code: errorCode(error) }, 'A delivery could not be made durable and was answered 503.');
      return reply.code(503).header('retry-after', '1').header('content-type', json).send('{"error":"not available"}');
    }
  });
};

/** The connection is closed, because what is left of the request is not read. */
const refuse = (reply: FastifyReply, status: number, error: string): FastifyReply =>
  reply.code(status).header('connection', 'close').header('content-type', json).send(JSON.stringify({ error }));

const statusOf = (error: unknown): number =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
