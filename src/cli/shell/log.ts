/** The process log: one JSON line an event on standard error, of fields named here and nothing else. */
import pino, { type Logger } from 'pino';
import { CallsyncError } from '../../lib/errors.ts';

/** Level `info`, unless the fields have an `error` or `level` is `warn`. */
export type Log = (event: string, fields?: Record<string, unknown>) => void;

/** Allowed fields of a log line. All others are dropped, so that no record, header or secret gets in. */
const allowed = new Set(
  'activity warehouse load code kind seconds calls deliveries port address status attempt stack window count'.split(
    ' ',
  ),
);

/** Writes JSON lines to standard error. @param secrets replaced wherever they stand in a line. */
export const createLogger = (level: string, secrets: readonly string[] = []): Logger =>
  pino(
    { level, base: { app: 'callsync' }, timestamp: pino.stdTimeFunctions.isoTime },
    {
      write: (line: string) => {
        // Scrubs the finished line: a known secret may be in any field.
        process.stderr.write(
          secrets.filter((secret) => secret.length > 3).reduce((text, secret) => text.replaceAll(secret, '***'), line),
        );
      },
    },
  );

/** Errors are reduced to code, kind and, for unexpected ones, the stack without its message. */
const describeError = (error: unknown): Record<string, unknown> => {
  if (error instanceof CallsyncError) return { code: error.code, kind: error.kind };
  if (!(error instanceof Error)) return { code: 'UNEXPECTED' };
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    code: error.name,
    stack: frames
      .slice(0, 8)
      .map((line) => line.trim())
      .join(' < '),
  };
};

export const toLog =
  (logger: Logger): Log =>
  (event, fields = {}) => {
    const { error, level, ...rest } = fields;
    const entries = Object.entries({ ...rest, ...(error === undefined ? {} : describeError(error)) });
    const kept = Object.fromEntries(entries.filter(([name]) => allowed.has(name)));
    if (error === undefined && level !== 'warn') logger.info(kept, event);
    else logger.warn(kept, event);
  };
