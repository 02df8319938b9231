import type { SourceConfigInput } from '../../schemas/config/source.ts';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { simulatedSource } from './simulated.ts';

/** A simulated service without a limit, and a source that reads it; both are closed at the end of the test. */
export const useSimulated = async (
  options: SimulatorOptions,
  section: Partial<SourceConfigInput>,
  closers: (() => unknown)[],
) => {
  const simulator = await startSimulator({ rateLimit: { requests: 0 }, ...options });
  closers.push(() => simulator.stop());
  const source = await simulatedSource(simulator, section);
  closers.push(source.close);
  return { simulator, source };
};
