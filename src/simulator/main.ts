/** Runs a simulator until it is told to stop; for the `simulate` command and the child process. */
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { type SimulatorAddresses, startSimulator } from './start-simulator.ts';

/** Starts a simulator, reports its addresses, and resolves after `signal` aborted and every socket is closed. */
export const runSimulator = async (input: {
  readonly options: SimulatorOptions;
  /** Called once all servers listen. */
  readonly onReady: (addresses: SimulatorAddresses) => void;
  /** Ends the run. */
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { options, onReady, signal } = input;
  const simulator = await startSimulator(options);
  onReady(simulator.addresses);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await simulator.stop();
};
