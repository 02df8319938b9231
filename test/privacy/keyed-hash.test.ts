import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { createKeyedHash } from '../../src/lib/keyed-hash.ts';

// Around the block of the hash, and around the size of the buffer that is used again.
const lengths = [0, 1, 55, 56, 63, 64, 65, ...Array.from({ length: 21 }, (_, index) => 500 + index)];
const texts = lengths.flatMap((length) => ['a', 'é', '漢', '😀', '\ud800'].map((unit) => unit.repeat(length)));

test.each([0, 1, 32, 63, 64, 65, 100])(
  'it is the HMAC of any text under a key of %i bytes, whatever was hashed before',
  (bytes) => {
    const key = Buffer.alloc(bytes, 0x5a);
    const keyed = createKeyedHash(key);
    expect(texts.filter((text) => keyed(text) !== createHmac('sha256', key).update(text).digest('hex'))).toEqual([]);
  },
);
