import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createRemoteControl } from '../../src/simulator/control/remote-control.ts';
import type { SimulatorAddresses } from '../../src/simulator/start-simulator.ts';
import { collect } from '../support/rows.ts';

/** Built by `npm run build`, which `npm test` runs first. */
const entry = resolve('dist/src/simulator/control/child.js');

test('runs as a process of its own, driven and asked over HTTP, and ends with its parent', async () => {
  const child = fork(entry, { env: { ...process.env, CALLSYNC_SIMULATOR: JSON.stringify({ calls: { count: 20 } }) } });
  const [addresses] = (await once(child, 'message')) as [SimulatorAddresses];
  const control = createRemoteControl(addresses);
  const truth = await collect(control.truth());
  const { callId } = truth[0] as { callId: string };
  expect(await control.truthOf(callId)).toEqual(truth[0]);
  expect(await control.truthOf('nobody')).toBeUndefined();
  expect(await control.documentAt(callId, 1)).toMatchObject({ unique_id: callId });
  expect(await collect(control.truth({ light: true }))).toHaveLength(20);
  await expect(control.configure({ dialect: 'unheard-of' })).rejects.toThrow(/no dialect/);
  child.disconnect();
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('says what is wrong with its options and ends', async () => {
  const env = { ...process.env, CALLSYNC_SIMULATOR: '{"dialect":"unheard-of"}' };
  const ended = spawnSync(process.execPath, [entry], { env, encoding: 'utf8', timeout: 60_000 });
  expect(ended).toMatchObject({ status: 1, stderr: expect.stringContaining('no dialect named unheard-of') });
});
