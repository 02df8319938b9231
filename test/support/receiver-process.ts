/** A receiver of an installation, as a process of the built command. */
import type { ChildProcess } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Installation } from './installation.ts';
import { startProgram } from './program.ts';

/** Resolves once it listens on the port. The caller ends it, and has the simulated service send to it. */
export const startReceiver = async (site: Installation, port: number): Promise<ChildProcess> => {
  const configPath = join(site.folder, 'receiver.yaml');
  const config = parse(await readFile(site.configPath, 'utf8'));
  const secrets = [{ name: 'current', secret: site.simulator.signingSecret }];
  config.webhook = { port, header_prefix: 'X-Service-', secrets };
  await writeFile(configPath, stringify(config), { mode: 0o600 });
  const { child, first } = startProgram(['serve', '--config', configPath, '--json', '--log-level', 'error']);
  await first();
  return child;
};
