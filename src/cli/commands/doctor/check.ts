/** One check of the doctor, and the run of all checks in parallel, each with its own time-out. */
import { CallsyncError } from '../../../lib/errors.ts';
import { withinTime } from '../../../lib/timing.ts';
import { exitOf, exits, worstOf } from '../../shell/exit.ts';

export interface Finding {
  readonly outcome: 'ok' | 'warning' | 'failed' | 'skipped';
  /** One sentence, without secrets and personal data. */
  readonly message: string;
  readonly hint?: string | undefined;
  /** Exit code of the command if this check failed; 6 by default. */
  readonly exitCode?: number;
}

/** By name, in the order of the output. A rejection is a finding too. */
export type Checks = Readonly<Record<string, (signal: AbortSignal) => Promise<Finding | readonly Finding[]>>>;

export const ok = (message: string): Finding => ({ outcome: 'ok', message });
export const warning = (message: string, hint: string): Finding => ({ outcome: 'warning', message, hint });
export const failed = (message: string, hint: string): Finding => ({ outcome: 'failed', message, hint });
/** A dependency that does not answer now and may answer later. */
export const silent = (message: string, hint: string): Finding => ({
  ...failed(message, hint),
  exitCode: exits.unanswered[0],
});
export const skipped = (message: string): Finding => ({ outcome: 'skipped', message });

/** A check whose dependency another check found missing. */
export class NotChecked extends Error {}

export const findingOf = (error: unknown): Finding => {
  if (error instanceof NotChecked) return skipped(error.message);
  const [exitCode] = exits[exitOf(error)];
  if (error instanceof CallsyncError) return { outcome: 'failed', message: error.message, hint: error.hint, exitCode };
  const message = `Unexpected fault: ${error instanceof Error ? error.message : String(error)}`;
  return { outcome: 'failed', message, exitCode };
};

/** Results in the order of the checks. */
export const runChecks = async (checks: Checks, { deadlineMs }: { readonly deadlineMs: number }) => {
  const all = await Promise.all(
    Object.entries(checks).map(async ([name, run]) => {
      const started = performance.now();
      const controller = new AbortController();
      const checked = run(controller.signal).catch(findingOf);
      const found = await withinTime(checked, deadlineMs, () => controller.abort()).catch(() =>
        silent(`No result within ${deadlineMs / 1000} s.`, 'Check DNS, proxy and firewall of this machine.'),
      );
      const ms = Math.round(performance.now() - started);
      return [found].flat().map((finding) => ({ check: name, ...(finding as Finding), ms }));
    }),
  );
  return all.flat();
};

/** Exit code of all findings: that of the worst failed one. */
export const exitCodeOfFindings = (findings: readonly Finding[]): number =>
  worstOf(findings.flatMap(({ outcome, exitCode = exits.blocked[0] }) => (outcome === 'failed' ? [exitCode] : [])));
