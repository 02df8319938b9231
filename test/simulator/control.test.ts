import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createRemoteControl } from '../../src/simulator/control/remote-control.ts';
import { startSimulatorProcess } from '../../src/simulator/demo/simulator-process.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { postTo } from '../support/listen.ts';
import { openSimulator } from '../support/simulator.ts';

const simulator = await startSimulator({ calls: { count: 3, utterances: 0 } });
afterAll(() => simulator.stop());

const ask = (path: string, headers: Record<string, string>) => postTo(`${simulator.origin}/__sim/${path}`, headers);

test('the control needs its token and refuses a foreign Host or Origin', async () => {
  const { controlToken, port } = simulator;
  const Authorization = `Bearer ${controlToken}`;
  for (const [status, headers] of [
    [200, { Authorization, Host: `localhost:${port}`, Origin: `http://localhost:${port}` }],
    [401, {}],
    [401, { Authorization: 'Bearer ' }],
    [401, { Authorization: `Bearer ${'x'.repeat(controlToken.length)}` }],
    [403, { Authorization, Host: `rebound.example:${port}` }],
    [403, { Authorization, Origin: 'https://page.example' }],
    [403, { Authorization, Origin: 'null' }],
  ] as const)
    expect(await ask('stats', headers), JSON.stringify(headers)).toBe(status);
  await expect(createRemoteControl({ ...simulator.addresses, controlToken: 'guess' }).stats()).rejects.toThrow(/token/);
});

test('the control serves its methods and nothing else', async () => {
  const Authorization = `Bearer ${simulator.controlToken}`;
  for (const name of ['constructor', 'parts', 'stop', 'toString', '__proto__', ''])
    expect(await ask(name, { Authorization })).toBe(404);
  expect((await openSimulator()).controlToken).not.toBe(simulator.controlToken);
});

test.skipIf(!existsSync('/proc/self/environ'))('the process of the simulated service gets no secret', async () => {
  process.env.CALLSYNC_TEST_SECRET = 'hunter2';
  const child = await startSimulatorProcess({ calls: { count: 1, utterances: 0 } });
  onTestFinished(async () => {
    delete process.env.CALLSYNC_TEST_SECRET;
    await child.stop();
  });
  const tasks = `/proc/${process.pid}/task`;
  const childrenOf = (task: string) => readFileSync(`${tasks}/${task}/children`, 'utf8').match(/\d+/g) ?? [];
  const children = readdirSync(tasks).flatMap(childrenOf);
  const environments = children.map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8'));
  const itsOwn = environments.filter((environment) => environment.includes('CALLSYNC_SIMULATOR='));
  expect(itsOwn).toEqual([expect.not.stringContaining('hunter2')]);
});
