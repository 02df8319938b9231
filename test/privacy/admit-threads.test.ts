/** The receiver's threads store what the rules leave, whatever else is under way. */
import { expect, test } from 'vitest';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { openAdmitThreads } from '../../src/privacy/admit-threads.ts';
import { createPrivacy } from '../../src/privacy/privacy.ts';

const config = privacyConfigSchema.parse({
  profile: 'pseudonymous',
  unreadable: 'drop',
  former_keys: [{ id: 'k0', file: 'k0.key' }],
});
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
  const threads = openAdmitThreads(config, keys);
  try {
    const bodies = Array.from({ length: 120 }, (_, index) => bodyOf(index, index % 3 === 0 ? 10 : 6_000));
    bodies.push(Buffer.alloc(5_000, '{'), Buffer.alloc(0));
    const { admit } = createPrivacy(config, keys);
    const admitted = await Promise.all(bodies.map(threads.admit));
    for (const [index, body] of bodies.entries()) {
      const { body: kept, bodyHash } = admit(body);
      expect(admitted[index]?.body.equals(kept)).toBe(true);
      expect(admitted[index]?.bodyHash.equals(bodyHash)).toBe(true);
    }
    expect(admitted[1]?.body.toString()).toMatch(/"call-1".*my number is ph_k1_.*token_aliases":\{"ph_k0_/);
  } finally {
    await threads.close();
  }
});

test('a body whose thread is gone is not stored', async () => {
  const threads = openAdmitThreads(config, keys);
  const waiting = Array.from({ length: 40 }, (_, index) => threads.admit(bodyOf(index, 20_000)));
  const outcomes = Promise.allSettled(waiting);
  await threads.close();
  const kept = (await outcomes).filter(({ status }) => status === 'fulfilled');
  expect(kept.length).toBeLessThan(waiting.length);
});
