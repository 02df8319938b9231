/** A receiver of an installation, as a process of the built command. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { Installation } from './installation.ts';

const main = new URL('../../dist/src/cli/main.js', import.meta.url).pathname;

/** Resolves once it listens on the port. The caller ends it, and has the simulated service send to it. */
export const startReceiver = async (site: Installation, port: number): Promise<ChildProcess> => {
  const configPath = join(site.folder, 'receiver.yaml');
  const config = parse(await readFile(site.configPath, 'utf8'));
  config.webhook = {
    port,
    header_prefix: 'X-Service-',
    secrets: [{ name: 'current', secret: site.simulator.signingSecret }],
  };
  await writeFile(configPath, stringify(config), { mode: 0o600 });
  const receiver = spawn(process.execPath, [main, 'serve', '--config', configPath, '--json', '--log-level', 'error'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(receiver.stdout, 'data');
  return receiver;
};
