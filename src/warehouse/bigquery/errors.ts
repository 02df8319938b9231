/**
 * Classifies every fault of BigQuery, in this file only.
 *
 * Run against the emulator or the strict stand-in: duplicate, notFound, invalidQuery, serialization conflicts, rate
 * limits and quotas as the stand-in words them, 5xx, lost responses. From Google's documentation and clients alone,
 * because it needs the real service: everything else, and the exact wording of every message.
 */
import { CallsyncError, type ErrorKind } from '../../lib/errors.ts';

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
 * `quota`: a daily allowance is used up for minutes or longer.
 * `stop`: somebody must change something.
 */
export type Meaning = 'duplicate' | 'missing' | 'lost' | 'again' | 'quota' | 'stop';

interface Rule {
  /** BigQuery's words for it, with blanks between. */
  readonly reasons?: string;
  readonly statuses?: readonly number[];
  readonly text?: RegExp;
  readonly meaning: Meaning;
  readonly code: string;
  readonly hint?: string;
}

const conflict = /could not serialize access|aborted due to concurrent update|due to concurrent (update|transaction)/i;
const badKey =
  /could not load the default credentials|invalid_grant|invalid_client|unauthorized_client|key file|\bPEM\b|private key/i;
const denied = 'accessDenied authError required blocked';
const busy =
  'rateLimitExceeded userRateLimitExceeded jobRateLimitExceeded concurrentLimitExceeded resourceInUse tableUnavailable stopped timeout';
const broken = 'backendError internalError jobBackendError jobInternalError';
const refused = 'invalid invalidQuery invalidUser badRequest parseError notImplemented attributeError';
/** First rule that matches wins. */
const rules: readonly Rule[] = [
  { meaning: 'again', code: 'BIGQUERY_CONFLICT', text: conflict },
  { meaning: 'again', code: 'BIGQUERY_BUSY', text: /too many DML statements outstanding/i },
  { meaning: 'again', code: 'BIGQUERY_STREAMING_BUFFER', text: /streaming buffer/i },
  { meaning: 'missing', code: 'BIGQUERY_STAGING_LOST', text: /staging is incomplete/i },
  {
    meaning: 'stop',
    code: 'BIGQUERY_CREDENTIALS',
    text: badKey,
    hint: 'Check `key_file`, or run `gcloud auth application-default login`.',
  },
  { meaning: 'duplicate', code: 'BIGQUERY_DUPLICATE', reasons: 'duplicate' },
  { meaning: 'duplicate', code: 'BIGQUERY_DUPLICATE', statuses: [409] },
  {
    meaning: 'quota',
    code: 'BIGQUERY_QUOTA',
    reasons: 'quotaExceeded dailyLimitExceeded dailyLimitExceededUnreg',
    hint: 'Lower `quota` of this warehouse or raise the quota of the project.',
  },
  { meaning: 'again', code: 'BIGQUERY_BUSY', reasons: busy },
  { meaning: 'again', code: 'BIGQUERY_UNAVAILABLE', reasons: broken },
  {
    meaning: 'stop',
    code: 'BIGQUERY_ACCESS_DENIED',
    reasons: denied,
    hint: 'Grant the account BigQuery Job User on the project and BigQuery Data Editor on the dataset.',
  },
  {
    meaning: 'stop',
    code: 'BIGQUERY_BILLING',
    reasons: 'billingNotEnabled billingTierLimitExceeded',
    hint: 'Enable billing for the project.',
  },
  {
    meaning: 'stop',
    code: 'BIGQUERY_BYTES_LIMIT',
    reasons: 'bytesBilledLimitExceeded',
    hint: 'Raise `maximum_bytes_billed` or lower `max_calls_per_load`.',
  },
  {
    meaning: 'stop',
    code: 'BIGQUERY_TOO_LARGE',
    reasons: 'resourcesExceeded responseTooLarge',
    hint: 'Lower `max_calls_per_load`.',
  },
  {
    meaning: 'missing',
    code: 'BIGQUERY_NOT_FOUND',
    reasons: 'notFound',
    hint: 'If tables of a warehouse are missing, run callsync warehouse fill NAME. In your own query, check the names.',
  },
  {
    meaning: 'missing',
    code: 'BIGQUERY_NOT_FOUND',
    statuses: [404],
    hint: 'Correct project, dataset and location, then run callsync doctor.',
  },
  { meaning: 'lost', code: 'BIGQUERY_UNAVAILABLE', statuses: [408, 500, 502, 503, 504] },
  { meaning: 'again', code: 'BIGQUERY_BUSY', statuses: [429] },
  {
    meaning: 'stop',
    code: 'BIGQUERY_ACCESS_DENIED',
    statuses: [401, 403],
    hint: 'Correct the credentials or the roles of the account, then run callsync doctor.',
  },
  {
    meaning: 'stop',
    code: 'BIGQUERY_REFUSED',
    reasons: refused,
    hint: 'In your own query, check words and names (docs/reference/tables.md, docs/reference/marts.md). Otherwise, report the message.',
  },
];

const unknown: Rule = {
  meaning: 'stop',
  code: 'BIGQUERY_REFUSED',
  hint: 'See the message and the job in the console.',
};

export const judge = (fault: Fault): { readonly meaning: Meaning; readonly code: string; readonly hint?: string } => {
  if (fault.lost === true) return { meaning: 'lost', code: 'BIGQUERY_UNREACHABLE' };
  const rule = rules.find(
    ({ reasons, statuses, text }) =>
      (reasons === undefined || (fault.reason !== undefined && reasons.split(' ').includes(fault.reason))) &&
      (statuses === undefined || (fault.status !== undefined && statuses.includes(fault.status))) &&
      (text === undefined || text.test(fault.message)),
  );
  return rule ?? unknown;
};

const kindOf: Readonly<Record<Meaning, ErrorKind>> = {
  duplicate: 'transient',
  missing: 'terminal',
  lost: 'transient',
  again: 'transient',
  quota: 'transient',
  stop: 'terminal',
};

/** Daily quotas refill within minutes, not at midnight. */
const quotaRetryMs = 10 * 60_000;

/** Messages of BigQuery can quote values of the data that it refused; where no data was read, quotes are names and may be shown. */
type Quotes = 'masked' | 'shown';

/** `what` names the attempt: `load into warehouse "x"`. */
export const errorOf = (fault: Fault, what: string, quotes: Quotes = 'masked'): CallsyncError => {
  const { meaning, code, hint } = judge(fault);
  return new CallsyncError(kindOf[meaning], code, `BigQuery could not ${what}: ${shorten(fault, quotes)}.`, {
    hint,
    ...(meaning === 'quota' ? { retryAfterMs: quotaRetryMs } : {}),
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

/** From an error of the client. An error without an HTTP status means that there was no answer. */
export const faultOf = (cause: unknown): Fault => {
  if (isFault(cause)) return cause;
  const error = cause as ApiErrorShape;
  const first = error.errors?.[0];
  const status = typeof error.code === 'number' ? error.code : error.response?.statusCode;
  const message = first?.message ?? error.message ?? String(cause);
  if (status !== undefined)
    return { status, message, ...(first?.reason === undefined ? {} : { reason: first.reason }) };
  return judge({ message }).code === 'BIGQUERY_CREDENTIALS' ? { message } : { message, lost: true };
};

const isFault = (cause: unknown): cause is Fault =>
  typeof cause === 'object' && cause !== null && !(cause instanceof Error) && 'message' in cause;
