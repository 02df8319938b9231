/** Results on standard output, and the exit code of a command. This file also renders times and tables. */

import { once } from 'node:events';
import { type ErrorCode, errorCodes } from '../../lib/error-codes.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { say } from '../../lib/say.ts';
import { iso } from '../../lib/timestamps.ts';

/** If the reader closes the pipe (`| head`), output stops but the command's work continues. */
const readerGone = new Set(['EPIPE', 'ECONNRESET', 'EIO']);

/** A closed pipe is no fault of the command. */
export const allowReaderToLeave = (): void => {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (readerGone.has(error.code ?? '')) return;
      process.stderr.write(`The output cannot be written (${error.code ?? error.message}).\n`);
      endWith('blocked');
      process.exit(process.exitCode ?? 0);
    });
};

/**
 * Resolves when readers have all output, or have left. A pipe takes 64 KB; the rest waits in the process, and an exit
 * would lose it.
 */
export const endOutput = async (): Promise<void> => {
  await Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise<void>((resolve) => stream.write('', () => resolve()))),
  );
};

/** Prints a result: one JSON line with --json, else the text. */
export const print = (options: { readonly json?: boolean }, result: unknown, text: string): void => {
  process.stdout.write(options.json === true ? `${JSON.stringify(result)}\n` : `${text}\n`);
};

/** The lines of a text, without those that do not apply. */
export const lines = (...all: readonly (string | readonly string[] | false | null | undefined)[]): string =>
  all.flat().filter(Boolean).join('\n');

/** Rows as an aligned text table; instants in ISO 8601, objects as JSON. */
export const renderTable = (rows: readonly object[]): string => {
  if (rows.length === 0) return '  (no rows)';
  const names = Object.keys(rows[0] as object);
  const cells = [names, ...rows.map((row) => names.map((name) => showValue(row[name as keyof typeof row])))];
  // A spread would fail: a function takes about 110,000 arguments.
  const widths = names.map((_, index) => cells.reduce((most, row) => Math.max(most, (row[index] as string).length), 0));
  const align = (row: readonly string[]) => row.map((cell, index) => cell.padEnd(widths[index] as number)).join('  ');
  return cells.map((row) => `  ${align(row).trimEnd()}`).join('\n');
};

const showValue = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString();
  // Line ends and other control characters of a transcript do not reach the terminal.
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
  return text.replace(/\p{Cc}/gu, ' ');
};

/** Members that are microseconds since the epoch wherever they are numbers. */
const times: ReadonlySet<string> = new Set(['at', 'from', 'to', 'since']);

/** Output of --json, with its times as text. @param value that JSON can hold. */
export const tellTimes = (value: object): unknown =>
  JSON.parse(JSON.stringify(value), (name, inner: unknown) =>
    typeof inner === 'number' && times.has(name) ? iso(inner) : inner,
  );

// How commands end: exit codes, the error codes that lead to each, and signals.

/** The exit codes with their meaning; `callsync --help` and docs/reference/exit-codes.md print them. */
export const exits = {
  done: [0, 'Done.'],
  unexpected: [1, 'Unexpected fault: report it.'],
  usage: [2, 'Wrong configuration, argument or input: correct it.'],
  denied: [3, 'Access denied: check credentials, keys and rights.'],
  unanswered: [4, 'A service, server or worker does not answer or is overloaded: run the command again.'],
  incomplete: [
    5,
    'The command ended and everything answered, but the result is incomplete or a check failed: read the output.',
  ],
  blocked: [6, 'Something on this machine or in an installation must change first: see the message.'],
} as const;

export type Exit = keyof typeof exits;

/** The next step of an error without a hint. */
export const nextStep = (code: ErrorCode | 'UNEXPECTED'): string =>
  code.startsWith('CONFIG')
    ? 'Correct the file, then run callsync config check.'
    : code.startsWith('USAGE')
      ? 'Run the same command with --help.'
      : 'Run callsync doctor.';

export const exitOf = (error: unknown): Exit => {
  if (!(error instanceof CallsyncError)) return 'unexpected';
  const exit = errorCodes.get(error.code) ?? 'byKind';
  return exit === 'byKind' ? (error.kind === 'transient' ? 'unanswered' : 'blocked') : exit;
};

/** Sets the exit code of the process. */
export const endWith = (exit: Exit): void => {
  process.exitCode = exits[exit][0];
};

/** Order of exit codes: a fault that needs a change comes before a fault that may end by itself. */
export const worstOf = (codes: readonly number[]): number =>
  (['usage', 'denied', 'blocked', 'unexpected', 'unanswered'] as const)
    .map((exit) => exits[exit][0])
    .find((code) => codes.includes(code)) ?? exits.done[0];

/** The table of exit codes, a line each. */
export const renderExits = (line: (code: string, text: string) => string): string =>
  [
    ...Object.values(exits).map(([code, text]) => line(String(code), text)),
    line('129, 130, 143', 'A signal ended the command before it had finished.'),
  ].join('\n');

/** Code and message, and the next step on a line of its own; no stack. With --json, the same text as an object. */
export const reportFailure = (error: unknown, json: boolean): void => {
  const { code, message, hint = nextStep(code) } = error instanceof CallsyncError ? error : describeUnexpected(error);
  if (json) process.stdout.write(`${JSON.stringify({ error: { code, message, hint } })}\n`);
  process.stderr.write(`callsync: ${code}: ${message}\n  ${hint}\n`);
  if (code === 'UNEXPECTED' && process.argv.includes('debug')) say((error instanceof Error && error.stack) || '');
  endWith(exitOf(error));
};

export const describeUnexpected = (error: unknown) => {
  const text = `Unexpected fault: ${error instanceof Error ? error.message : String(error)}`;
  const hint = 'Run the command again with --log-level debug, and report it with the log.';
  // A message of a library may lack its full stop; callsync's own sentences follow it.
  return { code: 'UNEXPECTED' as const, message: /[.!?…]$/.test(text) ? text : `${text}.`, hint };
};

// Effects of Ctrl-C, SIGTERM and the loss of the terminal.

const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** The effect of the next signal, if a command has something to finish; `exit` ends the process as by that signal. */
let atSignal: ((exit: () => never, signal: string) => void) | undefined;

/**
 * An exit, not a plain death: at an exit, embedded servers that nobody else uses are ended too. Commands that have
 * something to finish first ask for it by `untilStopped`; a second signal ends them at once.
 */
export const exitOnSignals = (): void => {
  for (const [signal, number] of Object.entries(signals))
    process.on(signal, () => {
      const exit = (): never => process.exit(128 + number);
      const act = atSignal ?? exit;
      atSignal = undefined;
      act(exit, signal);
    });
};

/** `signal` is aborted at the first Ctrl-C, SIGTERM or SIGHUP. */
export const untilStopped = () => {
  const controller = new AbortController();
  const { signal } = controller;
  let by: string | undefined;
  let leave: (() => never) | undefined;
  atSignal = (exit, name) => {
    by = name;
    leave = exit;
    controller.abort();
  };
  const aborted = once(signal, 'abort');
  return {
    signal,
    /** Ends the process as by the signal, if there was one. */
    leave: (): void => leave?.(),
    /**
     * Resolves at the signal, or as the first of `ends` settles. Meanwhile the process stays, even without sockets.
     * @returns the signal
     */
    stopped: async (...ends: readonly Promise<unknown>[]) => {
      const alive = setInterval(() => undefined, 2 ** 30);
      await Promise.race([aborted, ...ends]).finally(() => clearInterval(alive));
      return by;
    },
  };
};
