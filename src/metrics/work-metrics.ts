/** Calls that were folded and loads that were committed by this process. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { WorkObserver } from '../pipeline/deps.ts';

/** Registers the counters and returns the observer that counts into them. Call it once for a registry. */
export const createWorkMetrics = (registry: Registry): WorkObserver => {
  const registers = [registry];
  const folded = new Counter({
    name: 'callsync_calls_folded_total',
    help: 'Observations of calls by what brought them and what folding made of them: changed, unchanged, quarantined.',
    labelNames: ['origin', 'outcome'],
    registers,
  });
  // The rule that notices silent webhooks compares these two from the first scrape on.
  for (const origin of ['sync', 'inbox']) folded.inc({ origin, outcome: 'changed' }, 0);
  const loads = new Counter({
    name: 'callsync_loads_total',
    help: 'Loads into a warehouse, by outcome.',
    labelNames: ['warehouse', 'outcome'],
    registers,
  });
  const loadedCalls = new Counter({
    name: 'callsync_load_calls_total',
    help: 'Calls in committed loads.',
    labelNames: ['warehouse'],
    registers,
  });
  const loadSeconds = new Histogram({
    name: 'callsync_load_seconds',
    help: 'Time from the start of a load to its recorded commit.',
    labelNames: ['warehouse'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300],
    registers,
  });
  return {
    folded: (batch) => {
      const origin = batch.origin.split(':', 1)[0] ?? '';
      folded.inc({ origin, outcome: 'changed' }, batch.changed);
      folded.inc({ origin, outcome: 'unchanged' }, batch.unchanged);
      folded.inc({ origin, outcome: 'quarantined' }, batch.rejected);
    },
    loaded: ({ warehouse, outcome, calls, seconds }) => {
      loads.inc({ warehouse, outcome });
      if (outcome === 'failed') return;
      loadedCalls.inc({ warehouse }, calls);
      loadSeconds.observe({ warehouse }, seconds);
    },
  };
};
