import { expect, test } from 'vitest';
import { checkMrcp } from '../../src/cli/commands/doctor/check-mrcp.ts';
import { openSimulator } from '../support/simulator.ts';

test.each([
  ['accept', 'answers'],
  ['refuse', 'refused'],
  ['unanswered', 'timed_out'],
] as const)('the MRCP check tells a port in mode %s apart', async (mode, outcome) => {
  const simulator = await openSimulator({ calls: { count: 0 }, mrcp: { mode } });
  const check = await checkMrcp({ ...simulator.mrcp, timeout_s: 0.5 });
  expect(check.outcome).toBe(outcome);
  expect(check.hint === undefined).toBe(outcome === 'answers');
  if (outcome !== 'answers') expect(check.hint).toContain('account manager');
  expect((await simulator.stats()).mrcp.bytes).toBe(0);
});

test('the MRCP check knows an unknown host and a missing one', async () => {
  const unknown = await checkMrcp({ host: 'nowhere.invalid', port: 5060, timeout_s: 30 });
  expect(unknown).toMatchObject({ outcome: 'unknown_host' });
  expect(await checkMrcp({ port: 5060, timeout_s: 1 })).toMatchObject({ outcome: 'not_configured' });
});
