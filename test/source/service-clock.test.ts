import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { createServiceClock, serviceNow } from '../../src/source/http/http.ts';

const base = Date.UTC(2124, 6, 1);
const headerAt = (serverMs: number): string => new Date(Math.floor(serverMs / 1000) * 1000).toUTCString();

beforeEach(() => {
  vi.useFakeTimers({ now: base, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
});

test('the service clock narrows with every response, never before the request or after the answer', () => {
  for (const ahead of [-7_200_000, -350, 0, 4_321, 90_000]) {
    const clock = createServiceClock(900_000);
    let local = base;
    let error = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 200; i++) {
      local += 37 + ((i * 7919) % 613);
      const sentAt = local;
      const headAt = sentAt + 20 + (i % 30);
      const seen = clock.observe({ sentAt, headAt, date: headerAt(sentAt + 10 + ahead) }) / 1000;
      expect(seen).toBeLessThanOrEqual(headAt + ahead + 0.01);
      error = Math.abs(seen - (sentAt + ahead));
    }
    expect(error).toBeLessThan(60);
    const { low, high } = clock.offset() ?? expect.fail('no offset');
    expect([low <= ahead + 0.2, high >= ahead - 0.2]).toEqual([true, true]);
  }
});

test('the service clock starts anew when the service’s clock is set', () => {
  const clock = createServiceClock(900_000);
  clock.observe({ sentAt: base, headAt: base + 10, date: headerAt(base) });
  const seen = clock.observe({ sentAt: base + 1_000, headAt: base + 1_010, date: headerAt(base + 60_000) }) / 1000;
  expect(Math.abs(seen - (base + 60_000))).toBeLessThan(1_100);
});

test('the service clock takes arrival without a usable Date, and stays within the allowed skew', () => {
  const clock = createServiceClock(60_000);
  const seen = (date: string | undefined) => clock.observe({ sentAt: base, headAt: base + 10, date }) / 1000 - base;
  expect([undefined, 'tomorrow', headerAt(base + 3_600_000)].map(seen)).toEqual([10, 10, 60_010]);
});

// Otherwise all that a process reads after a sleep of its machine is older than what it read before.
test('arrival follows a clock that is set ahead, but the present of the service does not', () => {
  const clock = createServiceClock(60_000);
  const ahead = base + 7_200_000;
  const seen = () => clock.observe({ sentAt: base, headAt: base + 10, date: headerAt(ahead) }) / 1000 - base;
  expect(seen()).toBe(60_010);
  const before = serviceNow(clock) ?? 0;
  vi.setSystemTime(ahead);
  expect([seen(), Math.round(((serviceNow(clock) ?? 0) - before) / 60e6)]).toEqual([7_199_990, 0]);
});
