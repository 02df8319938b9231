/** The calls of the demo, and what its marts know of them; the results of docs/reference/cookbook.md are of the same calls. */
import type { SimulatorOptions } from '../../../schemas/simulator.ts';

/**
 * @param range how many calls the service has when the demo begins, and until when (ISO 8601)
 */
export const demoCalls = (range: { readonly count: number; readonly to: string }) =>
  ({
    seed: 1,
    calls: { ...range, lateMaxDays: 0.5, overlapShare: 0.05 },
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
