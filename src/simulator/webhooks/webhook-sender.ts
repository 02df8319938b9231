/**
 * The webhook sender: a queue of (call, version) with bounded concurrency, and one retry under the same delivery id
 * (interface §3). It remembers each 2XX, because only those can be expected downstream.
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

export class WebhookSender {
  readonly deliveries: DeliveryRecord[] = [];
  /** Highest version of each call (by index) that was answered 2XX. */
  readonly delivered = new Map<number, number>();
  /** Versions of each call that were sent; the answer does not matter. */
  readonly attempted = new Map<number, Set<number>>();
  private readonly world: World;
  private readonly settings: SimulatorSettings;
  private readonly counters: Counters;
  private readonly agent = new Agent();
  private readonly secret: () => string | undefined;
  private queue: Queued[] = [];
  private head = 0;
  private active = false;
  private lastMicros = 0;
  private sequence = 0;
  private idle: (() => void)[] = [];

  constructor(world: World, settings: SimulatorSettings, counters: Counters, secret: () => string | undefined) {
    this.world = world;
    this.settings = settings;
    this.counters = counters;
    this.secret = secret;
    world.onSend((index, version) => {
      if (this.active) this.enqueue(index, version);
    });
  }

  /** Sends calls that are processed or edited from now on; `webhooks.from` adds those processed since then. */
  start(): void {
    this.active = true;
    const { from } = this.settings.webhooks;
    if (from !== undefined)
      for (const index of this.world.listedSince(Date.parse(from))) this.enqueue(index, this.world.versionOf(index));
    this.pump();
  }

  /** Queues no new delivery. Queued ones are still sent unless `discard`. */
  stop(discard: boolean): void {
    this.active = false;
    if (!discard) return;
    this.queue = [];
    this.head = 0;
    this.counters.webhooks.waiting = 0;
    this.announceIdle();
  }

  /** Only qualified and void calls are sent (§3). */
  enqueue(index: number, version: number): boolean {
    const { status } = this.world.documentOf(index, version, true);
    if (status !== 'qualified' && status !== 'void') return false;
    this.queue.push({ index, version, queuedAt: Date.now() });
    this.counters.webhooks.queued++;
    this.counters.webhooks.waiting++;
    this.pump();
    return true;
  }

  /** Resolves when nothing is queued or in flight. */
  drained(): Promise<void> {
    if (this.isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
  }

  close(): void {
    this.stop(true);
    void this.agent.destroy();
  }

  private isIdle(): boolean {
    return this.head >= this.queue.length && this.counters.webhooks.inFlight === 0;
  }

  private announceIdle(): void {
    if (!this.isIdle()) return;
    for (const resolve of this.idle.splice(0)) resolve();
  }

  /** A time-like decimal, strictly increasing, on the simulated clock. */
  private nextDeliveryId(): string {
    this.lastMicros = Math.max(this.world.now() * 1_000, this.lastMicros + 1);
    return `${Math.floor(this.lastMicros / 1_000_000)}.${String(this.lastMicros % 1_000_000).padStart(6, '0')}`;
  }

  private pump(): void {
    const { webhooks } = this.settings;
    const { webhooks: counts } = this.counters;
    while (webhooks.url !== undefined && this.head < this.queue.length && counts.inFlight < webhooks.concurrency)
      void this.deliver(this.take());
    this.announceIdle();
  }

  private take(): Queued {
    const taken = this.queue[this.head++] as Queued;
    if (this.head > 10_000 && this.head * 2 > this.queue.length) {
      this.queue = this.queue.slice(this.head);
      this.head = 0;
    }
    this.counters.webhooks.waiting--;
    return taken;
  }

  private make(index: number, version: number): OutgoingDelivery {
    const body = Buffer.from(JSON.stringify(this.world.documentOf(index, version)));
    const secret = this.secret();
    return {
      deliveryId: this.nextDeliveryId(),
      body,
      signature: secret === undefined ? undefined : signBody(secret, body),
    };
  }

  private async deliver(queued: Queued): Promise<void> {
    const { webhooks: counts } = this.counters;
    const { seed, webhooks } = this.settings;
    if (fraction(seed, this.sequence++, 91) < webhooks.dropShare) {
      counts.dropped++;
      this.record(queued, undefined, 'dropped', [], Date.now());
      return;
    }
    counts.inFlight++;
    await this.sendWithRetry(queued, this.make(queued.index, queued.version));
    counts.inFlight--;
    this.pump();
  }

  private async sendWithRetry(queued: Queued, delivery: OutgoingDelivery): Promise<void> {
    const { webhooks: counts } = this.counters;
    const sentAt = Date.now();
    const versions = this.attempted.get(queued.index) ?? new Set();
    this.attempted.set(queued.index, versions.add(queued.version));
    const answers = [await this.attempt(delivery)];
    if (!isSuccess(answers[0] as AttemptResult)) {
      counts.retried++;
      answers.push(await this.attempt(delivery));
    }
    const success = isSuccess(answers.at(-1) as AttemptResult);
    if (success) {
      counts.delivered++;
      this.delivered.set(queued.index, Math.max(queued.version, this.delivered.get(queued.index) ?? 0));
    } else counts.failed++;
    this.record(queued, delivery, success ? 'delivered' : 'failed', answers, sentAt);
  }

  private async attempt(delivery: OutgoingDelivery): Promise<AttemptResult> {
    this.counters.webhooks.attempts++;
    const result = await attemptOnce(this.settings.webhooks, delivery, this.agent);
    countOne(this.counters.webhooks.answers, result);
    return result;
  }

  private record(
    queued: Queued,
    delivery: OutgoingDelivery | undefined,
    outcome: DeliveryRecord['outcome'],
    answers: readonly AttemptResult[],
    sentAt: number,
  ): void {
    this.deliveries.push({
      deliveryId: delivery?.deliveryId ?? '',
      callId: this.world.idOf(queued.index),
      version: queued.version,
      bodyHash: delivery === undefined ? '' : createHash('sha256').update(delivery.body).digest('hex'),
      outcome,
      answers,
      queuedAt: queued.queuedAt,
      sentAt,
      settledAt: Date.now(),
    });
  }
}

/* One attempt to deliver, as interface §4.3 and §5.4 say. */

interface OutgoingDelivery {
  readonly deliveryId: string;
  readonly body: Buffer;
  /** Undefined when no secret has been provided. */
  readonly signature: string | undefined;
}

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
