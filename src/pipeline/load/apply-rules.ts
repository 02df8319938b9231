/** Applies privacy rules to data that was stored before them, or under looser rules. */
import type { Observation } from '../../../schemas/observation.ts';
import type { Transaction } from '../../postgres/database.ts';
import { resanitizeInbox, sealQuarantine } from '../../store/delivery/quarantine.ts';
import { resanitizeInLedger } from '../../store/ledger/ledger.ts';
import { listUnderOthers } from '../../store/ledger/read-ledger.ts';
import { markPending } from '../../store/loads/loads.ts';
import { listSubjects } from '../../store/persons/calls.ts';
import { listTextSubjects } from '../../store/persons/texts.ts';
import { withdrawProof } from '../../store/windows/verdicts.ts';
import type { IngestDeps } from '../deps.ts';

/**
 * Applies other rules to calls in one transaction. Changed calls are pending in every warehouse, and their days lose
 * their proof.
 * @returns how many changed.
 */
export const rewriteCalls = (
  { store, processedField }: Pick<IngestDeps, 'processedField' | 'store'>,
  choose: (tx: Transaction) => Promise<readonly string[]>,
  rules: Omit<Parameters<typeof resanitizeInLedger>[2], 'processedField'>,
): Promise<number> =>
  withdrawProof(store, async (tx, withdraw) => {
    const rows = await resanitizeInLedger(tx, await choose(tx), { ...rules, processedField });
    const changed = rows.map(({ callId }) => callId);
    await withdraw(changed);
    await markPending(tx, changed, 'backlog');
    return changed.length;
  });

/** Calls of one transaction. */
const callsAtOnce = 100;

/**
 * Rules only remove data, so relaxed rules change nothing here. Calls under the current rules are skipped, so an
 * interrupted run continues where it ended. Workers under the same rules may run in parallel.
 */
export const applyRules = async (
  deps: IngestDeps,
  door: {
    readonly version: string;
    readonly sanitize: (observation: Observation) => Observation;
    readonly admit: (body: Buffer) => { readonly body: Buffer; readonly bodyHash: Buffer };
  },
  onProgress: (calls: number) => void = () => undefined,
) => {
  const version = deps.rulesVersion ?? door.version;
  const { index } = deps.store;
  let calls = 0;
  let changed = 0;
  for await (const ids of listUnderOthers(deps.store, version, callsAtOnce)) {
    changed += await rewriteCalls(deps, async () => ids, { sanitize: door.sanitize, version, index });
    calls += ids.length;
    onProgress(calls);
  }
  let indexed = 0;
  await listSubjects(deps.store, {
    onPage: (page) => {
      indexed += page.length;
      onProgress(calls + indexed);
    },
  });
  // After sealing, their subjects cannot be listed.
  await listTextSubjects(deps.store);
  const inbox = await resanitizeInbox(deps.store, door.admit, door.version);
  return {
    /** Calls that had other rules, or none, and the changed ones among them, which are pending in every warehouse. */
    calls,
    changed,
    /** Bodies of deliveries, and quarantined records, that changed. */
    inbox,
    quarantine: await sealQuarantine(deps.store, (body) => door.admit(body).body),
    /** Calls that the index of subjects did not have. */
    indexed,
  };
};
