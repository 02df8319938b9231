import { warehousesToAsk } from '../../app/activity-deps.ts';
import { withStore } from '../../app/services.ts';
import { countOf } from '../../lib/count-of.ts';
import { verifyVerdicts } from '../../pipeline/reconcile/verify-verdicts.ts';
import { verifyReceipts } from '../../store/persons/receipts.ts';
import type { ChainCheck } from '../../store/windows/chain.ts';
import { leaf } from '../shell/define.ts';
import { lines } from '../shell/output.ts';

type Check = ChainCheck & Partial<Awaited<ReturnType<typeof verifyVerdicts>>[number]>;

/** @param entry of the chain: verdict or receipt */
const describeCheck = (name: string, entry: string, { verdicts: count, broken, cut, copy }: Check): string => {
  const differing = copy?.differing.length ?? 0;
  const findings = lines(
    broken.length > 0 &&
      `${broken.length} of ${countOf(count, entry)} altered or signed with an unknown key (${broken.slice(0, 10).join(', ')})`,
    cut.map((head) => `${entry} ${head.verdict_id} of epoch ${head.ledger_epoch} is gone: cut off, or restored`),
    differing > 0 && `${differing} differ from the warehouse's copy`,
  ).replaceAll('\n', '; ');
  const without = copy === null ? ', warehouse not reached: its copy was not compared' : '';
  return `${name}: ${findings === '' ? `${countOf(count, entry)}, chain intact` : `CHANGED (${findings})`}${without}`;
};

export default leaf({
  examples: ['callsync verdicts', 'callsync verdicts --json'],
  remarks: 'Exit code 5: verdicts were changed. Needs the key of the proof chain (store.proof_key_file).',
  within: withStore,
  run: async (_options, store, services) => {
    const checks = await verifyVerdicts(store, warehousesToAsk(services, store));
    const chain = await verifyReceipts(store);
    const receipts = { ...chain, intact: chain.broken.length + chain.cut.length === 0 };
    const isChanged = [...checks, receipts].some(({ intact }) => !intact);
    const of = checks.map((check) => describeCheck(check.warehouse, 'verdict', check));
    const cut = [...checks, chain].flatMap((one) => one.cut);
    const anew = cut.length > 0 && `If you made the store anew on purpose, remove ${store.erasures.proof.headsFile}.`;
    const text = lines(of, describeCheck('erasures', 'receipt', receipts), anew);
    return [[...checks, receipts], text, isChanged && 'incomplete'];
  },
});
