/** Deliveries of the usual size: the simulator's calls of 40 utterances, about 40 KB each. */
import { simulatorOptionsSchema } from '../../schemas/simulator.ts';
import { callIdOf } from '../../src/simulator/calls/call-id.ts';
import { generateCall } from '../../src/simulator/calls/generate-call.ts';

/** @param bytes filled up to about this size, so that ratios compare between versions of the generator. */
export const makeCallBodies = (count: number, bytes = 40_000): readonly Buffer[] => {
  const settings = simulatorOptionsSchema.parse({});
  const timestampMs = Date.UTC(2024, 2, 4, 9);
  return Array.from({ length: count }, (_, index) => {
    const seed = { index, callId: callIdOf(settings.seed, index), timestampMs, status: 'qualified' };
    const call = generateCall(settings, { ...seed, timestamp: new Date(timestampMs).toISOString() }, false);
    const missing = bytes - Buffer.byteLength(JSON.stringify(call));
    return Buffer.from(JSON.stringify(missing > 0 ? { ...call, filler: 'x'.repeat(missing) } : call));
  });
};
