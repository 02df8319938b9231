import {
  type CommonOptions,
  openInbox,
  openStoreService,
  withReceiverServices,
  withServices,
} from '../../app/services.ts';
import { countOf } from '../../lib/count-of.ts';
import type { RequestLimiter } from '../../source/http/limiter.ts';
import { leaf } from '../shell/define.ts';
import { print, renderTable } from '../shell/output.ts';
import { receiverAlone } from './config.ts';
import { type Checks, exitCodeOfFindings, installationChecks, receiverChecks, runChecks } from './doctor/check.ts';
import { sourceChecks, temporalChecks } from './doctor/check-services.ts';
import { webhookChecks } from './doctor/check-webhook.ts';

const deadlineMs = 40_000;
const marks = { ok: 'ok', warning: 'WARNING', failed: 'FAILED', skipped: '-' } as const;

const render = (findings: Awaited<ReturnType<typeof runChecks>>): string =>
  renderTable(
    findings.map(({ check, outcome, message, hint = '' }) => ({
      result: marks[outcome],
      check,
      finding: `${message} ${hint}`,
    })),
  );

/** Prints the findings and sets the exit code. @param valid text for the configuration, which is valid */
const examine = async (options: CommonOptions, valid: string, checks: Checks): Promise<void> => {
  const config = { check: 'config', outcome: 'ok', message: valid, ms: 0 } as const;
  const findings = [config, ...(await runChecks(checks, { deadlineMs }))];
  const count = (outcome: string): number => findings.filter((one) => one.outcome === outcome).length;
  const [bad, odd] = [count('failed'), count('warning')];
  const verdict = bad + odd === 0 ? 'All is well' : `${bad} failed, ${countOf(odd, 'warning')}`;
  print(options, { healthy: bad === 0, findings }, `${render(findings)}\n\n${verdict}.`);
  process.exitCode = exitCodeOfFindings(findings);
};

/** Checks everything. */
export const runDoctor = (options: CommonOptions & { readonly limiter?: RequestLimiter }) =>
  withServices(options, async (services) => {
    const store = openStoreService(services);
    store.catch(() => undefined);
    await examine(options, 'Valid.', {
      ...sourceChecks(services, options.limiter),
      ...webhookChecks(services, store),
      ...installationChecks(services, store),
      ...temporalChecks(services),
    });
  });

const runReceiverDoctor = (options: CommonOptions) =>
  withReceiverServices(options, async (services) => {
    const store = openInbox(services);
    store.catch(() => undefined);
    const checks = { ...webhookChecks(services, store), ...receiverChecks(services, store) };
    await examine(options, 'Valid for a receiver. The checks are those of callsync serve alone.', checks);
  });

export default leaf({
  options: { receiver: receiverAlone },
  examples: [
    'callsync doctor',
    'callsync doctor --receiver --config receiver.yaml',
    `callsync doctor --json | jq '.findings[] | select(.outcome != "ok")'`,
  ],
  remarks: `doctor starts embedded servers, sends one sample delivery to webhook.public_url and deletes it. doctor
changes nothing else. Exit code 0: nothing failed (warnings are allowed). Exit code 4: every failed check got no answer. Exit codes
2, 3 and 6: correct, allow or change something first.`,
  run: (given) => (given.receiver === true ? runReceiverDoctor(given) : runDoctor(given)),
});
