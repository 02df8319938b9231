/** Turns errors of the PostgreSQL driver into errors with a next step. */
import type { ErrorCode } from '../lib/error-codes.ts';
import { CallsyncError, type ErrorKind, isUntrusted } from '../lib/errors.ts';

type Fault = ReturnType<typeof readFault>;

const readFault = (line: string) => {
  const [kind, code, pattern = '', message = '', hint] = line.split(' | ');
  return { kind: kind as ErrorKind, code: code as ErrorCode, pattern: new RegExp(pattern, 'i'), message, hint };
};

/**
 * One kind of fault a line; the first that matches wins. The columns: whether the fault may pass by itself, our code, and a
 * pattern of SQLSTATE (or Node's code) and message. Then our message with … for the purpose of the database, and the next step.
 */
export const databaseFaults: readonly Fault[] = `
terminal | DATABASE_URL_INVALID | ^ERR_INVALID_URL | The connection URL of the … cannot be read. | Write it as postgres://user:password@host:port/database, with one host. In the password, write # as %23, / as %2F, ? as %3F and @ as %40.
terminal | DATABASE_URL_INVALID | ^open | A file in the connection URL of the … cannot be read. | Correct sslrootcert, sslcert or sslkey in the connection URL.
terminal | DATABASE_URL_INVALID | ^(42601 .*command-line|42704 .*parameter) | The … refuses the options in its connection URL. | Write options=-c%20NAME%3DVALUE with a parameter of PostgreSQL, or remove options.
terminal | DATABASE_UNTRUSTED | ^untrusted | The TLS certificate of the … cannot be trusted. | Renew the certificate of the server, or name its CA in the connection URL: sslmode=verify-full&sslrootcert=FILE.
terminal | DATABASE_UNTRUSTED | ^ .*support SSL | The … takes no TLS connections. | Switch TLS on at the server (ssl = on). If you trust the network, remove sslmode from the connection URL.
terminal | DATABASE_CREDENTIALS | ^28P01|^ SASL | The … refuses the user or password. | Correct the user and password in its connection URL, then run callsync doctor.
terminal | DATABASE_CREDENTIALS | ^28 | The … refuses this connection. | If the server takes TLS only ("no encryption"), add sslmode=verify-full to the connection URL, and sslrootcert=FILE for a private CA. Otherwise, correct the user, or its entry in pg_hba.conf.
terminal | DATABASE_POOLING | ^08P01 .*(user|auth) | The pooler of the … does not know the user. | Add the user to auth_file of the pooler, or set auth_query. For queries, you can also set reader_url_file of the warehouse to the URL of a role that the pooler knows.
terminal | DATABASE_MISSING | ^3D000 | The database of the … does not exist. | Create it (createdb NAME), or correct its name in the connection URL.
terminal | DATABASE_PERMISSION | ^42501 .*row-level | A policy of row-level security hides rows of the … from callsync. | Run ALTER TABLE NAME NO FORCE ROW LEVEL SECURITY, or give the user BYPASSRLS.
terminal | DATABASE_PERMISSION | ^42501 | The user of the … lacks a permission. | Grant CREATE on the database, or USAGE and CREATE on its schema. The user must own the tables of callsync.
transient | DATABASE_READ_ONLY | ^25006 | The … takes no writes. | Name the primary server in the connection URL: this one is a standby, or has default_transaction_read_only = on.
transient | DATABASE_INCOMPLETE | ^42P10 | A table of the … has lost its primary key. | Add it with ALTER TABLE NAME ADD PRIMARY KEY; docs/reference/sql/postgres.sql has those of a warehouse.
transient | DATABASE_INCOMPLETE | ^(42P01|3F000|42883) | Tables or keys of the … are missing. | If somebody dropped or restored them, follow docs/guides/backup-restore.md.
terminal | DATABASE_CONFLICT | ^(42701|42710|42P0[67]) | The … has another object of that name. | Rename that object, or name another schema in the configuration.
terminal | DATABASE_CONFLICT | ^42804 | A column of the … has another type. | Change its type back: docs/reference/sql/postgres.sql names the types.
terminal | DATABASE_REFUSED | ^23502 | The … refuses a row without a value for a required column. | If the column is yours, give it a DEFAULT, or drop its NOT NULL.
terminal | DATABASE_REFUSED | ^23503 | The … refuses a change, because rows of another table refer to this call. | Delete those rows, or make their foreign key ON DELETE CASCADE.
terminal | DATABASE_REFUSED | ^2BP01 | The … cannot replace a view, because views of yours read it. | Drop your views, restart callsync (or run the command again), then create your views again.
terminal | DATABASE_REFUSED | ^22(P05|021) | The … cannot store a character. | Move the tables into a database of the encoding UTF8: createdb --encoding UTF8 --template template0 NAME.
terminal | DATABASE_REFUSED | ^(22|23|38|54|P0) | The … refuses a row. | If a constraint, trigger or index of yours is the reason, drop it. Otherwise, report the message.
terminal | DATABASE_ERROR | ^55000 (?!.*accepting) | The … refuses a statement. | If the message names a replica identity, run ALTER TABLE NAME REPLICA IDENTITY FULL, or publish only tables of your own.
transient | DATABASE_TIMEOUT | ^(55P03|57014|25P) | The … was too slow, or somebody held a lock. | callsync tries again. If the error persists, look for long transactions in pg_stat_activity.
transient | DATABASE_FULL | ^53100 | The … has no disk space left. | Enlarge the disk of the server, or make room on it.
transient | DATABASE_FULL | ^XX000 .*(max ?client|from the pool) | The pooler of the … has no connection left. | Raise the pool size of the pooler, or lower store.pool_size.
transient | DATABASE_UNREACHABLE | ^XX000 .*(compute|control plane|tenant|endpoint) | The pooler of the … does not reach its database. | See the status page of your provider, and compare the connection URL with its instructions.
transient | DATABASE_FULL | ^53300 | The … has no connection left. | Raise max_connections of the server or the limit of the role, or lower store.pool_size.
transient | DATABASE_FULL | ^53 | The … lacks memory or another resource. | Give the server more memory, or less work.
transient | DATABASE_BUSY | ^ timeout exceeded when trying to connect | All connections of this process to the … are in use. | Wait for the end of running queries, then try again.
transient | DATABASE_UNREACHABLE | ^(ECONN|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT|EPIPE|ENOENT|EAI_AGAIN|08|57P|55000)|^ .*(timeout|connection terminated|connection ended|not queryable) | The … does not answer. | Start PostgreSQL or correct its address, then run callsync doctor.
transient | DATABASE_ERROR | ^(40|58|0A000 cached plan|XX000 tuple) | The … reports an error. | callsync tries again. If the error persists, read the log of the server at that time.
terminal | DATABASE_ERROR | ^ | The … reports an error. | Read the log of the server at that time.`
  .trim()
  .split('\n')
  .map(readFault);

/** SQLSTATE whose messages name objects and addresses, and never a value of a row. */
const plainMessages = /^(08|25|28|3D|53|55|57|42501|42701|42710|42804|42P0[167])/;

/** Parts of an error of Node or PostgreSQL that name no value of a row, as a message or a detail of the server may. */
const parts = ['hostname', 'address', 'port', 'path', 'schema', 'table', 'column', 'constraint'] as const;
type DriverError = Readonly<
  Partial<Record<'code' | 'message' | 'detail' | 'syscall' | 'routine' | (typeof parts)[number], string>>
>;

/** Where the server refuses a statement whose columns have changed since the connection first read it: it says so in its own language. */
const changedColumns = 'RevalidateCachedQuery';

const matchFault = ({ code = '', message = '', syscall, routine }: DriverError): Fault => {
  const said = routine === changedColumns ? 'cached plan' : message;
  const text = `${isUntrusted(code) ? 'untrusted ' : syscall === 'open' ? 'open ' : ''}${code} ${said}`;
  return databaseFaults.find(({ pattern }) => pattern.test(text)) as Fault;
};

const isState = (code: string): boolean => /^(?=.*\d)[0-9A-Z]{5}$/.test(code);

const reasonOf = (error: DriverError): string => {
  const { code = '', message, detail } = error;
  // This detail names each view that depends on another.
  const plain = code === '2BP01' ? detail?.replaceAll('\n', ', ') : plainMessages.test(code) && message;
  const head = isState(code) ? [`SQLSTATE ${code}`, plain] : [code];
  return [...head, ...parts.map((name) => error[name] && `${name} ${error[name]}`)].filter(Boolean).join(', ');
};

/** Maps a driver error to terminal or transient. Values of the failed statement are never repeated: they may be personal. */
export const postgresError = (purpose: string, cause: unknown): CallsyncError => {
  if (cause instanceof CallsyncError) return cause;
  const { kind, code, message, hint } = matchFault(cause as DriverError);
  const reason = reasonOf(cause as DriverError);
  const said = message.replace('…', purpose).replace(/\.$/, reason === '' ? '.' : ` (${reason}).`);
  return new CallsyncError(kind, code, said, { hint, cause });
};

/** False for errors from outside the driver: a fault of callsync must not look like one of the database. */
export const isDriverError = (cause: unknown): boolean =>
  isState(String((cause as DriverError).code)) || !/_(ERROR|URL_INVALID)$/.test(matchFault(cause as DriverError).code);

const causeOf = (error: unknown) => ((error instanceof CallsyncError ? error.cause : error) ?? {}) as DriverError;

const stateOf = (error: unknown): unknown => (error instanceof CallsyncError ? causeOf(error).code : undefined);

/** SQLSTATE serialization_failure and deadlock_detected: PostgreSQL ended the transaction so that another one could continue. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(String(stateOf(error)));

/** SQLSTATE lock_not_available: another session held the lock for longer than `lock_timeout`. */
export const isLocked = (error: unknown): boolean => stateOf(error) === '55P03';

/** Another connection may do: this one knows other columns of a statement, or a failover has left it at a standby. */
export const isStale = (error: unknown): error is Error =>
  causeOf(error).routine === changedColumns || /^(25006|42804)$/.test(`${causeOf(error).code}`);

/** The statement may still run, so callsync can send nothing else on this connection. */
export const isUnanswered = (error: unknown): error is Error =>
  error instanceof Error && /^query read timeout$/i.test(causeOf(error).message ?? '');
