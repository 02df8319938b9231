import type { Command } from 'commander';
import { verifyVerdicts } from '../../pipeline/reconcile/verify-verdicts.ts';
import { type CommonOptions, print, withCommonOptions, withStore } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { withExamples } from '../help.ts';
import { openWarehouses } from '../services/open-warehouses.ts';

export const addVerdicts = (command: Command): void => {
  withExamples(command, ['callsync verdicts verify']);
  withExamples(
    withCommonOptions(command.command('verify')),
    ['callsync verdicts verify', 'callsync verdicts verify --json'],
    'Exit code 5: verdicts were changed.',
  )
    .description('check that no verdict was changed: the chain of digests in the store and its copy in each warehouse')
    .action((options: CommonOptions) =>
      withStore(options, async (store, services) => {
        const checks = await verifyVerdicts(store, await openWarehouses(services, store));
        print(
          options,
          checks,
          checks
            .map(({ warehouse, verdicts: count, intact, broken }) =>
              intact
                ? `${warehouse}: ${count} verdicts, chain intact`
                : `${warehouse}: CHANGED (${broken.length} broken links of ${count})`,
            )
            .join('\n'),
        );
        if (checks.some((check) => !check.intact)) process.exitCode = exitCodes.incomplete;
      }),
    );
};
