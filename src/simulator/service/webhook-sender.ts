/**
 * The webhook sender: a queue of (call, version) with bounded concurrency, and one retry under the same delivery id
 * (interface §3). The sender remembers each 2XX, because only these deliveries can be expected downstream.
 */
import { createHash } from 'node:crypto';
import { Agent } from 'undici';
import type { SimulatorSettings } from '../../../schemas/simulator.ts';
import { type SendAttempt, sendWebhook } from '../../lib/send-webhook.ts';
import { fraction } from '../calls/random.ts';
import type { World } from '../calls/world.ts';
import { type Counters, countOne } from '../control/stats.ts';

export interface DeliveryRecord {
  readonly deliveryId: string;
  readonly callId: string;
  readonly version: number;
  /** SHA-256 of the body, hex; empty if the delivery was dropped before it had a body. */
  readonly bodyHash: string;
  readonly outcome: 'delivered' | 'failed' | 'dropped';
  readonly answers: readonly AttemptResult[];
  /** Real milliseconds since the epoch. */
  readonly queuedAt: number;
  readonly sentAt: number;
  readonly settledAt: number;
}

type Queued = { readonly index: number; readonly version: number; readonly queuedAt: number };

export type WebhookSender = ReturnType<typeof createWebhookSender>;

/** @param parts.secret undefined when no secret has been provided */
export const createWebhookSender = (parts: {
  readonly world: World;
  readonly settings: SimulatorSettings;
  readonly counters: Counters;
  readonly secret: () => string | undefined;
}) => {
  const { world, settings, secret } = parts;
  const { webhooks: counts } = parts.counters;
  const dispatcher = new Agent();
  const deliveries: DeliveryRecord[] = [];
  /** Highest version of each call (by index) that was answered 2XX. */
  const delivered = new Map<number, number>();
  const queue: Queued[] = [];
  let isActive = false;
  let lastMicros = 0;
  let sequence = 0;
  const idle: (() => void)[] = [];

  const isIdle = (): boolean => queue.length === 0 && counts.inFlight === 0;
  const announceIdle = (): void => {
    if (!isIdle()) return;
    for (const resolve of idle.splice(0)) resolve();
  };

  /** A time-like decimal, strictly increasing, on the simulated clock. */
  const nextDeliveryId = (): string => {
    lastMicros = Math.max(world.now() * 1_000, lastMicros + 1);
    return `${Math.floor(lastMicros / 1_000_000)}.${String(lastMicros % 1_000_000).padStart(6, '0')}`;
  };

  const deliver = async ({ index, version, queuedAt }: Queued): Promise<void> => {
    const sentAt = Date.now();
    const record = (settled: Pick<DeliveryRecord, 'deliveryId' | 'bodyHash' | 'outcome' | 'answers'>): void => {
      counts[settled.outcome]++;
      deliveries.push({ callId: world.idOf(index), version, ...settled, queuedAt, sentAt, settledAt: Date.now() });
    };
    if (fraction(settings.seed, sequence++, 91) < settings.webhooks.dropShare)
      return record({ deliveryId: '', bodyHash: '', outcome: 'dropped', answers: [] });
    counts.inFlight++;
    const body = Buffer.from(JSON.stringify(world.documentOf(index, version)));
    const { url = '', headerPrefix, timeoutMs } = settings.webhooks;
    const sent = await sendWebhook({
      ...{ url, body, agent: 'Service-Webhook/1.2.0', hookId: 'hook-1', timeoutMs, dispatcher },
      ...{ prefix: `${headerPrefix}-`, secret: secret(), deliveryId: nextDeliveryId() },
    });
    const answers = sent.attempts.map(resultOf);
    for (const answer of answers) countOne(counts.answers, answer);
    counts.attempts += answers.length;
    counts.retried += answers.length - 1;
    if (sent.delivered) delivered.set(index, Math.max(version, delivered.get(index) ?? 0));
    const bodyHash = createHash('sha256').update(body).digest('hex');
    record({ deliveryId: sent.deliveryId, bodyHash, outcome: sent.delivered ? 'delivered' : 'failed', answers });
    counts.inFlight--;
    pump();
  };

  const pump = (): void => {
    const { url, concurrency } = settings.webhooks;
    while (url !== undefined && counts.inFlight < concurrency) {
      const next = queue.shift();
      if (next === undefined) break;
      counts.waiting--;
      void deliver(next);
    }
    announceIdle();
  };

  /** Only qualified and void calls are sent (§3). */
  const enqueue = (index: number, version: number): boolean => {
    const { status } = world.documentOf(index, version, true);
    if (status !== 'qualified' && status !== 'void') return false;
    queue.push({ index, version, queuedAt: Date.now() });
    counts.queued++;
    counts.waiting++;
    pump();
    return true;
  };

  /** Queues no new delivery. Queued ones are still sent unless `discard`. */
  const stop = (discard: boolean): void => {
    isActive = false;
    if (!discard) return;
    queue.length = 0;
    counts.waiting = 0;
    announceIdle();
  };

  world.onSend((index, version) => {
    if (isActive) enqueue(index, version);
  });
  return {
    deliveries,
    delivered,
    enqueue,
    stop,
    /** Sends calls that are processed or edited from now on. */
    start: () => {
      isActive = true;
      pump();
    },
    /** Resolves when nothing is queued or in flight. */
    drained: async () => {
      if (!isIdle()) await new Promise<void>((resolve) => idle.push(resolve));
    },
    close: () => {
      stop(true);
      void dispatcher.destroy();
    },
  };
};

/** Status of the answer, or why there was none within the time. */
type AttemptResult = number | 'timeout' | 'connection';

const resultOf = ({ status, failure }: SendAttempt): AttemptResult =>
  status ?? (failure === 'TimeoutError' ? 'timeout' : 'connection');
