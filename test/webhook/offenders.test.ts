import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createOffenders } from '../../src/webhook/server/senders.ts';

const MiB = 1024 * 1024;
const start = (known: readonly string[] = []) => {
  let now = 0;
  const options = { isKnown: (sender: string) => known.includes(sender), clock: () => now, delayMs: 2_000 };
  const offenders = createOffenders(options);
  const isAnsweredAtOnce = (sender: string, bytes = 0): Promise<boolean> =>
    Promise.race([offenders.note(sender, bytes).then(() => true), nextTurn(false)]);
  const pass = (seconds: number): void => {
    now += seconds * 1_000;
  };
  return { offenders, isAnsweredAtOnce, pass };
};

test('bodies of a sender that had much read in vain are left unread for a while; of others they are not', async () => {
  const { offenders, pass } = start();
  for (let body = 0; body < 4; body += 1) await offenders.note('attacker', 16 * MiB);
  expect(offenders.isHeldBack('attacker')).toBe(false);
  await offenders.note('attacker', 16 * MiB);
  expect(offenders.isHeldBack('attacker')).toBe(true);
  expect(offenders.isHeldBack('another')).toBe(false);
  pass(5);
  expect(offenders.isHeldBack('attacker')).toBe(false);
});

test('after many refusals a sender is answered later; a known one never', async () => {
  const { offenders, isAnsweredAtOnce } = start(['known']);
  for (let sent = 0; sent < 64; sent += 1) await offenders.note('attacker', 0);
  expect(await isAnsweredAtOnce('attacker')).toBe(false);
  expect(await isAnsweredAtOnce('another')).toBe(true);
  for (let body = 0; body < 100; body += 1) await offenders.note('known', 16 * MiB);
  expect(await isAnsweredAtOnce('known', MiB)).toBe(true);
  expect(offenders.isHeldBack('known')).toBe(false);
});
