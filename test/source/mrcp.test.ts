import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { checkMrcp } from '../../src/source/mrcp/mrcp.ts';
import { useClosers } from './local-server.ts';

const closers = useClosers();

describe('the MRCP check', () => {
  test.each([
    ['accept', 'answers'],
    ['refuse', 'refused'],
    ['unanswered', 'timed_out'],
  ] as const)('tells a port in mode %s apart', async (mode, outcome) => {
    const simulator = await startSimulator({ calls: { count: 0 }, mrcp: { mode } });
    closers.push(() => simulator.stop());
    const check = await checkMrcp({ ...simulator.mrcp, timeout_s: 0.5 });
    expect(check.outcome).toBe(outcome);
    expect(check.hint === undefined).toBe(outcome === 'answers');
    if (outcome !== 'answers') expect(check.hint).toContain('account manager');
    expect((await simulator.stats()).mrcp.bytes).toBe(0);
  });

  test('knows an unknown host and a missing one', async () => {
    const unknown = await checkMrcp({ host: 'nowhere.invalid', port: 5060, timeout_s: 30 });
    expect(unknown).toMatchObject({ outcome: 'unknown_host' });
    expect(await checkMrcp({ port: 5060, timeout_s: 1 })).toMatchObject({ outcome: 'not_configured' });
  });
});
