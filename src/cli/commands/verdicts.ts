import type { Command } from 'commander';
import { type VerdictCheck, verifyVerdicts } from '../../pipeline/reconcile/verify-verdicts.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { withExamples } from '../help.ts';
import { openProof } from '../services/open-proof.ts';
import { openWarehouses } from '../services/open-warehouses.ts';

const describeCheck = ({ warehouse, verdicts, intact, broken, cut, copy }: VerdictCheck): string => {
  const without = copy === null ? ', warehouse not reached: its copy was not compared' : '';
  if (intact) return `${warehouse}: ${verdicts} verdicts, chain intact${without}`;
  const findings = [
    ...(broken.length > 0 ? [`${broken.length} of ${verdicts} verdicts altered or signed with an unknown key`] : []),
    ...cut.map(
      (head) => `verdict ${head.verdict_id} of epoch ${head.ledger_epoch} is gone: the end was cut off or restored`,
    ),
    ...(copy !== null && copy.differing.length > 0
      ? [`${copy.differing.length} differ from the warehouse's copy`]
      : []),
  ];
  return `${warehouse}: CHANGED (${findings.join('; ')})${without}`;
};

export const addVerdicts = (command: Command): void => {
  withExamples(command, ['callsync verdicts verify']);
  withExamples(
    withCommonOptions(command.command('verify')),
    ['callsync verdicts verify', 'callsync verdicts verify --json'],
    'Exit code 5: verdicts were changed. Needs the key of the proof chain (store.proof_key_file).',
  )
    .description(
      'check that no verdict was changed: the keyed chain in the store, its head outside, its copy in each warehouse',
    )
    .action((options: CommonOptions) =>
      withStore(options, async (store, services) => {
        const checks = await verifyVerdicts(store, openProof(services.config), await openWarehouses(services, store));
        print(options, checks, checks.map(describeCheck).join('\n'));
        if (checks.some((check) => !check.intact)) process.exitCode = exitCodes.incomplete;
      }),
    );
};
