/** Errors of the service: the meaning of its answers, and the treatment of each failure while a list is read. */
import { CallsyncError, terminal, transient } from '../../lib/errors.ts';
import { isObject, parseQuietly } from '../../lib/parse-json.ts';
import type { HttpResponse } from './http.ts';

// Meaning of an answer other than 2XX. The interface does not specify error bodies (§7).

const refusedQueries = new Set([400, 413, 414, 416, 422, 431]);
const aboutQuota = /quota|limit.{0,20}(exceeded|reached)|exceeded.{0,20}limit|too many/i;
const temporary = new Set([408, 425, 500, 502, 504, 507, 509, 520, 521, 522, 523, 524, 529, 530]);

/** The error of an answer that is neither 2XX nor 401 (which has a path of its own). */
export const failureOf = (response: HttpResponse): CallsyncError => {
  const { status, url } = response;
  const where = `${url.host}${url.pathname.replace(/[^/]{24,}|\d{5,}/g, '…')}`;
  const detail = describeError(response);
  const said = detail === undefined ? '' : `: ${detail}`;
  const retryAfterMs = retryAfterOf(response);
  if (status === 429)
    return transient('SERVICE_RATE_LIMIT', `${url.host} answers 429: too many requests.`, { retryAfterMs });
  if (status === 503)
    return transient('SERVICE_OVERLOADED', `${where} answers 503: it is overloaded or away.`, { retryAfterMs });
  if (status === 402 || (status === 403 && (retryAfterMs !== undefined || aboutQuota.test(detail ?? ''))))
    return transient('SERVICE_QUOTA', `${where} answers ${status}: the quota is used up${said}.`, { retryAfterMs });
  if (temporary.has(status) || status > 530)
    return transient('SERVICE_UNAVAILABLE', `${where} answers ${status}.`, { retryAfterMs });
  if (status === 403)
    return terminal('ACCESS_DENIED', `${where} answers 403: these credentials may not read it${said}.`);
  if (status === 404) return terminal('LIST_MISSING', `${where} answers 404.`);
  if (refusedQueries.has(status))
    return terminal('LIST_REFUSED', `${where} refuses the query with ${status}${said}.`, {
      hint: 'Compare source.list with the service’s documentation, or run `callsync probe`.',
    });
  return terminal('SERVICE_REFUSED', `${where} answers ${status}${said}.`);
};

const nothingFound =
  /^no (calls|conversations|data|items|records|results)\b|^(calls?|conversations?|data|items?|records?|results?) (were |was )?not found (for|in|within|between|matching|with) (the |this |these |your )?(given |provided |specified |requested |search )*(criteria|filters?|periods?|(date |time )?(range|window)|dates?)\.?$/i;

/** Whether an answer 404 only says that no record matches, as some lists answer a window without calls. */
export const findsNothing = ({ status, body }: Pick<HttpResponse, 'status' | 'body'>): boolean =>
  status === 404 && nothingFound.test(findText(parseQuietly(body), 0) ?? '');

/** A short text of the error body with everything that could be a person's data left out. */
const describeError = (response: HttpResponse): string | undefined => {
  if (response.body.length === 0 || response.body.length > 20_000) return undefined;
  return findText(parseQuietly(response.body), 0)
    ?.slice(0, 160)
    .replace(/\S*[@]\S*/g, '…')
    .replace(/\+?\d[\d\s().-]{4,}\d/g, '…')
    .replace(/[A-Za-z0-9+/_=.-]{40,}/g, '…')
    .replace(/[\p{Cc}]/gu, ' ');
};

const textKeys = ['detail', 'message', 'title', 'error_description', 'error', 'errors'];

const findText = (value: unknown, depth: number): string | undefined => {
  if (typeof value === 'string') return value;
  if (depth > 3) return undefined;
  if (Array.isArray(value)) return findText(value[0], depth + 1);
  if (!isObject(value)) return undefined;
  return textKeys.map((key) => findText(value[key], depth + 1)).find((text) => text !== undefined);
};

/** Longest wait that a service can ask for. */
const longestMs = 15 * 60_000;

/**
 * Milliseconds that a response asks to wait. A date, perhaps in seconds since 1970, is measured on the service's clock where
 * the response tells it. Answers other than 429 may have X-RateLimit-Reset too, and mean nothing by it.
 */
export const retryAfterOf = ({ headers, status }: Pick<HttpResponse, 'headers' | 'status'>): number | undefined => {
  const reset = status === 429 ? (headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']) : undefined;
  const text = (headers['retry-after'] ?? reset ?? '').trim();
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Math.min(Number(text) * 1000, longestMs);
  const at = /^\d{10}(\d{3})?$/.test(text)
    ? Number(text.slice(0, 10)) * 1000
    : Date.parse(/[a-z]/i.exec(text) ? text : '');
  const now = Date.parse(headers.date ?? '');
  if (Number.isNaN(at)) return undefined;
  return Math.min(Math.max(0, at - (Number.isNaN(now) ? Date.now() : now)), longestMs);
};

// Tells a refusal that may pass from one that stays.

/** So long a service that answered before may refuse, such as during a deployment, before that counts as its answer. */
const graceMs = 5 * 60_000;
/** Questions whose refusals are remembered at once. */
const mostQuestions = 1_000;

/** Refusals that may pass where the service answered before; all but `ofQuestion` concern every question. */
export const passing: ReadonlySet<string> = new Set([
  'ACCESS_DENIED',
  'LIST_MISSING',
  'LIST_REFUSED',
  'SERVICE_REFUSED',
  'TOKEN_ENDPOINT_MISSING',
  'TOKEN_REFUSED',
]);
const ofQuestion = 'LIST_REFUSED';

/** @param now monotonic milliseconds. */
export const createRefusals = (now: () => number = () => performance.now()) => {
  let proven = false;
  const since = new Map<string, { readonly at: number; count: number }>();
  return {
    /** Whether the service is known to have answered before. */
    isProven: () => proven,
    proven: () => {
      proven = true;
    },
    /** The service answered, so an earlier refusal of access, address or question has ended. */
    answered: (question: string) => {
      proven = true;
      since.delete(question);
      for (const code of passing) since.delete(code);
    },
    /**
     * A terminal refusal as a transient one, while it may pass: access was proven, and the refusal is younger than
     * the grace. Later as a terminal one that tells its history. Other errors as they are.
     */
    judge: (failure: CallsyncError, question: string) => {
      const key = failure.code === ofQuestion ? question : failure.code;
      if (!proven || failure.kind !== 'terminal' || !passing.has(failure.code)) return failure;
      const refusal = since.get(key) ?? { at: now(), count: 0 };
      refusal.count++;
      if (since.size < mostQuestions) since.set(key, refusal);
      const { code, message, hint } = failure;
      const lastedMs = now() - refusal.at;
      if (lastedMs < graceMs) return transient(code, `${message} It had answered before.`, { hint, cause: failure });
      const history = `It had answered before, and has refused ${refusal.count} times over ${Math.round(lastedMs / 60_000)} minutes.`;
      return terminal(code, `${message} ${history}`, { hint, cause: failure });
    },
  };
};

// How often and how fast callsync asks again, and whether another question may help.

/**
 * Most retries. A time-out takes minutes, and a refused question stays refused: a smaller question, or a later attempt,
 * has better chances. Tokens were asked for several times already, and status shows why work waits for a quota.
 */
export const retriesOf: Readonly<Record<string, number>> = {
  ...{ SERVICE_TIMEOUT: 1, LIST_REFUSED: 1, SERVICE_QUOTA: 0 },
  ...{ TOKEN_REFUSED: 0, TOKEN_UNAVAILABLE: 0, TOKEN_MALFORMED: 0 },
};
/** The service, or a gateway before it, has too many requests: all workers slow down. */
export const overloads: ReadonlySet<string> = new Set([
  'SERVICE_BROKEN',
  'SERVICE_OVERLOADED',
  'SERVICE_QUOTA',
  'SERVICE_RATE_LIMIT',
]);

const poison = /^(SERVICE_(UNAVAILABLE|BROKEN|TIMEOUT)|LIST_(FAILED|MALFORMED)|RESPONSE_TOO_LARGE)$/;
const ofOneAnswer =
  /^(LIST_(FAILED|LOOP|MALFORMED|REFUSED|SHAPE)|RESPONSE_(ENCODING|TOO_LARGE)|SERVICE_(BROKEN|OVERLOADED|REFUSED|TIMEOUT|UNAVAILABLE|UNREACHABLE))$/;

/** Whether the service refuses a question: it may answer one about a shorter window. */
export const isRefusal = (error: unknown): error is CallsyncError =>
  error instanceof CallsyncError && (error.code === 'LIST_REFUSED' || error.code === 'SERVICE_REFUSED');

/** Whether a failure may be due to single records of the answer: a smaller question may then succeed. */
export const isPoison = (error: unknown): error is CallsyncError =>
  error instanceof CallsyncError && poison.test(error.code);

/** Whether a failure may concern one answer. Everything else, such as access, tokens and the store, concerns all windows. */
export const isOfOneAnswer = (error: unknown): error is CallsyncError =>
  error instanceof CallsyncError && ofOneAnswer.test(error.code);
