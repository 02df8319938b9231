/** Turns errors of the PostgreSQL driver into errors with a next step. */
import { CallsyncError, isUntrusted, terminal, transient } from '../lib/errors.ts';

const connectionCodes = new Set(
  'ECONNREFUSED ECONNRESET ECONNABORTED ENOTFOUND EHOSTUNREACH ETIMEDOUT EPIPE ENOENT EAI_AGAIN'.split(' '),
);
/** Classes of SQLSTATE after which the same statement may succeed: connection, serialization, shutdown, resources. */
const transientStates = /^(08|40|53|55P03|57P0[1-5]|25006|58)/;

/** Missing tables, schema, functions or unique indexes, such as after an incomplete restore. */
const incompleteStates: ReadonlySet<string> = new Set(['42P01', '3F000', '42883', '42P10']);

const lostConnection = /timeout|connection terminated|connection ended|not queryable/i;

/** Maps a driver error to terminal or transient. Values of the failed statement are never repeated: they may be personal. */
export const postgresError = (purpose: string, cause: unknown): CallsyncError => {
  if (cause instanceof CallsyncError) return cause;
  const { code = '', message = '' } = cause as { code?: string; message?: string };
  if (connectionCodes.has(code) || lostConnection.test(message))
    return transient('DATABASE_UNREACHABLE', `The ${purpose} does not answer (${code || 'connection lost'}).`, {
      hint: 'Start PostgreSQL or correct its address, then run callsync doctor.',
      cause,
    });
  if (code === 'ERR_INVALID_URL')
    return terminal('DATABASE_URL_INVALID', `The connection URL of the ${purpose} cannot be read.`, {
      hint: 'Write it as postgres://user:password@host:port/database.',
      cause,
    });
  if (isUntrusted(code))
    return terminal('DATABASE_UNTRUSTED', `The TLS certificate of the ${purpose} cannot be trusted (${code}).`, {
      hint: 'Renew the certificate of the server, or name its CA in the connection URL: sslmode=verify-full&sslrootcert=FILE.',
      cause,
    });
  if (code === '28P01' || code === '28000')
    return terminal('DATABASE_CREDENTIALS', `The ${purpose} refuses the user or password.`, {
      hint: 'Correct the user and password in its connection URL, then run callsync doctor.',
      cause,
    });
  if (code === '3D000')
    return terminal('DATABASE_MISSING', `The database of the ${purpose} does not exist.`, {
      hint: 'Create it (createdb NAME), or correct its name in the connection URL.',
      cause,
    });
  if (code === '42501')
    return terminal('DATABASE_PERMISSION', `The user of the ${purpose} lacks a permission.`, {
      hint: 'Grant CREATE on the database, or USAGE and CREATE on its schema.',
      cause,
    });
  if (incompleteStates.has(code))
    return transient('DATABASE_INCOMPLETE', `Tables of the ${purpose} are missing (SQLSTATE ${code}).`, {
      hint: 'If somebody dropped or restored them, follow docs/guides/backup-restore.md.',
      cause,
    });
  const kind = transientStates.test(code) ? transient : terminal;
  return kind('DATABASE_ERROR', `The ${purpose} reports an error (SQLSTATE ${code || 'none'}).`, { cause });
};

/** False for errors from outside the driver: a fault of callsync must not look like one of the database. */
export const isDriverError = (cause: unknown): boolean => {
  const { code, message } = cause as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return /^[0-9A-Z]{5}$/.test(code) || connectionCodes.has(code) || isUntrusted(code);
  return typeof message === 'string' && lostConnection.test(message);
};

const stateOf = (error: unknown): unknown =>
  error instanceof CallsyncError ? (error.cause as { readonly code?: unknown } | undefined)?.code : undefined;

/** SQLSTATE serialization_failure and deadlock_detected: PostgreSQL ended the transaction so that another one could continue. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(String(stateOf(error)));

/** SQLSTATE lock_not_available: another session held the lock for longer than `lock_timeout`. */
export const isLocked = (error: unknown): boolean => stateOf(error) === '55P03';

/** The statement may still run, so callsync can send nothing else on this connection. */
export const isUnanswered = (error: unknown): error is Error =>
  error instanceof Error &&
  /^query read timeout$/i.test(
    error instanceof CallsyncError ? String((error.cause as Error | undefined)?.message) : error.message,
  );
