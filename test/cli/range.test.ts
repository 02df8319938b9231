/** Ranges that commands take. */
import { expect, test, vi } from 'vitest';
import { untilNow } from '../../src/cli/parts/range.ts';

test('a range that reaches into the future ends now, and says so; one that ends before it begins is refused', () => {
  vi.useFakeTimers({ now: Date.parse('2026-04-01T10:00:00Z') });
  const now = Date.now() * 1000;
  const told: string[] = [];
  const tell = (message: string) => void told.push(message);
  expect(untilNow({ from: 0 }, tell)).toEqual({ from: 0, to: now });
  expect(untilNow({ from: 0, to: now - 1 }, tell)).toEqual({ from: 0, to: now - 1 });
  expect(told).toEqual([]);
  expect(untilNow({ from: 0, to: now + 86_400_000_000 }, tell)).toEqual({ from: 0, to: now });
  expect(told).toEqual(['The range ends now: 2026-04-02T10:00:00.000Z lies in the future.']);
  for (const range of [{ from: 5, to: 5 }, { from: now + 1 }])
    expect(() => untilNow(range, tell)).toThrow(expect.objectContaining({ code: 'USAGE_RANGE' }));
  vi.useRealTimers();
});
