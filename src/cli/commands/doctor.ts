import { countOf } from '../../lib/count-of.ts';
import type { RequestLimiter } from '../../source/http/limiter.ts';
import { openStoreService, withServices } from '../parts/services.ts';
import { type CommonOptions, flag, leaf } from '../shell/define.ts';
import { print } from '../shell/output.ts';
import { exitCodeOfFindings, installationChecks, runChecks } from './doctor/check.ts';
import { provideTemporalCli, sourceChecks, temporalChecks } from './doctor/check-services.ts';
import { webhookChecks } from './doctor/check-webhook.ts';

const deadlineMs = 40_000;
const marks = { ok: 'ok      ', warning: 'WARNING ', failed: 'FAILED  ', skipped: '-       ' } as const;

const render = (findings: Awaited<ReturnType<typeof runChecks>>): string => {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const draw = ({ check, outcome, message, hint = '' }: (typeof findings)[number]): string =>
    `${marks[outcome]}${check.padEnd(width)}  ${message} ${hint}`.trimEnd();
  return findings.map(draw).join('\n');
};

/** Checks everything, prints the findings and sets the exit code. */
export const runDoctor = (options: CommonOptions & { readonly fix?: boolean; readonly limiter?: RequestLimiter }) =>
  withServices(options, async (services) => {
    const fix = options.fix === true;
    // The checks find this failure again, beside everything else.
    if (fix) await provideTemporalCli(services).catch(() => undefined);
    const store = openStoreService(services);
    store.catch(() => undefined);
    const checks = {
      ...sourceChecks(services, options.limiter),
      ...webhookChecks(services, store),
      ...installationChecks(services, store),
      ...temporalChecks(services, fix),
    };
    const valid = { check: 'config', outcome: 'ok', message: 'Valid.', ms: 0 } as const;
    const findings = [valid, ...(await runChecks(checks, { deadlineMs }))];
    const count = (outcome: string): number => findings.filter((one) => one.outcome === outcome).length;
    const [bad, odd] = [count('failed'), count('warning')];
    const verdict = bad + odd === 0 ? 'All is well' : `${bad} failed, ${countOf(odd, 'warning')}`;
    print(options, { healthy: bad === 0, findings }, `${render(findings)}\n\n${verdict}.`);
    process.exitCode = exitCodeOfFindings(findings);
  });

const options = { fix: flag('--fix', 'make safe repairs: fetch the Temporal server, create missing schedules') };

export default leaf({
  options,
  examples: [
    'callsync doctor',
    'callsync doctor --fix',
    `callsync doctor --json | jq '.findings[] | select(.outcome != "ok")'`,
  ],
  remarks: `doctor starts embedded servers, sends one sample delivery to webhook.public_url and deletes it. Without --fix, doctor
changes nothing else. Exit code 0: nothing failed (warnings are allowed). Exit code 4: every failed check got no answer. Exit codes
2, 3 and 6: correct, allow or change something first.`,
  run: runDoctor,
});
