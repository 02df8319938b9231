/** Refusals of the receiver: signatures, senders that do so again and again, and the record of it. */
import { createHmac, randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { signBody } from '../../src/lib/send-webhook.ts';
import type { RejectedDelivery } from '../../src/store/delivery/inbox-writer.ts';
import { createRejections } from '../../src/webhook/server/rejections.ts';
import { createOffenders } from '../../src/webhook/server/senders.ts';
import { type readSigningKey, signatureVerifier } from '../../src/webhook/server/signature.ts';
import { until } from '../support/until.ts';

const key = (name: string, secret = name, hookIds?: readonly string[]): ReturnType<typeof readSigningKey> => ({
  name,
  secret: Buffer.from(secret),
  hookIds: hookIds && new Set(hookIds),
});
const keyK = key('k');
const body = Buffer.from('{"unique_id":"a"}');
const verify = (input: Partial<Parameters<(typeof signatureVerifier)['verify']>[0]>) =>
  signatureVerifier.verify({ body, signature: undefined, hookId: null, keys: [keyK], allowUnsigned: false, ...input });

const good = signBody(body, 'k');
const hex = good.slice('sha256='.length);
test.each([
  ['an absent header', undefined, 'signature_absent'],
  ['an empty header', '', 'signature_malformed'],
  ['only the prefix', 'sha256=', 'signature_malformed'],
  ['a digest without prefix', hex, 'signature_malformed'],
  ['upper-case hex', `sha256=${hex.toUpperCase()}`, 'signature_malformed'],
  ['an upper-case prefix', `SHA256=${hex}`, 'signature_malformed'],
  ['a digest cut short', good.slice(0, -1), 'signature_malformed'],
  ['a digest with a digit more', `${good}0`, 'signature_malformed'],
  ['white space', ` ${good.slice(0, -1)}`, 'signature_malformed'],
  ['a line end', `${good}\n`, 'signature_malformed'],
  ['a repeated header', `${good}, ${good}`, 'signature_malformed'],
  ['64 KB', 'a'.repeat(65_536), 'signature_malformed'],
  ['another algorithm', `sha512=${createHmac('sha512', 'k').update(body).digest('hex')}`, 'signature_malformed'],
  ['another algorithm of the same length', `sha1=${'0'.repeat(66)}`, 'signature_malformed'],
  ['base64', `sha256=${createHmac('sha256', 'k').update(body).digest('base64')}`, 'signature_malformed'],
  ['zeros', `sha256=${'0'.repeat(64)}`, 'signature_wrong'],
  ['one digit changed', `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`, 'signature_wrong'],
  ['another secret', signBody(body, 'other'), 'signature_wrong'],
  ['an empty secret', signBody(body, ''), 'signature_wrong'],
  ['a plain hash', `sha256=${createHmac('sha256', '').update(body).digest('hex')}`, 'signature_wrong'],
])('refuses %s', (_what, signature, reason) => expect(verify({ signature })).toEqual({ ok: false, reason }));

test('refuses everything when there is no key', () => {
  expect(verify({ keys: [], signature: signBody(body, '') }).ok).toBe(false);
  expect(verify({ keys: [] }).ok).toBe(false);
});

test('lets a key verify only the webhooks that it is for', () => {
  const keys = [key('one', 'one', ['h1']), key('all')];
  const by = (hookId: string | null, secret: string) => verify({ keys, hookId, signature: signBody(body, secret) });
  expect(by('h1', 'one')).toEqual({ ok: true, key: 'one' });
  for (const hook of ['h2', null]) expect(by(hook, 'one')).toEqual({ ok: false, reason: 'hook_refused' });
  expect(by('h2', 'all')).toEqual({ ok: true, key: 'all' });
});

test('takes unsigned deliveries only where allowed, and never a wrong signature beside a key', () => {
  expect(verify({ allowUnsigned: true })).toEqual({ ok: true, key: null });
  expect(verify({ allowUnsigned: true, signature: signBody(body, 'other') }).ok).toBe(false);
  expect(verify({ allowUnsigned: true, signature: '' }).ok).toBe(false);
  expect(verify({ allowUnsigned: true, keys: [], signature: signBody(body, 'any') })).toEqual({ ok: true, key: null });
});

const MiB = 1024 * 1024;
const start = (known: readonly string[] = []) => {
  const clock = { now: 0 };
  const options = { isKnown: (sender: string) => known.includes(sender), clock: () => clock.now, delayMs: 2_000 };
  const offenders = createOffenders(options);
  const isAnsweredAtOnce = (sender: string, bytes = 0): Promise<boolean> =>
    Promise.race([offenders.note(sender, bytes).then(() => true), nextTurn(false)]);
  return { offenders, isAnsweredAtOnce, clock };
};

test('bodies of a sender that had much read in vain are left unread for a while; of others they are not', async () => {
  const { offenders, clock } = start();
  for (let body = 0; body < 4; body += 1) await offenders.note('attacker', 16 * MiB);
  expect(offenders.isHeldBack('attacker')).toBe(false);
  await offenders.note('attacker', 16 * MiB);
  expect(['attacker', 'another'].map(offenders.isHeldBack)).toEqual([true, false]);
  clock.now += 5_000;
  expect(offenders.isHeldBack('attacker')).toBe(false);
});

test('after many refusals a sender is answered later; a known one never', async () => {
  const { offenders, isAnsweredAtOnce } = start(['known']);
  for (let sent = 0; sent < 64; sent += 1) await offenders.note('attacker', 0);
  expect(await isAnsweredAtOnce('attacker')).toBe(false);
  expect(await isAnsweredAtOnce('another')).toBe(true);
  for (let body = 0; body < 100; body += 1) await offenders.note('known', 16 * MiB);
  expect(await isAnsweredAtOnce('known', MiB)).toBe(true);
  expect(offenders.isHeldBack('known')).toBe(false);
});

const common = { hookId: null, agent: null, receivedAt: new Date(), reason: 'signature_wrong' };
const rejected = (n: number) => ({ ...common, arrivalId: randomUUID(), deliveryId: String(n) });

test('records few of many, counts the rest in one row, and starts anew with the next minute', async () => {
  const rows: RejectedDelivery[] = [];
  let unrecorded = 0;
  const rejections = createRejections({
    perMinute: 3,
    minuteMs: 600,
    record: async (more) => void rows.push(...more),
    onUnrecorded: (count) => {
      unrecorded += count;
    },
  });
  for (let n = 0; n < 1_000; n += 1) rejections.note(rejected(n));
  await until('the minute is over', () => rows.length === 4);
  const rest = '997 more rejected deliveries, without a row each';
  expect(rows.map((row) => row.deliveryId ?? row.reason)).toEqual(['0', '1', '2', rest]);
  expect(unrecorded).toBe(997);
  rejections.note(rejected(1_000));
  await rejections.close();
  expect(rows.at(-1)?.deliveryId).toBe('1000');
  expect(new Set(rows.map((row) => row.arrivalId)).size).toBe(rows.length);
});
