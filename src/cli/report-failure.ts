import { CallsyncError } from '../errors.ts';
import { exitCodeOf } from './exit-codes.ts';

/** One sentence and what to do, no stack: a person reads it. With --json the same as an object. */
export const reportFailure = (error: unknown, json: boolean): number => {
  const known = error instanceof CallsyncError;
  const message = known
    ? error.message
    : asSentence(`Unexpected fault: ${error instanceof Error ? error.message : String(error)}`);
  const hint = known ? error.hint : 'Run the command again with --log-level debug, and report it with the log.';
  if (json) {
    process.stdout.write(`${JSON.stringify({ error: { code: known ? error.code : 'UNEXPECTED', message, hint } })}\n`);
  }
  process.stderr.write(`callsync: ${message}${hint === undefined ? '' : ` ${hint}`}\n`);
  if (!known && process.argv.includes('debug')) process.stderr.write(`${error instanceof Error ? error.stack : ''}\n`);
  return exitCodeOf(error);
};

/** The words of a library end as they like; ours go on behind them. */
const asSentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);
