/**
 * Classifies every fault of BigQuery, in this file only.
 *
 * Run against the emulator or the strict stand-in: duplicate, notFound, invalidQuery, serialization conflicts, rate
 * limits and quotas as the stand-in words them, 5xx, lost responses. From Google's documentation and clients alone,
 * because it needs the real service: everything else, and the exact wording of every message.
 */
import type { ErrorCode } from '../../lib/error-codes.ts';
import { CallsyncError } from '../../lib/errors.ts';

/** Report of a request or a finished job. */
export interface Fault {
  /** HTTP status; absent for faults of jobs and of the network. */
  readonly status?: number;
  /** BigQuery's own word, such as `rateLimitExceeded`. */
  readonly reason?: string;
  readonly message: string;
  /** The answer did not arrive: whether the request was carried out is unknown. */
  readonly lost?: boolean;
}

/**
 * `duplicate`: the id or table exists, so use the earlier one.
 * `missing`: the requested object does not exist.
 * `lost`: check whether it was carried out, then repeat it under the same id.
 * `again`: it may succeed later, in a job of a new id.
 * `gone`: the local BigQuery does not run.
 * `quota`: a daily allowance is used up for minutes or longer.
 * `stop`: somebody must change something.
 */
export type Meaning = 'duplicate' | 'missing' | 'lost' | 'again' | 'gone' | 'quota' | 'stop';

/**
 * One kind of fault a line; the first that matches wins. The columns: its meaning, our code, BigQuery's words for it and HTTP
 * statuses or after / a pattern of the message, the next step.
 */
export const bigqueryFaults = `
again | BIGQUERY_CONFLICT | /could not serialize access|aborted due to concurrent update|due to concurrent (update|transaction)
again | BIGQUERY_BUSY | /too many DML statements outstanding
again | BIGQUERY_STREAMING_BUFFER | /streaming buffer
missing | BIGQUERY_STAGING_LOST | /staging is incomplete
stop | BIGQUERY_SCHEMA | /without a filter over column | Run ALTER TABLE NAME SET OPTIONS (require_partition_filter = false). A query of your own can filter by that column instead.
stop | BIGQUERY_CREDENTIALS | /could not load the default credentials|invalid_grant|invalid_client|unauthorized_client|key file|\\bPEM\\b|private key | Check \`key_file\`, or run \`gcloud auth application-default login\`.
duplicate | BIGQUERY_DUPLICATE | duplicate 409
gone | BIGQUERY_UNREACHABLE | gone | Start it with callsync bigquery-emulator, or correct \`api_endpoint\`.
quota | BIGQUERY_QUOTA | quotaExceeded dailyLimitExceeded dailyLimitExceededUnreg | Lower \`quota\` of this warehouse or raise the quota of the project.
again | BIGQUERY_BUSY | rateLimitExceeded userRateLimitExceeded jobRateLimitExceeded concurrentLimitExceeded resourceInUse tableUnavailable stopped timeout 429
again | BIGQUERY_UNAVAILABLE | backendError internalError jobBackendError jobInternalError
stop | BIGQUERY_ACCESS_DENIED | accessDenied authError required blocked | Grant the account BigQuery Job User on the project and BigQuery Data Editor on the dataset.
stop | BIGQUERY_BILLING | billingNotEnabled billingTierLimitExceeded | Enable billing for the project.
stop | BIGQUERY_BYTES_LIMIT | bytesBilledLimitExceeded | Raise \`maximum_bytes_billed\` or lower \`max_calls_per_load\`.
stop | BIGQUERY_TOO_LARGE | resourcesExceeded responseTooLarge | Lower \`max_calls_per_load\`.
missing | BIGQUERY_NOT_FOUND | notFound | If tables of a warehouse are missing, run callsync warehouse fill NAME. In your own query, check the names.
missing | BIGQUERY_NOT_FOUND | 404 | Correct project, dataset and location, then run callsync doctor.
lost | BIGQUERY_UNAVAILABLE | 408 500 502 503 504
stop | BIGQUERY_ACCESS_DENIED | 401 403 | Correct the credentials or the roles of the account, then run callsync doctor.
stop | BIGQUERY_REFUSED | invalid invalidQuery invalidUser badRequest parseError notImplemented attributeError | In your own query, check words and names (docs/reference/tables.md, docs/reference/marts.md). Otherwise, report the message.
stop | BIGQUERY_REFUSED | / | See the message and the job in the console.`
  .trim()
  .split('\n')
  .map((line) => line.split(' | ') as [meaning: Meaning, code: ErrorCode, faults: string, hint?: string]);

export const judge = (
  fault: Fault,
): { readonly meaning: Meaning; readonly code: ErrorCode; readonly hint?: string } => {
  if (fault.lost === true) return { meaning: 'lost', code: 'BIGQUERY_UNREACHABLE' };
  const { reason = '', status, message } = fault;
  const matches = (faults: string): boolean =>
    faults.startsWith('/')
      ? new RegExp(faults.slice(1), 'i').test(message)
      : faults.split(' ').some((word) => word === reason || word === String(status));
  const [meaning, code, , hint] = bigqueryFaults.find(([, , faults]) => matches(faults)) as (typeof bigqueryFaults)[0];
  return { meaning, code, hint };
};

/** Daily quotas refill within minutes, not at midnight. */
const quotaRetryMs = 10 * 60_000;

/** Messages of BigQuery can quote values of the data that it refused; where no data was read, quotes are names and may be shown. */
type Quotes = 'masked' | 'shown';

/** `what` names the attempt: `load into warehouse "x"`. */
export const errorOf = (fault: Fault, what: string, quotes: Quotes = 'masked'): CallsyncError => {
  const { meaning, code, hint } = judge(fault);
  const kind = meaning === 'missing' || meaning === 'stop' ? 'terminal' : 'transient';
  return new CallsyncError(kind, code, `BigQuery could not ${what}: ${shorten(fault, quotes)}.`, {
    hint,
    retryAfterMs: meaning === 'quota' ? quotaRetryMs : undefined,
  });
};

const shorten = ({ reason, status, message }: Fault, quotes: Quotes): string => {
  const label = reason ?? (status === undefined ? '' : `HTTP ${status}`);
  const text = message
    .replace(/\s+/g, ' ')
    .replace(/(['"`]).*?\1/g, (quoted) => (quotes === 'shown' ? quoted : '…'))
    .replace(quotes === 'shown' ? /$/ : /;.*$/, '')
    .slice(0, 160);
  return [label, text]
    .filter((part) => part !== '')
    .join(', ')
    .replace(/[.?]$/, '');
};

interface ApiErrorShape {
  readonly code?: unknown;
  readonly errors?: readonly { readonly reason?: string; readonly message?: string }[];
  readonly response?: { readonly statusCode?: number };
  readonly message?: string;
}

/** From an error of the client. An error without an HTTP status means that there was no answer. @param isLocal of the local BigQuery */
export const faultOf = (cause: unknown, isLocal = false): Fault => {
  if (isFault(cause)) return cause;
  const error = cause as ApiErrorShape;
  const first = error.errors?.[0];
  const status = typeof error.code === 'number' ? error.code : error.response?.statusCode;
  const message = first?.message ?? error.message ?? String(cause);
  if (isLocal && /ECONNREFUSED/.test(message)) return { message, reason: 'gone' };
  if (status !== undefined) return { status, message, reason: first?.reason };
  return judge({ message }).code === 'BIGQUERY_CREDENTIALS' ? { message } : { message, lost: true };
};

const isFault = (cause: unknown): cause is Fault =>
  typeof cause === 'object' && cause !== null && !(cause instanceof Error) && 'message' in cause;
