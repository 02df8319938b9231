/** Meaning of an answer other than 2XX. The interface does not specify error bodies (§7). */
import { type CallsyncError, terminal, transient } from '../../lib/errors.ts';
import type { HttpResponse } from './http.ts';

const temporary = new Set([408, 425, 429, 500, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 529, 530]);

/** The error of an answer that is neither 2XX nor 401 (which has a path of its own). */
export const failureOf = (response: HttpResponse): CallsyncError => {
  const { status, url } = response;
  const where = `${url.host}${url.pathname.replace(/[^/]{24,}|\d{5,}/g, '…')}`;
  const detail = describeError(response);
  const said = detail === undefined ? '' : `: ${detail}`;
  const retryAfterMs = retryAfterOf(response);
  if (status === 429)
    return transient('SERVICE_RATE_LIMIT', `${url.host} answers 429: too many requests.`, {
      retryAfterMs,
      hint: 'If another program uses the same credentials or address, lower source.limits.requests.',
    });
  if (temporary.has(status) || status > 530)
    return transient('SERVICE_UNAVAILABLE', `${where} answers ${status}.`, { retryAfterMs });
  if (status === 403)
    return terminal('ACCESS_DENIED', `${where} answers 403: these credentials may not read it${said}.`, {
      hint: 'Ask the account manager for access to the call API, and whether only certain IP addresses are allowed.',
    });
  if (status === 404)
    return terminal('LIST_MISSING', `${where} answers 404.`, {
      hint: 'Correct source.base_url, source.version and source.list.path, then run callsync probe.',
    });
  if (status === 400 || status === 414 || status === 422)
    return terminal('LIST_REFUSED', `${where} refuses the query with ${status}${said}.`, {
      hint: 'Compare source.list with the service’s documentation, or run `callsync probe`.',
    });
  return terminal('SERVICE_REFUSED', `${where} answers ${status}${said}.`);
};

/** A short text of the error body with everything that could be a person's data left out. */
const describeError = (response: HttpResponse): string | undefined => {
  if (response.body.length === 0 || response.body.length > 20_000) return undefined;
  let text: string | undefined;
  try {
    text = findText(JSON.parse(response.body.toString('utf8')), 0);
  } catch {
    return undefined;
  }
  return text
    ?.slice(0, 160)
    .replace(/\S*[@]\S*/g, '…')
    .replace(/\+?\d[\d\s().-]{4,}\d/g, '…')
    .replace(/[A-Za-z0-9+/_=.-]{40,}/g, '…')
    .replace(/[\p{Cc}]/gu, ' ');
};

const textKeys = ['detail', 'title', 'message', 'error_description', 'error', 'errors'];

const findText = (value: unknown, depth: number): string | undefined => {
  if (typeof value === 'string') return value;
  if (depth > 3 || typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return findText(value[0], depth + 1);
  const fields = value as Record<string, unknown>;
  for (const key of textKeys) {
    const text = fields[key] === undefined ? undefined : findText(fields[key], depth + 1);
    if (text !== undefined) return text;
  }
  return undefined;
};

/** Longest wait that a service can ask for. */
const longestMs = 15 * 60_000;

/** Milliseconds that a response asks to wait. A date is measured on the service's clock where the response tells it. */
export const retryAfterOf = ({ headers }: Pick<HttpResponse, 'headers'>): number | undefined => {
  const serviceNow = Date.parse(headers.date ?? '');
  return readRetryAfter(headers['retry-after'], Number.isNaN(serviceNow) ? Date.now() : serviceNow);
};

/** Milliseconds that a Retry-After header asks for, in seconds or as a date; undefined when it is absent or neither. */
export const readRetryAfter = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Math.min(Number(text) * 1000, longestMs);
  if (!/[a-z]/i.test(text)) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  return Math.min(Math.max(0, at - nowMs), longestMs);
};

// Tells a refusal that may pass from one that stays.

/** So long a service that answered before may refuse, such as during a deployment, before that counts as its answer. */
const graceMs = 5 * 60_000;
/** Questions whose refusals are remembered at once. */
const mostQuestions = 1_000;

/** Refusals that concern every question, by code; the others concern one query. */
const general = new Set([
  'ACCESS_DENIED',
  'LIST_MISSING',
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
    /** The service is known to have answered before. */
    proven: () => {
      proven = true;
    },
    /** The service answered, so an earlier refusal of access, address or question has ended. */
    answered: (question: string) => {
      proven = true;
      since.delete(question);
      for (const code of general) since.delete(code);
    },
    /**
     * A terminal refusal as a transient one, while it may pass: access was proven, and the refusal is younger than
     * the grace. Later as a terminal one that tells its history. Other errors as they are.
     */
    judge: (failure: CallsyncError, question: string) => {
      const key = general.has(failure.code) ? failure.code : question;
      if (!proven || failure.kind !== 'terminal' || (key === question && failure.code !== ofQuestion)) return failure;
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
