/** One check of the doctor, and how all of them run: side by side, each within a time of its own. */
import { CallsyncError } from '../../../lib/errors.ts';
import { exitCodeOf, exitCodes, worstExitCode } from '../../shell/failures.ts';

export type Outcome = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  readonly outcome: Outcome;
  /** One sentence, without secrets and personal data. */
  readonly message: string;
  readonly hint?: string | undefined;
  /** What the command ends with when this failed; 3 where nothing is said. */
  readonly exitCode?: number;
}

export interface Check {
  readonly name: string;
  /** Rejects with what stops it: that is a finding too. */
  run(signal: AbortSignal): Promise<Finding | readonly Finding[]>;
}

export interface CheckedFinding extends Finding {
  readonly check: string;
  readonly ms: number;
}

export const ok = (message: string): Finding => ({ outcome: 'ok', message });
export const warning = (message: string, hint: string): Finding => ({ outcome: 'warning', message, hint });
export const failed = (message: string, hint: string): Finding => ({ outcome: 'failed', message, hint });
/** What does not answer, and may later. */
export const silent = (message: string, hint: string): Finding => ({
  ...failed(message, hint),
  exitCode: exitCodes.unreachable,
});
export const skipped = (message: string): Finding => ({ outcome: 'skipped', message });

/** A check that needs what another one found to be missing. */
export class NotChecked extends Error {}

const findingOf = (error: unknown): Finding => {
  if (error instanceof NotChecked) return skipped(error.message);
  const exitCode = exitCodeOf(error);
  if (error instanceof CallsyncError) return { outcome: 'failed', message: error.message, hint: error.hint, exitCode };
  const message = `Unexpected fault: ${error instanceof Error ? error.message : String(error)}`;
  return { outcome: 'failed', message, exitCode };
};

/** In the order given, whichever ends first. */
export const runChecks = async (
  checks: readonly Check[],
  options: { readonly deadlineMs: number; readonly onDone?: (findings: readonly CheckedFinding[]) => void },
): Promise<CheckedFinding[]> => {
  const all = await Promise.all(
    checks.map(async ({ name, run }) => {
      const started = performance.now();
      const controller = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<Finding>((resolve) => {
        timer = setTimeout(() => {
          controller.abort();
          resolve(
            silent(`No result within ${options.deadlineMs / 1000} s.`, 'Check the network between here and there.'),
          );
        }, options.deadlineMs);
      });
      const found = await Promise.race([run(controller.signal).catch(findingOf), late]);
      clearTimeout(timer);
      const ms = Math.round(performance.now() - started);
      const findings = (Array.isArray(found) ? (found as readonly Finding[]) : [found as Finding]).map((finding) => ({
        check: name,
        ...finding,
        ms,
      }));
      options.onDone?.(findings);
      return findings;
    }),
  );
  return all.flat();
};

/** The exit code of all findings: the worst of those that failed. */
export const exitCodeOfFindings = (findings: readonly Finding[]): number =>
  worstExitCode(
    findings.filter(({ outcome }) => outcome === 'failed').map(({ exitCode = exitCodes.refused }) => exitCode),
  );
