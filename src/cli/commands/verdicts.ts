import type { Command } from 'commander';
import { type VerdictCheck, verifyVerdicts } from '../../pipeline/reconcile/verify-verdicts.ts';
import { verifyReceipts } from '../../store/persons/receipts.ts';
import type { ChainCheck } from '../../store/windows/chain.ts';
import { openProof } from '../parts/open-proof.ts';
import { openWarehouses } from '../parts/open-warehouses.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../shell/command.ts';
import { exitCodes } from '../shell/failures.ts';
import { withExamples } from '../shell/output.ts';

const findingsOf = ({ verdicts, broken, cut }: ChainCheck, entry: string): string[] => [
  ...(broken.length > 0 ? [`${broken.length} of ${verdicts} ${entry}s altered or signed with an unknown key`] : []),
  ...cut.map(
    (head) => `${entry} ${head.verdict_id} of epoch ${head.ledger_epoch} is gone: the end was cut off or restored`,
  ),
];

const describeCheck = (check: VerdictCheck): string => {
  const { warehouse, verdicts, intact, copy } = check;
  const without = copy === null ? ', warehouse not reached: its copy was not compared' : '';
  if (intact) return `${warehouse}: ${verdicts} verdicts, chain intact${without}`;
  const findings = [
    ...findingsOf(check, 'verdict'),
    ...(copy !== null && copy.differing.length > 0
      ? [`${copy.differing.length} differ from the warehouse's copy`]
      : []),
  ];
  return `${warehouse}: CHANGED (${findings.join('; ')})${without}`;
};

const describeReceipts = (check: ChainCheck & { readonly intact: boolean }): string =>
  check.intact
    ? `erasures: ${check.verdicts} receipts, chain intact`
    : `erasures: CHANGED (${findingsOf(check, 'receipt').join('; ')})`;

export const addVerdicts = (command: Command): void => {
  withExamples(command, ['callsync verdicts verify']);
  withExamples(
    withCommonOptions(command.command('verify')),
    ['callsync verdicts verify', 'callsync verdicts verify --json'],
    'Exit code 5: verdicts were changed. Needs the key of the proof chain (store.proof_key_file).',
  )
    .description(
      'check that no verdict and no receipt of an erasure was changed: the keyed chain in the store, its head outside, its copy in each warehouse',
    )
    .action((options: CommonOptions) =>
      withStore(options, async (store, services) => {
        const proof = openProof(services.config);
        const checks = await verifyVerdicts(store, proof, await openWarehouses(services, store));
        const chain = await verifyReceipts(store, proof);
        const receipts = { ...chain, intact: chain.broken.length + chain.cut.length === 0 };
        const lines = [...checks.map(describeCheck), describeReceipts(receipts)];
        print(options, [...checks, receipts], lines.join('\n'));
        if ([...checks, receipts].some(({ intact }) => !intact)) process.exitCode = exitCodes.incomplete;
      }),
    );
};
