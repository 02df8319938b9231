import { expect, test } from 'vitest';
import { tellTimes } from '../../src/cli/shell/output.ts';

test('ranges and instants are told in ISO 8601 wherever they are, and counts stay numbers', () => {
  const range = { from: 1_700_000_000_000_000, to: 1_700_000_000_123_456 };
  const told = { from: '2023-11-14T22:13:20.000Z', to: '2023-11-14T22:13:20.123Z' };
  const facts = { ...range, todo: [range], warehouses: { main: [range] }, calls: 7, startedAt: new Date(0), by: null };
  expect(tellTimes(facts)).toEqual({
    ...told,
    todo: [told],
    warehouses: { main: [told] },
    calls: 7,
    startedAt: '1970-01-01T00:00:00.000Z',
    by: null,
  });
  expect(tellTimes({ from: 'a', receiver: { at: 0, url: 'b' } })).toEqual({
    from: 'a',
    receiver: { at: '1970-01-01T00:00:00.000Z', url: 'b' },
  });
});
