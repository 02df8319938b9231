import { onTestFinished } from 'vitest';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';

/** A simulated service without a limit of requests, until the end of the test. */
export const openSimulator = async (options: SimulatorOptions = {}) => {
  const simulator = await startSimulator({ rateLimit: { requests: 0 }, ...options });
  onTestFinished(() => simulator.stop());
  return simulator;
};
