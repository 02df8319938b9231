import { type Command, InvalidArgumentError } from 'commander';
import type { RequestLimiter } from '../../source/http/limiter.ts';
import { openStoreService } from '../parts/open-store.ts';
import { type CommonOptions, print, withCommonOptions, withServices } from '../shell/command.ts';
import { type CheckedFinding, exitCodeOfFindings, runChecks } from './doctor/check.ts';
import { analyticsCheck } from './doctor/check-analytics.ts';
import { operationsCheck } from './doctor/check-operations.ts';
import { privacyChecks } from './doctor/check-privacy.ts';
import { sourceChecks } from './doctor/check-source.ts';
import { diskCheck, healthCheck, storeCheck, warehouseChecks } from './doctor/check-store.ts';
import { provideTemporalCli, temporalChecks } from './doctor/check-temporal.ts';
import { webhookChecks } from './doctor/check-webhook.ts';

const marks = { ok: 'ok      ', warning: 'WARNING ', failed: 'FAILED  ', skipped: '-       ' } as const;

const render = (findings: readonly CheckedFinding[]): string => {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings
    .map(
      ({ check, outcome, message, hint }) =>
        `${marks[outcome]}${check.padEnd(width)}  ${message}${hint === undefined ? '' : ` ${hint}`}`,
    )
    .join('\n');
};

/** Checks everything, prints the findings and sets the exit code. `deadline`: seconds for one check. */
export const runDoctor = (
  options: CommonOptions & { readonly deadline: number; readonly fix?: boolean; readonly limiter?: RequestLimiter },
): Promise<void> =>
  withServices(options, async (services) => {
    // What fails here is found again by the checks, beside everything else.
    if (options.fix === true) await provideTemporalCli(services).catch(() => undefined);
    const store = openStoreService(services);
    store.catch(() => undefined);
    const findings = await runChecks(
      [
        ...sourceChecks(services, options.limiter),
        ...webhookChecks(services, store),
        storeCheck(store, services.config),
        healthCheck(services, store),
        ...privacyChecks(services, store),
        ...warehouseChecks(services, store),
        ...temporalChecks(services, options.fix === true),
        operationsCheck(services),
        diskCheck(services),
        analyticsCheck(services),
      ],
      { deadlineMs: options.deadline * 1000 },
    );
    const count = (outcome: string): number => findings.filter((finding) => finding.outcome === outcome).length;
    const all = [{ check: 'config', outcome: 'ok' as const, message: 'Valid.', ms: 0 }, ...findings];
    const [bad, odd] = [count('failed'), count('warning')];
    print(
      options,
      { healthy: bad === 0, findings: all },
      `${render(all)}\n\n${bad + odd === 0 ? 'All is well' : `${bad} failed, ${odd} to look at`}.`,
    );
    process.exitCode = exitCodeOfFindings(findings);
  });

const seconds = (text: string): number => {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError('Use a number of seconds.');
  return value;
};

export const addDoctor = (command: Command): void => {
  withCommonOptions(command)
    .option('--fix', 'repair what can be repaired: fetch the Temporal server, create missing schedules')
    .option('--deadline <seconds>', 'longest time for one check', seconds, 40)
    .addHelpText(
      'after',
      `
Examples:
  callsync doctor
  callsync doctor --fix
  callsync doctor --json | jq '.findings[] | select(.outcome != "ok")'

It starts embedded servers that do not run, sends one sample delivery to webhook.public_url (which it removes again), and
changes nothing else; with --fix it also repairs what needs no decision of yours. Exit code 0: nothing failed (warnings
are allowed); 4: all that failed did not answer; 2 and 3: something is wrong in the configuration, or refused.`,
    )
    .action(runDoctor);
};
