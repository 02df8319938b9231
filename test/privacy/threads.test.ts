/** The receiver's threads store what the rules leave, whatever else is under way. */
import { expect, onTestFinished, test } from 'vitest';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { createPrivacy } from '../../src/privacy/privacy.ts';
import { openCleaner } from '../../src/privacy/threads.ts';

const former_keys = [{ id: 'k0', file: 'k0.key' }];
const config = privacyConfigSchema.parse({ profile: 'pseudonymous', unreadable: 'drop', former_keys });
const keys = { token: Buffer.alloc(32, 7), former: [Buffer.alloc(32, 6)], seal: undefined };

const bodyOf = (index: number, bytes: number): Buffer => {
  const number = `06 39 98 ${10 + (index % 90)} 34`;
  const said = [
    { from: 'in', content: `my number is ${number}`, words: [] },
    { from: 'out', content: 'thank you '.repeat(bytes / 10), words: [] },
  ];
  return Buffer.from(JSON.stringify({ unique_id: `call-${index}`, transcript_json: { callData: said } }));
};

test('bodies of every size come back as they are stored, each to its own sender', async () => {
  const threads = openCleaner(config, keys);
  onTestFinished(() => threads.close());
  const bodies = Array.from({ length: 120 }, (_, index) => bodyOf(index, index % 3 === 0 ? 10 : 6_000));
  bodies.push(Buffer.alloc(5_000, '{'), Buffer.alloc(0));
  const { admit } = createPrivacy(config, keys);
  const admitted = await Promise.all(bodies.map(threads.clean));
  for (const [index, body] of bodies.entries()) {
    const { body: kept, bodyHash } = admit(body);
    expect([admitted[index]?.body, admitted[index]?.bodyHash]).toEqual([kept, bodyHash]);
  }
  expect(admitted[1]?.body.toString()).toMatch(/"call-1".*my number is ph_k1_.*token_aliases":\{"ph_k0_/);
});

test('a body whose thread is gone is not stored', async () => {
  const threads = openCleaner(config, keys);
  const waiting = Array.from({ length: 40 }, (_, index) => threads.clean(bodyOf(index, 20_000)));
  const outcomes = Promise.allSettled(waiting);
  await threads.close();
  expect((await outcomes).filter(({ status }) => status === 'fulfilled').length).toBeLessThan(waiting.length);
});

test('a body over which a thread hangs is sealed, and the others are read', async () => {
  const hanging = privacyConfigSchema.parse({ ...config, patterns: [{ name: 'slow', pattern: '(?:a+)+b' }] });
  const cleaner = openCleaner(hanging, keys, 2_000);
  onTestFinished(() => cleaner.close());
  // A thread that starts under load may seem to hang.
  await expect.poll(async () => (await cleaner.clean(bodyOf(0, 20))).body.toString()).toContain('"call-0"');
  const bodies = [bodyOf(1, 20), Buffer.from(`{"unique_id":"call-2","x":"${'a'.repeat(60)}"}`), bodyOf(3, 20)];
  const [first, second, third] = await Promise.all(bodies.map(cleaner.clean));
  expect(first?.body.toString()).toContain('"call-1"');
  expect(second?.body.toString()).toContain('dropped on arrival');
  expect(second?.bodyHash).toEqual(createPrivacy(config, keys).admit(bodies[1] as Buffer).bodyHash);
  expect(third?.body.toString()).toContain('"call-3"');
});
