/** The simulated service as a process of its own, as the real one would be. */
import { type ChildProcess, fork } from 'node:child_process';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import { terminal } from '../../lib/errors.ts';
import { findBuilt } from '../../lib/find-built.ts';
import type { SimulatorAddresses } from '../control/control.ts';

export interface SimulatorProcess extends SimulatorAddresses {
  stop(): Promise<void>;
}

/** The section `source` of a configuration that reads this service, without the list. */
export const sourceOf = (simulator: SimulatorAddresses) => ({
  base_url: simulator.url,
  auth_url: simulator.authUrl,
  realm: simulator.realm,
  client_id: simulator.clientId,
  client_secret: simulator.clientSecret,
});

const locateChild = (): string => {
  const found = findBuilt(import.meta.url, '../control/child.js', '../../../dist/src/simulator/control/child.js');
  if (found === undefined)
    throw terminal('BUILD_MISSING', 'The simulator is not built.', { hint: 'Run npm run build.' });
  return found;
};

/** Starts it with `options`, which go through the environment because process lists show arguments. */
export const startSimulatorProcess = async (options: SimulatorOptions): Promise<SimulatorProcess> => {
  const child = fork(locateChild(), [], {
    env: { ...process.env, CALLSYNC_SIMULATOR: JSON.stringify(options) },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  return { ...(await readAddresses(child)), stop: () => stopChild(child) };
};

const readAddresses = (child: ChildProcess): Promise<SimulatorAddresses> =>
  new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(JSON.parse(text.slice(0, end)) as SimulatorAddresses);
    });
    child.once('exit', (code) =>
      reject(terminal('SIMULATOR_START', `The simulator ended at its start (code ${code}).`)),
    );
  });

const stopChild = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
};
