/**
 * A simulator as a process. Takes options as JSON in CALLSYNC_SIMULATOR or as the first line of standard input, and
 * prints its addresses as one line of JSON.
 * Ends on SIGTERM, SIGINT, or when its parent closes the IPC channel or that standard input.
 */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import { runSimulator } from '../main.ts';

const stopping = new AbortController();
const stop = (): void => stopping.abort();
for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(signal, stop);

const readOptions = async (): Promise<SimulatorOptions> => {
  const given = process.env.CALLSYNC_SIMULATOR;
  if (given !== undefined) return JSON.parse(given) as SimulatorOptions;
  const lines = createInterface({ input: process.stdin });
  lines.once('close', stop);
  const [line] = (await once(lines, 'line')) as [string];
  return JSON.parse(line) as SimulatorOptions;
};

try {
  const options = await readOptions();
  await runSimulator({
    options,
    onReady: (addresses) => process.stdout.write(`${JSON.stringify(addresses)}\n`),
    signal: stopping.signal,
  });
  process.exit(0);
} catch (error) {
  process.stderr.write(`simulator: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
