import { CallsyncError } from '../../lib/errors.ts';

/** Exit codes, listed in `callsync --help`. */
export const exitCodes = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  refused: 3,
  unreachable: 4,
  incomplete: 5,
} as const;

/** What the user wrote is wrong, in the configuration or on the command line. */
const written = /^(CONFIG|USAGE|DATABASE_URL|PRESET|AXIS|SECRET|WEBHOOK_SECRET|SIMULATOR_DIALECT|IMPORT_FILE)/;

/** 2: the configuration or call is wrong; 3: refused for good; 4: may work later; 1: a fault of ours. */
export const exitCodeOf = (error: unknown): number => {
  if (!(error instanceof CallsyncError)) return exitCodes.unexpected;
  if (error.kind === 'transient') return exitCodes.unreachable;
  return written.test(error.code) ? exitCodes.usage : exitCodes.refused;
};

/** Of several failures: what somebody must change comes before what may pass by itself. */
export const worstExitCode = (codes: readonly number[]): number =>
  [exitCodes.usage, exitCodes.refused, exitCodes.unexpected, exitCodes.unreachable].find((code) =>
    codes.includes(code),
  ) ?? exitCodes.ok;

export const exitCodeHelp = `Exit codes: 0 done, 1 unexpected fault, 2 wrong configuration or arguments, 3 refused (credentials, permissions),
4 something does not answer (try again), 5 finished but not complete; 129, 130, 143 ended by a signal before it had finished.`;

/** The code of docs/troubleshooting.md, one sentence and what to do, no stack: a person reads it. With --json the same as an object. */
export const reportFailure = (error: unknown, json: boolean): number => {
  const known = error instanceof CallsyncError;
  const message = known
    ? error.message
    : asSentence(`Unexpected fault: ${error instanceof Error ? error.message : String(error)}`);
  const hint = known ? error.hint : 'Run the command again with --log-level debug, and report it with the log.';
  const code = known ? error.code : 'UNEXPECTED';
  if (json) {
    process.stdout.write(`${JSON.stringify({ error: { code, message, hint } })}\n`);
  }
  process.stderr.write(`callsync: ${code}: ${message}${hint === undefined ? '' : ` ${hint}`}\n`);
  if (!known && process.argv.includes('debug')) process.stderr.write(`${error instanceof Error ? error.stack : ''}\n`);
  return exitCodeOf(error);
};

/** The words of a library end as they like; ours go on behind them. */
const asSentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
