import { test } from 'vitest';
import { findTampering } from './tamper-cases.ts';

// `npm run campaign -- warehouse tamper` alters 1,000 values.
test('rows that were altered, deleted and added in a warehouse are found at level rows, and healed', async () => {
  await findTampering({ calls: 24, altered: 8, moved: 3, deleted: 2, added: 3, raised: 4, again: false });
});
