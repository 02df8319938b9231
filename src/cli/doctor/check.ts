/** One check of the doctor, and how all of them run: side by side, each within a time of its own. */
import { CallsyncError } from '../../errors.ts';

export type Outcome = 'ok' | 'warning' | 'failed' | 'skipped';

export interface Finding {
  readonly outcome: Outcome;
  /** One sentence, without secrets and personal data. */
  readonly message: string;
  readonly hint?: string | undefined;
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
export const skipped = (message: string): Finding => ({ outcome: 'skipped', message });

/** A check that needs what another one found to be missing. */
export class NotChecked extends Error {}

const findingOf = (error: unknown): Finding => {
  if (error instanceof NotChecked) return skipped(error.message);
  if (error instanceof CallsyncError) return { outcome: 'failed', message: error.message, hint: error.hint };
  return { outcome: 'failed', message: `Unexpected fault: ${error instanceof Error ? error.message : String(error)}` };
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
            failed(`No result within ${options.deadlineMs / 1000} s.`, 'Check the network between here and there.'),
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
