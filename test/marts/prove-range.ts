/** A verdict that warehouse `main` is complete, as reconciling leaves it in the store, with its row loaded. */
import type { Range } from '../../schemas/orchestration.ts';
import { flattenVersion } from '../../src/calls/flatten.ts';
import { issueEpoch } from '../../src/store/loads/warehouses.ts';
import { openStore } from '../../src/store/store.ts';
import { addVerdict, markVerdictsLoaded } from '../../src/store/windows/verdicts.ts';
import { createErasures } from '../support/erasures.ts';

export const proveRange = async (url: string, { from, to }: Range): Promise<void> => {
  const erasures = createErasures();
  const store = await openStore({ url, erasures: erasures.open });
  const { verdict_id } = await addVerdict(store, {
    ...{ warehouse: 'main', axis: 'timestamp', window_from: from, window_to: to },
    ...{ level: 'fields', warehouse_level: 'guards', confirmed: 'total', outcome: 'proven' },
    ...{ calls_listed: 1, calls_found: 1, missing: 0, different: 0, healed: 0, deleted: 0, unexpected: 0, excluded: 0 },
    ledger_epoch: await issueEpoch(store, 'test', 0),
    ...{ flatten_version: flattenVersion, revisions_digest: '', compared_at: to, compared_by: 'test' },
  });
  await markVerdictsLoaded(store, [verdict_id]);
  await store.close();
  erasures.remove();
};
