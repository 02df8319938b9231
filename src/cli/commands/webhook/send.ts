/** Signs a body and sends it as the service would (interface §4.3, §5.4): 10 seconds, exactly one retry. */

import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import type { CallDocument } from '../../../../schemas/call.ts';
import { errorCode } from '../../../webhook/server/receiver-log.ts';
import { signBody } from '../../../webhook/server/signature.ts';

export interface SendAttempt {
  /** Absent when no answer came. */
  readonly status?: number;
  /** Code of the failure, such as ECONNREFUSED. */
  readonly failure?: string;
  readonly ms: number;
}

const senderVersion = '1.0.0';

/** An answer other than 2XX, or none, is an attempt in the result, not an error. */
export const sendWebhook = async (options: {
  readonly url: string;
  readonly body: Buffer | string;
  /** Without it the delivery is not signed. */
  readonly secret?: Buffer | string;
  readonly hookId?: string;
  /** Header prefix; `X-Service-` by default. */
  readonly prefix?: string;
  /** A decimal number like a timestamp; now by default. */
  readonly deliveryId?: string;
  readonly timeoutMs?: number;
  /** Whether to send once more after anything but a 2XX; as the service does by default. */
  readonly retry?: boolean;
  /** Further trusted certificates, PEM. */
  readonly ca?: string | Buffer;
}) => {
  const { url, secret, hookId = 'sample-hook', prefix = 'X-Service-', timeoutMs = 10_000, retry = true } = options;
  const body = Buffer.isBuffer(options.body) ? options.body : Buffer.from(options.body);
  // Seconds since the epoch with a fractional part, as the service's own ids look.
  const { deliveryId = ((Date.now() + Math.random()) / 1_000).toFixed(6) } = options;
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'User-agent': `Service-Webhook/${senderVersion}`,
    [`${prefix}Delivery`]: deliveryId,
    [`${prefix}Hook-Id`]: hookId,
    ...(secret === undefined ? {} : { [`${prefix}Signature`]: signBody(body, secret) }),
  };
  const dispatcher = new Agent(options.ca === undefined ? {} : { connect: { ca: options.ca } });
  const attempts: SendAttempt[] = [];
  try {
    while (attempts.length < (retry ? 2 : 1) && !attempts.some(isDelivered))
      attempts.push(await sendOnce(url, { method: 'POST', headers, body, dispatcher }, timeoutMs));
  } finally {
    await dispatcher.destroy();
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

// An invented call in the shape of the interface (§2.1-2.5), for trying out a receiver.

/** @param callId `unique_id` of the call; a new one without it. */
export const sampleCall = (callId: string = `sample-${randomUUID()}`, at: Date = new Date()): CallDocument => ({
  unique_id: callId,
  timestamp: at.toISOString().replace(/\.\d{3}Z$/, 'Z'),
  transcript_json: {
    callData: [
      sampleUtterance('out', 0.4, ['Good', 'morning,', 'how', 'can', 'I', 'help?']),
      sampleUtterance('in', 3.1, ['I', 'would', 'like', 'to', 'move', 'my', 'appointment.']),
    ],
    callUniqueId: '',
    meta: { ivr_end: 0, obfuscated: 'false', lang: 'en', asr_model: 'sample' },
  },
  duration: '7',
  ivr_end: 0,
  status: 'qualified',
  campaign: 'sample',
  audio_state: 'AVAILABLE',
  metadata: { ClientID: 'sample', Direction: 'IN', Dept: 'sample', UDF_num_01: '5', UDF_text_02: '81' },
  tags: [
    {
      unique_id: '00000000-0000-4000-8000-000000000001',
      display_name: 'appointment',
      confidence: 0.93,
      type: 'bool',
      value: true,
    },
  ],
  visit: null,
  tracking_info: null,
  out: null,
  in: { label: null, data: '+15550100', type: 'PHONE' },
});

/** An utterance of these words, a third of a second each. */
export const sampleUtterance = (from: string, start: number, values: readonly string[]): CallDocument => {
  const length = 0.35;
  const words = values.map((value, index) => ({
    score: 0.9,
    start: Math.round((start + index * length) * 100) / 100,
    value,
    length,
  }));
  return { from, words, content: values.join(' '), datetime: start, duration: values.length * length };
};
