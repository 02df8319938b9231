/** Signs a body and sends it as the service does (interface §4.3, §5.4): 10 seconds, exactly one retry. */
import { createHmac } from 'node:crypto';
import { Agent, type Dispatcher, request } from 'undici';
import { errorCode } from './errors.ts';

export interface SendAttempt {
  /** Absent when no answer came. */
  readonly status?: number;
  /** Code of the failure, such as ECONNREFUSED, or TimeoutError. */
  readonly failure?: string;
  readonly ms: number;
}

/** The text of the signature header for these bytes. */
export const signBody = (body: Buffer, secret: Buffer | string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** An answer other than 2XX, or none, is an attempt in the result, not an error. */
export const sendWebhook = async (options: {
  readonly url: string;
  readonly body: Buffer | string;
  /** Without it the delivery is not signed. */
  readonly secret?: Buffer | string | undefined;
  readonly hookId?: string | undefined;
  /** Header prefix; `X-Service-` by default. */
  readonly prefix?: string;
  readonly agent?: string;
  /** A decimal number like a timestamp; now by default. */
  readonly deliveryId?: string | undefined;
  readonly timeoutMs?: number;
  /** Whether to send once more after anything but a 2XX; as the service does by default. */
  readonly retry?: boolean;
  /** Further trusted certificates, PEM. */
  readonly ca?: string | Buffer | undefined;
  /** Keeps connections; by default each delivery has its own. */
  readonly dispatcher?: Dispatcher;
}) => {
  const { url, secret, hookId = 'sample-hook', prefix = 'X-Service-', timeoutMs = 10_000, retry = true, ca } = options;
  const body = Buffer.isBuffer(options.body) ? options.body : Buffer.from(options.body);
  // Seconds since the epoch with a fractional part, as the service's own ids look.
  const { deliveryId = ((Date.now() + Math.random()) / 1_000).toFixed(6), agent = 'Service-Webhook/1.0.0' } = options;
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'User-agent': agent,
    [`${prefix}Delivery`]: deliveryId,
    [`${prefix}Hook-Id`]: hookId,
    ...(secret === undefined ? {} : { [`${prefix}Signature`]: signBody(body, secret) }),
  };
  const dispatcher = options.dispatcher ?? new Agent(ca === undefined ? {} : { connect: { ca } });
  const attempts: SendAttempt[] = [];
  try {
    while (attempts.length < (retry ? 2 : 1) && !attempts.some(isDelivered))
      attempts.push(await sendOnce(url, { method: 'POST', headers, body, dispatcher }, timeoutMs));
  } finally {
    if (options.dispatcher === undefined) await dispatcher.destroy();
  }
  return { delivered: attempts.some(isDelivered), deliveryId, attempts };
};

const isDelivered = ({ status }: SendAttempt): boolean => status !== undefined && status >= 200 && status < 300;

const sendOnce = async (url: string, sent: NonNullable<Parameters<typeof request>[1]>, timeoutMs: number) => {
  const startedAt = performance.now();
  const elapsed = () => Math.round(performance.now() - startedAt);
  try {
    const response = await request(url, { ...sent, signal: AbortSignal.timeout(timeoutMs) });
    await response.body.dump();
    return { status: response.statusCode, ms: elapsed() };
  } catch (error) {
    return { failure: errorCode(error), ms: elapsed() };
  }
};
