import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createKeyedHash } from '../../src/lib/keyed-hash.ts';

test('it is the HMAC of any text under any key, whatever was hashed before', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ minLength: 500, maxLength: 520, unit: 'binary' }));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.array(text, { maxLength: 3 }), (bytes, texts) => {
      const key = Buffer.from(bytes);
      const keyed = createKeyedHash(key);
      for (const one of texts) expect(keyed(one)).toBe(createHmac('sha256', key).update(one).digest('hex'));
    }),
    { numRuns: 50 },
  );
});
