import { expect, test } from 'vitest';
import { findTampering } from './tamper-cases.ts';

// `npm run campaign -- warehouse tamper` alters 1,000 values.
test('what was altered, deleted and added in either warehouse is found at level rows, healed, and in the verdicts', async () => {
  const wanted = { calls: 24, altered: 8, moved: 3, deleted: 2, added: 3, raised: 4, again: false };
  const figures = await findTampering(wanted);
  expect(Object.keys(figures)).toHaveLength(2);
  for (const [warehouse, { touched, missing, different }] of Object.entries(figures))
    expect(missing + different, warehouse).toBe(touched);
});
