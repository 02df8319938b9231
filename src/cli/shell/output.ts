/** Results go to standard output, remarks to standard error. This file also renders times, tables and the version. */
import { readFileSync } from 'node:fs';
import { findBuilt } from '../../lib/find-built.ts';
import { iso } from '../../lib/timestamps.ts';

/** If the reader closes the pipe (`| head`), output stops but the command's work continues. */
const readerGone = new Set(['EPIPE', 'ECONNRESET', 'EIO']);
let isRead = true;

/** False if the reader has closed standard output. */
export const hasReader = (): boolean => isRead;

/** A closed pipe is no fault of the command. */
export const allowReaderToLeave = (): void => {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!readerGone.has(error.code ?? '')) throw error;
      if (stream === process.stdout) isRead = false;
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

/** Progress and remarks for people go to standard error, so that standard output holds results alone. */
export const say = (message: string): void => {
  process.stderr.write(`${message}\n`);
};

/** Prints a result: one JSON line with --json, else the text. */
export const print = (options: { readonly json?: boolean }, result: unknown, text: string): void => {
  process.stdout.write(options.json === true ? `${JSON.stringify(result)}\n` : `${text}\n`);
};

/** The lines of a text, without those that do not apply. */
export const lines = (...all: readonly (string | readonly string[] | false | null | undefined)[]): string =>
  all.flat().filter(Boolean).join('\n');

/** Rows as an aligned text table; instants in ISO 8601, objects as JSON. */
export const renderTable = (rows: readonly Record<string, unknown>[]): string => {
  if (rows.length === 0) return '  (no rows)';
  const names = Object.keys(rows[0] as object);
  const cells = [names, ...rows.map((row) => names.map((name) => showValue(row[name])))];
  // A spread would fail: a function takes about 110,000 arguments.
  const widths = names.map((_, index) => cells.reduce((most, row) => Math.max(most, (row[index] as string).length), 0));
  return cells
    .map(
      (row) =>
        `  ${row
          .map((cell, index) => cell.padEnd(widths[index] as number))
          .join('  ')
          .trimEnd()}`,
    )
    .join('\n');
};

const showValue = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString();
  // Line ends and other control characters of a transcript do not reach the terminal.
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
  return text.replace(/\p{Cc}/gu, ' ');
};

/** Members that are microseconds since the epoch wherever they are numbers. */
const times: ReadonlySet<string> = new Set(['at', 'from', 'to']);

/** Output of --json, with its times as text. @param value that JSON can hold. */
export const tellTimes = (value: object): unknown =>
  JSON.parse(JSON.stringify(value), (name, inner: unknown) =>
    typeof inner === 'number' && times.has(name) ? iso(inner) : inner,
  );

/** A file of the package, which is beside dist/ or src/. */
export const readShipped = (name: string): string =>
  readFileSync(findBuilt(import.meta.url, `../../../../${name}`, `../../../${name}`), 'utf8');

/** The version of the package. */
export const readVersion = (): string => (JSON.parse(readShipped('package.json')) as { version: string }).version;
