/** The simulated service as a process of its own, as the real one would be. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { unitFields } from '../../../schemas/config/analytics.ts';
import type { SimulatorOptions } from '../../../schemas/simulator.ts';
import { terminal } from '../../lib/errors.ts';
import { findBuilt } from '../../lib/find-built.ts';
import { minimalEnvironment } from '../../local/local-process.ts';
import type { SimulatorAddresses } from '../start-simulator.ts';

/** The section `source` of a configuration that reads this service, without the list. */
export const sourceOf = (simulator: SimulatorAddresses) => ({
  base_url: simulator.url,
  auth_url: simulator.authUrl,
  realm: simulator.realm,
  client_id: simulator.clientId,
  client_secret: simulator.clientSecret,
});

/** Starts it with `options`, which go through the environment because process lists show arguments. */
export const startSimulatorProcess = async (options: SimulatorOptions) => {
  const child = fork(findBuilt('src/simulator/control/child.js'), [], {
    env: { ...minimalEnvironment(), CALLSYNC_SIMULATOR: JSON.stringify(options) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const [addresses] = (await Promise.race([once(child, 'message'), ended])) as [SimulatorAddresses | number | null];
  if (typeof addresses !== 'object' || addresses === null)
    throw terminal('SIMULATOR_START', `The simulator ended at its start (code ${addresses}).`);
  return {
    ...addresses,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
};

// The calls of the demo, and the settings of its marts. docs/reference/cookbook.md shows results for the same calls.

/** The request limit of the demo's service. */
export const demoLimits = { requests: 400, per_s: 10 } as const;

/** The longest delay of a call, in days. */
export const lateMaxDays = 0.5;

/**
 * @param range how many calls the service has when the demo begins, and until when (ISO 8601)
 */
export const demoCalls = (range: { readonly count: number; readonly to: string }) =>
  ({
    seed: 1,
    // A real service allows 40 requests in 10 s: comparing 30 days would wait for it.
    rateLimit: { requests: demoLimits.requests, seconds: demoLimits.per_s },
    calls: { ...range, lateMaxDays, overlapShare: 0.05 },
    // Each run starts a new service, without earlier edits. A transcript that came only from an edit would rightly
    // survive, so edits change only fields that the list always has.
    edits: { kinds: ['tags', 'metadata'] },
  }) satisfies SimulatorOptions;

/** Section `analytics` of the demo's configuration. */
export const demoAnalytics = {
  time_zone: 'Europe/Paris',
  agent_side: { by_direction: { IN: 'out', OUT: 'in' } },
  units: Object.fromEntries(unitFields.map((field) => [field, 'seconds'])),
  fields: { UDF_num_02: { name: 'deal_value', type: 'numeric' } },
} as const;
