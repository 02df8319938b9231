/** A signed sample to the webhook's address, found again in the inbox and removed: it never becomes a call. */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { SigningKey } from '../../../webhook/server/signature.ts';
import { exitCodes } from '../../shell/failures.ts';
import { sendWebhook } from './send.ts';

/** Finds and removes the delivery of one body in the operational store; both are idempotent. */
export interface SampleStore {
  hasDelivery(bodyHash: Buffer): Promise<boolean>;
  removeDelivery(bodyHash: Buffer): Promise<void>;
}

export interface RoundTripFinding {
  readonly outcome: 'ok' | 'warning' | 'failed';
  /** One sentence. */
  readonly message: string;
  readonly hint?: string;
  /** Set where nothing answers. */
  readonly exitCode?: number;
}

export interface RoundTripOptions {
  readonly url: string;
  readonly headerPrefix: string;
  /** Undefined where unsigned deliveries are taken. */
  readonly key: SigningKey | undefined;
  readonly store: SampleStore;
  readonly ca?: string;
  /** Longest from the answer to the row in the inbox. */
  readonly storedWithinMs?: number;
}

/** Sends the sample, then the same bytes with a wrong signature, which must be refused. @throws CallsyncError of the store */
export const tryRoundTrip = async (options: RoundTripOptions): Promise<RoundTripFinding> => {
  const { url, headerPrefix: prefix, key, store, ca, storedWithinMs = 15_000 } = options;
  // Without unique_id it never becomes a call, even if it cannot be removed.
  const body = Buffer.from(JSON.stringify({ callsync_check: randomUUID() }));
  const hash = createHash('sha256').update(body).digest();
  const hookId = [...(key?.hookIds ?? [])][0];
  const common = {
    url,
    body,
    prefix,
    hookId,
    ca,
  };
  const sent = await sendWebhook({ ...common, secret: key?.secret });
  if (!sent.delivered) return explainRefusal(url, sent.attempts.at(-1));
  try {
    if (!(await isThere(store, hash, storedWithinMs))) {
      return {
        outcome: 'failed',
        message: `${url} took a delivery that does not arrive in this inbox.`,
        hint: 'Check that the address leads to the receiver of this configuration, and that its store is this one.',
      };
    }
  } finally {
    await store.removeDelivery(hash);
  }
  if (key === undefined) {
    return {
      outcome: 'warning',
      message: 'A delivery arrived. Unsigned ones are taken, so anybody can send calls.',
      hint: 'Ask the account manager for a signing secret, set webhook.secrets and remove webhook.allow_unsigned.',
    };
  }
  const forged = await sendWebhook({ ...common, secret: randomUUID(), retry: false });
  if (forged.delivered) {
    await store.removeDelivery(hash);
    return {
      outcome: 'failed',
      message: `${url} takes deliveries with a wrong signature.`,
      hint: 'Remove webhook.allow_unsigned, and check that nothing else answers at that address.',
    };
  }
  const ms = sent.attempts.at(-1)?.ms ?? 0;
  return { outcome: 'ok', message: `A signed delivery was taken in ${ms} ms and arrived; a forged one was refused.` };
};

const isThere = async (store: SampleStore, hash: Buffer, withinMs: number): Promise<boolean> => {
  for (const until = Date.now() + withinMs; ; await delay(100)) {
    if (await store.hasDelivery(hash)) return true;
    if (Date.now() > until) return false;
  }
};

const explainRefusal = (
  url: string,
  attempt: { readonly status?: number; readonly failure?: string } | undefined,
): RoundTripFinding => {
  const { status, failure } = attempt ?? {};
  if (status === undefined) {
    return {
      outcome: 'failed',
      message: `${url} cannot be reached (${failure ?? 'no answer'}).`,
      hint: 'Start the receiver (callsync up or callsync serve), and open the way from outside to it.',
      exitCode: exitCodes.unreachable,
    };
  }
  const hints: Record<number, string> = {
    403: 'The receiver does not know this signing secret: restart it with this configuration, and check webhook.allow_from.',
    404: 'Check the path: webhook.public_url must end where the proxy leads to webhook.path.',
    503: 'The receiver is overloaded or cannot store: see its log and callsync status.',
  };
  return {
    outcome: 'failed',
    message: `${url} answers ${status} to a signed delivery.`,
    hint:
      hints[status] ??
      'Check that the address leads to the receiver and that its proxy passes POST and all headers on.',
  };
};
