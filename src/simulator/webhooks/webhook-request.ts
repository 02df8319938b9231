/** One attempt to deliver a webhook as interface §4.3 and §5.4 say. */
import { createHmac } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { WebhookSettings } from '../../../schemas/simulator.ts';

export interface OutgoingDelivery {
  readonly deliveryId: string;
  readonly body: Buffer;
  /** Undefined when no secret has been provided. */
  readonly signature: string | undefined;
}

/** Status of the answer, or why there was none within the time. */
export type AttemptResult = number | 'timeout' | 'connection';

/** Lowercase hex HMAC-SHA256 over the raw body, with its prefix. */
export const signBody = (secret: string, body: Buffer): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

export const isSuccess = (result: AttemptResult): boolean =>
  typeof result === 'number' && result >= 200 && result < 300;

/** Sends deliveries over kept connections; `close` ends them. */
export class WebhookTransport {
  private readonly http = new HttpAgent({ keepAlive: true });
  private readonly https = new HttpsAgent({ keepAlive: true });

  attempt(settings: WebhookSettings, delivery: OutgoingDelivery): Promise<AttemptResult> {
    const url = new URL(settings.url as string);
    const secure = url.protocol === 'https:';
    const agent = secure ? this.https : this.http;
    const prefix = settings.headerPrefix;
    const headers: Record<string, string> = {
      'Content-Type': 'application/json',
      'Content-Length': String(delivery.body.length),
      'User-agent': settings.agent,
      [`${prefix}-Delivery`]: delivery.deliveryId,
      [`${prefix}-Hook-Id`]: settings.hookId,
      ...(delivery.signature === undefined ? {} : { [`${prefix}-Signature`]: delivery.signature }),
    };
    return new Promise((resolve) => {
      const outgoing = (secure ? httpsRequest : httpRequest)(url, { method: 'POST', agent, headers });
      const timer = setTimeout(() => {
        resolve('timeout');
        outgoing.destroy();
      }, settings.timeoutMs);
      const settle = (result: AttemptResult): void => {
        clearTimeout(timer);
        resolve(result);
      };
      outgoing.on('response', (response) => {
        response.resume();
        response.on('error', () => undefined);
        settle(response.statusCode ?? 'connection');
      });
      outgoing.on('error', () => settle('connection'));
      outgoing.end(delivery.body);
    });
  }

  close(): void {
    for (const agent of [this.http, this.https]) agent.destroy();
  }
}
