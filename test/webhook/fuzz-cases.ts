/**
 * Mutated deliveries: none is accepted without a valid signature, none makes the receiver fail, and every accepted one
 * is in the inbox with its bytes. The same fuzz runs against verifiers with a seeded bug and must find each.
 */
import { createHash, createHmac } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Verifier } from '../../src/webhook/server/signature.ts';
import { type Answered, fuzzReceiver } from './support/fuzz.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { startReceiver } from './support/receiver.ts';

const seed = Number(process.env.CALLSYNC_SEED ?? Math.floor(Math.random() * 2 ** 31));

export const describeFuzz = ({ count }: { count: number }): void => {
  const database = useInboxDatabase();
  beforeEach(() => database.empty());

  const config = { limits: { headers_timeout_s: 30, request_timeout_s: 30 }, rejected_per_minute: 5 };

  const fuzz = async (options: { count: number; seed: number; verify?: Verifier['verify'] }) => {
    const { verify } = options;
    // A broken verifier sees every delivery: the check of the header would hide most faults.
    const verifier = verify && { checkHeader: () => undefined, verify };
    const started = await startReceiver({ databaseUrl: database.url, config, ...(verifier && { verifier }) });
    const answered = await fuzzReceiver({ port: started.port, count: options.count, seed: options.seed });
    expect(started.receiver.ready()).toBe(true);
    await started.stop();
    return answered;
  };

  const describeOne = ({ mutation, status, number }: Answered) => `${number} ${mutation}: ${status}`;

  test(
    `accepts exactly the valid ones of ${count} (seed ${seed}), never fails, and has what it accepted`,
    async () => {
      const answered = await fuzz({ count, seed });
      const wrong = answered.filter(({ valid, accepted }) => accepted && !valid);
      const refused = answered.filter(({ valid, accepted }) => valid && !accepted);
      const failed = answered.filter(({ status }) => status !== undefined && status >= 500);
      const faults = [wrong, refused, failed].map((some) => some.map(describeOne));
      expect(faults, 'wrong, refused, failed').toEqual([[], [], []]);
      const { rows } = await database.store.pool.query<{ hash: Buffer; body: Buffer }>(
        "SELECT body_hash AS hash, sha256(body) AS body FROM inbox WHERE outcome = 'pending'",
      );
      const stored = rows.map((row) => row.body.toString('hex')).sort();
      const accepted = answered.filter((one) => one.accepted);
      expect(stored).toEqual(accepted.map((one) => createHash('sha256').update(one.body).digest('hex')).sort());
      expect(rows.every((row) => row.hash.equals(row.body))).toBe(true);
      console.log({ count, seed, accepted: accepted.length });
      expect(accepted.length).toBeGreaterThan(count / 20);
    },
    60_000 + count * 20,
  );

  describe('finds a verifier that', () => {
    const digestOf = (text: Buffer, secret: Buffer) => createHmac('sha256', secret).update(text).digest('hex');
    const judge =
      (passes: (digest: string, signature: string) => boolean): Verifier['verify'] =>
      ({ body, signature = '', keys }) =>
        keys.some(({ secret }) => passes(`sha256=${digestOf(body, secret)}`, signature))
          ? { ok: true, key: 'primary' }
          : { ok: false, reason: 'signature_wrong' };
    const ofText = judge((right, given) => given === right);
    const broken: Record<string, Verifier['verify']> = {
      'compares the body decoded as text': (delivery) =>
        ofText({ ...delivery, body: Buffer.from(String(delivery.body)) }),
      'takes an absent or empty signature': judge((right, given) => given === '' || given === right),
      'takes a digest cut short': judge((right, given) => given.startsWith('sha256=') && right.startsWith(given)),
      'takes any of several signatures': judge((right, given) => given.includes(right)),
      'ignores case': judge((right, given) => given.toLowerCase() === right),
      'throws on a digest of another length': judge((right, given) => {
        if (given.length !== right.length) throw new RangeError('Input buffers must have the same byte length');
        return given === right;
      }),
    };
    test.each(Object.entries(broken))('%s', async (_what, verify) => {
      const answered = await fuzz({ count: 300, seed: 7, verify });
      const found = answered.filter(({ valid, accepted, status = 0 }) => accepted !== valid || status >= 500);
      expect(found.length).toBeGreaterThan(0);
    });
  });
};
