/** A receiver of an installation, as a process of the built command. */
import type { ChildProcess } from 'node:child_process';
import type { Installation } from './installation.ts';
import { startProgram } from './program.ts';

/** Resolves once it listens on the port. The caller ends it, and has the simulated service send to it. */
export const startReceiver = async (site: Installation, port: number): Promise<ChildProcess> => {
  const secrets = [{ name: 'current', secret: site.simulator.signingSecret }];
  const webhook = { port, header_prefix: 'X-Service-', secrets };
  const configPath = await site.reconfigure((config) => Object.assign(config, { webhook }), 'receiver.yaml');
  const { child, first } = startProgram(['serve', '--config', configPath, '--json', '--log-level', 'error']);
  await first();
  return child;
};
