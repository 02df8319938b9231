import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type readSigningKey, signatureVerifier, signBody } from '../../src/webhook/server/signature.ts';

const key = (name: string, secret = name, hookIds?: readonly string[]): ReturnType<typeof readSigningKey> => ({
  name,
  secret: Buffer.from(secret),
  hookIds: hookIds && new Set(hookIds),
});
const body = Buffer.from('{"unique_id":"a"}');
const verify = (input: Partial<Parameters<(typeof signatureVerifier)['verify']>[0]>) =>
  signatureVerifier.verify({
    ...{ body, signature: undefined, hookId: null, keys: [key('k')], allowUnsigned: false, ...input },
  });

describe('refuses', () => {
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
  ])('%s', (_what, signature, reason) => {
    expect(verify({ signature })).toEqual({ ok: false, reason });
  });

  test('everything when there is no key', () => {
    expect(verify({ keys: [], signature: signBody(body, '') }).ok).toBe(false);
    expect(verify({ keys: [] }).ok).toBe(false);
  });
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
