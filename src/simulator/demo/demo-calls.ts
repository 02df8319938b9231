/** The calls of the demo, and what its marts know of them; the results of docs/reference/cookbook.md are of the same calls. */
import type { SimulatorOptions } from '../../../schemas/simulator.ts';

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
    // The service starts anew with every run, without the edits of the one before. A transcript that came by an edit where
    // the list had none would rightly survive that, so edits change what the list always carries.
    edits: { kinds: ['tags', 'metadata'] },
  }) satisfies SimulatorOptions;

/** Section `analytics` of the demo's configuration. */
export const demoAnalytics = {
  time_zone: 'Europe/Paris',
  agent_side: { by_direction: { IN: 'out', OUT: 'in' } },
  units: {
    call_duration: 'seconds',
    ivr_end: 'seconds',
    utterance_start: 'seconds',
    utterance_duration: 'seconds',
    word_start: 'seconds',
    word_length: 'seconds',
  },
  fields: { UDF_num_02: { name: 'deal_value', type: 'numeric' } },
} as const;
