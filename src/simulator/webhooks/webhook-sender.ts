/**
 * The webhook sender: a queue of (call, version) with bounded concurrency, and one retry under the same delivery id
 * (interface §3). The sender remembers each 2XX, because only these deliveries can be expected downstream.
 */
import { createHash, createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import type { SimulatorSettings, WebhookSettings } from '../../../schemas/simulator.ts';
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
  const agent = new Agent();
  const deliveries: DeliveryRecord[] = [];
  /** Highest version of each call (by index) that was answered 2XX. */
  const delivered = new Map<number, number>();
  let queue: Queued[] = [];
  let head = 0;
  let isActive = false;
  let lastMicros = 0;
  let sequence = 0;
  const idle: (() => void)[] = [];

  const isIdle = (): boolean => head >= queue.length && counts.inFlight === 0;
  const announceIdle = (): void => {
    if (!isIdle()) return;
    for (const resolve of idle.splice(0)) resolve();
  };

  /** A time-like decimal, strictly increasing, on the simulated clock. */
  const nextDeliveryId = (): string => {
    lastMicros = Math.max(world.now() * 1_000, lastMicros + 1);
    return `${Math.floor(lastMicros / 1_000_000)}.${String(lastMicros % 1_000_000).padStart(6, '0')}`;
  };

  const attempt = async (delivery: OutgoingDelivery): Promise<AttemptResult> => {
    counts.attempts++;
    const result = await attemptOnce(settings.webhooks, delivery, agent);
    countOne(counts.answers, result);
    return result;
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
    const key = secret();
    const deliveryId = nextDeliveryId();
    const delivery = { deliveryId, body, signature: key === undefined ? undefined : signBody(key, body) };
    const answers = [await attempt(delivery)];
    if (!answers.some(isSuccess)) {
      counts.retried++;
      answers.push(await attempt(delivery));
    }
    const isTaken = answers.some(isSuccess);
    if (isTaken) delivered.set(index, Math.max(version, delivered.get(index) ?? 0));
    const bodyHash = createHash('sha256').update(body).digest('hex');
    record({ deliveryId, bodyHash, outcome: isTaken ? 'delivered' : 'failed', answers });
    counts.inFlight--;
    pump();
  };

  const take = (): Queued => {
    const taken = queue[head++] as Queued;
    if (head > 10_000 && head * 2 > queue.length) {
      queue = queue.slice(head);
      head = 0;
    }
    counts.waiting--;
    return taken;
  };

  const pump = (): void => {
    const { url, concurrency } = settings.webhooks;
    while (url !== undefined && head < queue.length && counts.inFlight < concurrency) void deliver(take());
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
    queue = [];
    head = 0;
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
    /** Sends calls that are processed or edited from now on; `webhooks.from` adds those processed since then. */
    start: () => {
      isActive = true;
      const { from } = settings.webhooks;
      if (from !== undefined)
        for (const index of world.listedSince(Date.parse(from))) enqueue(index, world.versionOf(index));
      pump();
    },
    /** Resolves when nothing is queued or in flight. */
    drained: async () => {
      if (!isIdle()) await new Promise<void>((resolve) => idle.push(resolve));
    },
    close: () => {
      stop(true);
      void agent.destroy();
    },
  };
};

/* One attempt to deliver, as interface §4.3 and §5.4 say. */

/** Without a signature when no secret has been provided. */
type OutgoingDelivery = { readonly deliveryId: string; readonly body: Buffer; readonly signature: string | undefined };

/** Status of the answer, or why there was none within the time. */
type AttemptResult = number | 'timeout' | 'connection';

/** Lowercase hex HMAC-SHA256 over the raw body, with its prefix. */
const signBody = (secret: string, body: Buffer): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

const isSuccess = (result: AttemptResult): boolean => typeof result === 'number' && result >= 200 && result < 300;

/** Sends a delivery over a kept connection. */
const attemptOnce = async (
  { url, timeoutMs, headerPrefix, agent, hookId }: WebhookSettings,
  { body, deliveryId, signature }: OutgoingDelivery,
  dispatcher: Agent,
): Promise<AttemptResult> => {
  const headers = {
    'Content-Type': 'application/json',
    'User-agent': agent,
    [`${headerPrefix}-Delivery`]: deliveryId,
    [`${headerPrefix}-Hook-Id`]: hookId,
    ...(signature === undefined ? {} : { [`${headerPrefix}-Signature`]: signature }),
  };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const answer = await request(url as string, { method: 'POST', headers, body, dispatcher, signal });
    answer.body.dump().catch(() => undefined);
    return answer.statusCode;
  } catch {
    return signal.aborted ? 'timeout' : 'connection';
  }
};
