/** The receiver's HTTP surface: one path that takes deliveries, nothing else. */
import { hash, randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { WebhookConfig } from '../../../schemas/config/webhook.ts';
import type { WebhookMetrics } from '../../health/metrics/webhook-metrics.ts';
import { inUtf8 } from '../../lib/charset.ts';
import { errorCode } from '../../lib/errors.ts';
import type { Delivery, RejectedDelivery } from '../../store/delivery/inbox-writer.ts';
import { BodyError, type BodyReader } from './body.ts';
import type { GroupCommit } from './group-commit.ts';
import type { ReceiverLog } from './receiver-log.ts';
import { createAddressList, type KnownSenders, type Offenders, senderOf } from './senders.ts';
import type { RejectReason, SigningKeys, Verifier } from './signature.ts';

/** Stored form of a verified body, and the hash that recognises its bytes. */
export type Admit = (body: Buffer) => Promise<Pick<Delivery, 'body' | 'bodyHash' | 'privacyVersion'>>;

interface RouteOptions {
  readonly config: WebhookConfig;
  readonly keys: SigningKeys;
  readonly verifier: Verifier;
  readonly senders: KnownSenders;
  readonly offenders: Offenders;
  readonly bodies: BodyReader;
  /** By default bodies are stored unchanged. */
  readonly admit?: Admit | undefined;
  readonly groupCommit: GroupCommit;
  readonly rejections: { note(rejected: RejectedDelivery): void };
  readonly drops: { count(reason: string): void };
  readonly metrics: WebhookMetrics;
  readonly log: ReceiverLog;
}

const json = 'application/json; charset=utf-8';

/**
 * Answers 200 once a delivery is durable. Answers 403 with one fixed text if it is not allowed, and 413 if it is too
 * large. Without room or time, answers 503, and the service tries again.
 * A repeated offender gets 503 unread for a while. Every answer but 200 closes the connection, and the rest of the
 * request stays unread.
 */
export const addRoutes = (app: FastifyInstance, options: RouteOptions): void => {
  const { verifier, senders, offenders, rejections, drops, metrics, admit } = options;
  const { path, allow_unsigned: allowUnsigned, allow_from: allowFrom, limits } = options.config;
  const readHeaders = createHeaderReader(options.config.header_prefix.toLowerCase());
  const isAllowed = allowFrom.length === 0 ? () => true : createAddressList(allowFrom);

  answerOthers(app, options);
  app.post(path, async (request, reply) => {
    const startedAt = performance.now();
    const receivedAt = new Date();
    const arrivalId = newArrivalId(receivedAt);
    const { signature, charset, named } = readHeaders(request.headers);
    const sender = senderOf(request.ip);
    const reject = async (reason: RejectReason, bytesRead = 0): Promise<FastifyReply> => {
      metrics.rejected.inc({ reason });
      drops.count(reason);
      rejections.note({ arrivalId, ...named, receivedAt, reason });
      await offenders.note(sender, bytesRead);
      return refuse(reply, 403, 'forbidden');
    };
    if (!isAllowed(request.ip)) return await reject('address');
    const signed = { signature, hookId: named.hookId, keys: options.keys.current(), allowUnsigned };
    const wrongHeader = verifier.checkHeader(signed);
    if (wrongHeader !== undefined) return await reject(wrongHeader);
    try {
      if (offenders.isHeldBack(sender)) throw new BodyError('held_back');
      const { body, release } = await options.bodies.read(request.raw, sender);
      try {
        const verdict = verifier.verify({ ...signed, body });
        if (!verdict.ok) {
          // Not while the connection waits for its answer.
          release();
          return await reject(verdict.reason, body.length);
        }
        if (verdict.key !== null) senders.note(sender);
        const unpacked = isPacked(body) ? await unpack(body, limits.body_bytes) : body;
        const plain = charset === undefined ? unpacked : (inUtf8(unpacked, charset) ?? unpacked);
        const admitted = admit === undefined ? admitAsSent(plain) : await admit(plain);
        if (admitted.body !== body) options.bodies.free(body);
        const storedIn = await options.groupCommit.commit({
          arrivalId,
          ...named,
          receivedAt,
          signingKey: verdict.key,
          ...admitted,
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
      drops.count(reason);
      if (error instanceof BodyError) await offenders.note(sender, error.bytesRead);
      if (reason === 'too_large') return refuse(reply, 413, 'too large');
      if (reason === 'incomplete') return refuse(reply, 400, 'incomplete');
      return refuse(reply.header('retry-after', '1'), 503, 'not available');
    }
  });
};

/** Everything but deliveries: their path alone takes requests, and nothing is parsed. */
const answerOthers = (app: FastifyInstance, options: RouteOptions): void => {
  const { config, drops, metrics, log } = options;
  // No body is ever parsed, whatever its content type: deliveries are read as bytes by their route, everything else is left unread.
  app.addHttpMethod('POST', { hasBody: false, overrideExisting: true });
  app.addHook('onRequest', (request, reply, next) => {
    if (!request.is404) next();
    else if (request.url.split('?', 1)[0] === config.path)
      refuse(reply.header('allow', 'POST'), 405, 'method not allowed');
    else {
      drops.count('path');
      metrics.refused.inc({ reason: 'path' });
      refuse(reply, 404, 'not found');
    }
  });
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'not found'));
  app.setErrorHandler((error, _request, reply) => {
    const status = statusOf(error);
    if (status >= 500) log.error({ code: errorCode(error) }, 'A request could not be served.');
    return refuse(reply, status, status >= 500 ? 'not available' : 'bad request');
  });
};

const inflate = promisify(gunzip);

/** In gzip; the headers are not asked. */
const isPacked = (body: Buffer): boolean => body[0] === 0x1f && body[1] === 0x8b;

/** A body that does not unpack within the limit stays as it is. */
const unpack = (body: Buffer, mostBytes: number) => inflate(body, { maxOutputLength: mostBytes }).catch(() => body);

const admitAsSent = (body: Buffer) => ({ body, bodyHash: hash('sha256', body, 'buffer') });

const refuse = (reply: FastifyReply, status: number, error: string): FastifyReply =>
  reply.code(status).header('connection', 'close').header('content-type', json).send(JSON.stringify({ error }));

const statusOf = (error: unknown): number =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;

/** Longer values are cut: a sender must not choose how large our rows are. */
const longestKept = 200;

/**
 * Reads the headers of a delivery. `named` = those that are kept (interface §4.3); the signature covers the body alone (§5.4).
 * `charset` = the content type, where it has parameters: without them it stands for UTF-8.
 * @param prefix such as `x-service-`. Node joins repeated headers with commas, except Set-Cookie.
 */
const createHeaderReader = (prefix: string) => {
  const names = { signature: `${prefix}signature`, delivery: `${prefix}delivery`, hookId: `${prefix}hook-id` };
  return (headers: IncomingHttpHeaders) => ({
    signature: headers[names.signature]?.toString(),
    charset: headers['content-type']?.includes(';') ? headers['content-type'] : undefined,
    named: {
      deliveryId: headers[names.delivery]?.slice(0, longestKept).toString() ?? null,
      hookId: headers[names.hookId]?.slice(0, longestKept).toString() ?? null,
      agent: headers['user-agent']?.slice(0, longestKept) ?? null,
    },
  });
};

/** A UUID (version 7) that begins with the time, so that an index over it grows at its end. */
const newArrivalId = (at: Date): string => {
  const time = at.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
};
