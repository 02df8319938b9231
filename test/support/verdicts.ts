/** Verdicts as comparisons leave them in a store. */
import type { Range } from '../../schemas/orchestration.ts';
import { flattenVersion } from '../../src/calls/flatten.ts';
import type { Store } from '../../src/store/store.ts';
import { addVerdict } from '../../src/store/windows/verdicts.ts';

/** Adds one of warehouse `main` over a range in microseconds. @param more by what it differs from one that found nothing wrong */
export const judge = async (
  store: Store,
  { from: window_from, to: window_to }: Range,
  more: Partial<Parameters<typeof addVerdict>[1]> = {},
) =>
  await addVerdict(store, {
    ...{ warehouse: 'main', axis: 'timestamp', window_from, window_to, outcome: 'proven', confirmed: 'total' },
    ...{ level: 'fields', warehouse_level: 'guards', calls_listed: 1, calls_found: 1, missing: 0, different: 0 },
    ...{ healed: 0, deleted: 0, unexpected: 0, excluded: 0, revisions_digest: '', compared_at: window_to },
    ...{ ledger_epoch: await store.epoch(), flatten_version: flattenVersion, compared_by: 'test' },
    ...more,
  });
