import { openWarehouses } from '../../app/activity-deps.ts';
import { withStore } from '../../app/services.ts';
import { verifyVerdicts } from '../../pipeline/reconcile/verify-verdicts.ts';
import { verifyReceipts } from '../../store/persons/receipts.ts';
import type { ChainCheck } from '../../store/windows/chain.ts';
import { group, leaf } from '../shell/define.ts';

const findingsOf = ({ verdicts, broken, cut }: ChainCheck, entry: string): string[] => [
  ...(broken.length > 0 ? [`${broken.length} of ${verdicts} ${entry}s altered or signed with an unknown key`] : []),
  ...cut.map(
    (head) => `${entry} ${head.verdict_id} of epoch ${head.ledger_epoch} is gone: the end was cut off or restored`,
  ),
];

const describeCheck = (check: Awaited<ReturnType<typeof verifyVerdicts>>[number]): string => {
  const { warehouse, verdicts, intact, copy } = check;
  const without = copy === null ? ', warehouse not reached: its copy was not compared' : '';
  if (intact) return `${warehouse}: ${verdicts} verdicts, chain intact${without}`;
  const differing = copy?.differing.length ?? 0;
  const findings = findingsOf(check, 'verdict');
  if (differing > 0) findings.push(`${differing} differ from the warehouse's copy`);
  return `${warehouse}: CHANGED (${findings.join('; ')})${without}`;
};

const describeReceipts = (check: ChainCheck & { readonly intact: boolean }): string =>
  check.intact
    ? `erasures: ${check.verdicts} receipts, chain intact`
    : `erasures: CHANGED (${findingsOf(check, 'receipt').join('; ')})`;

export default group({
  commands: {
    verify: leaf({
      does: 'check that nobody changed a verdict or a receipt, in the store or in a warehouse',
      examples: ['callsync verdicts verify', 'callsync verdicts verify --json'],
      remarks: 'Exit code 5: verdicts were changed. Needs the key of the proof chain (store.proof_key_file).',
      within: withStore,
      run: async (_options, store, services) => {
        const checks = await verifyVerdicts(store, await openWarehouses(services, store));
        const chain = await verifyReceipts(store);
        const receipts = { ...chain, intact: chain.broken.length + chain.cut.length === 0 };
        const isChanged = [...checks, receipts].some(({ intact }) => !intact);
        const text = [...checks.map(describeCheck), describeReceipts(receipts)].join('\n');
        return [[...checks, receipts], text, isChanged && 'incomplete'];
      },
    }),
  },
});
