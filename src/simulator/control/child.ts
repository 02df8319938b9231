/**
 * A simulator as a process. Takes options as JSON in CALLSYNC_SIMULATOR, and sends its addresses to its parent.
 * Ends on SIGTERM, SIGINT, or when its parent ends.
 */
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import { runSimulator } from '../start-simulator.ts';

const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.once(signal, () => stopping.abort());

try {
  const options = JSON.parse(process.env.CALLSYNC_SIMULATOR ?? '{}') as SimulatorOptions;
  await runSimulator(options, stopping.signal, (addresses) => process.send?.(addresses));
  process.exit(0);
} catch (error) {
  process.stderr.write(`simulator: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
