/** A probe's requests: few, counted, never more than stated. */
import type { ListConfig } from '../../../schemas/config/list.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { parseTimestamp } from '../../lib/timestamps.ts';
import type { Api } from '../http/api.ts';
import type { HttpResponse } from '../http/http.ts';
import { wait } from '../http/wait.ts';
import { pathKeys, valueAt } from '../json/json-path.ts';

export type Params = Readonly<Record<string, string>>;

/** One look at the list. */
export interface Look {
  readonly status: number;
  readonly records: readonly Record<string, unknown>[];
  /** Ids of the records, or of what identifies them, in order. */
  readonly ids: readonly string[];
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly url: URL;
  readonly bytes: number;
}

/** Thrown when a further request would go beyond the stated number. */
export class ProbeSpent extends Error {}

export interface ProbeSession {
  /** Asks the list; the same question is asked once only, unless the list is live. Refusals are looks too. */
  look(params: Params, path?: string): Promise<Look>;
  /** Follows an address that the service gave. */
  follow(url: string): Promise<Look>;
  /** How the list begins now, without parameters; asked once only where calls do not come to its beginning. */
  front(): Promise<Look>;
  /** The same, asked again in any case. */
  again(): Promise<Look>;
  /** Calls come to the beginning of the list while it is asked. */
  isLive: boolean;
  /** Where the records are, once known; decides what `records` of a look holds. */
  recordsPath: string | undefined;
  readonly used: number;
  readonly limit: number;
  /** Headers of every answer so far whose name speaks of a rate limit. */
  readonly rateHeaders: ReadonlySet<string>;
}

/** Failures over the whole probe that are waited out: about a minute of 429s. */
const mostFailures = 20;
const pauseMs = 250;
const refusedPauseMs = 3_000;

const answers = [400, 404, 405, 406, 410, 413, 414, 416, 422, 500, 501];

export const createProbeSession = (
  api: Api,
  { path: listPath, params: baseParams }: Pick<ListConfig, 'path' | 'params'>,
  limit: number,
): ProbeSession => {
  const known = new Map<string, Promise<Look>>();
  const rateHeaders = new Set<string>();
  let failures = 0;
  const before = api.counts.requests;
  const used = (): number => api.counts.requests - before;

  /** Waits while the service says that it was too many; each such answer counts as a request too. */
  const request = async (url: URL): Promise<Look> => {
    for (let attempt = 1; ; attempt++) {
      if (used() >= limit) throw new ProbeSpent();
      try {
        const { response } = await api.get(url, (answer) => answer, { accept: answers, retries: 0 });
        const look = lookAt(response, session.recordsPath);
        // One that is in trouble for a moment says nothing about the question.
        const isTrouble = look.status >= 500 || look.body === undefined;
        if (!isTrouble || attempt > 1 || used() >= limit) return look;
      } catch (error) {
        if (!(error instanceof CallsyncError) || error.kind === 'terminal' || used() >= limit) throw error;
        failures++;
        if (failures > mostFailures) throw error;
        await wait(error.retryAfterMs ?? (error.code === 'SERVICE_RATE_LIMIT' ? refusedPauseMs : pauseMs));
      }
    }
  };

  const ask = async (url: URL, again = false): Promise<Look> => {
    const key = url.href;
    const asked = known.get(key);
    if (asked !== undefined && !again) return asked;
    const promise = request(url);
    known.set(key, promise);
    const look = await promise;
    for (const name of Object.keys(look.headers)) if (/rate-?limit|retry-after/i.test(name)) rateHeaders.add(name);
    return look;
  };

  const session: ProbeSession = {
    look: (params, path = listPath) => ask(api.address(path, Object.entries(params)), session.isLive),
    follow: (url) => ask(new URL(url), session.isLive),
    front: () => ask(api.address(listPath, Object.entries(baseParams)), session.isLive),
    again: () => ask(api.address(listPath, Object.entries(baseParams)), true),
    isLive: false,
    recordsPath: undefined,
    get used() {
      return used();
    },
    limit,
    rateHeaders,
  };
  return session;
};

const lookAt = (response: HttpResponse, recordsPath: string | undefined): Look => {
  const body = parseBody(response.body);
  const path = recordsPath ?? findRecordsPath(body);
  const found = path === undefined ? undefined : valueAt(body, path);
  const records = Array.isArray(found) ? found.filter(isRecord) : [];
  return {
    status: response.status,
    records,
    ids: records.map((record) => (typeof record.unique_id === 'string' ? record.unique_id : JSON.stringify(record))),
    body,
    headers: response.headers,
    url: response.url,
    bytes: response.body.length,
  };
};

const parseBody = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
};

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Path of the array that looks most like call records: objects with a unique_id first, then the longest. */
export const findRecordsPath = (body: unknown): string | undefined => {
  let best: { readonly path: string; readonly score: number } | undefined;
  const visit = (value: unknown, path: readonly string[]): void => {
    if (Array.isArray(value)) {
      const objects = value.filter(isRecord);
      const named = objects.filter((record) => typeof record.unique_id === 'string').length;
      const usual = /^(data|items|results|records|calls|list|rows|content|values)$/i.test(path.at(-1) ?? '') ? 0.5 : 0;
      const score = named * 1_000 + objects.length + usual;
      if (value.length === objects.length && (best === undefined || score > best.score))
        best = { path: path.join('.'), score };
      return;
    }
    if (!isRecord(value) || path.length >= 4) return;
    for (const [key, inner] of Object.entries(value)) if (!key.includes('.')) visit(inner, [...path, key]);
  };
  visit(body, []);
  return best?.path;
};

/** Leaves of the document beside its records, as dotted paths. */
export const leavesBeside = (body: unknown, recordsPath: string): [path: string, value: unknown][] => {
  const leaves: [string, unknown][] = [];
  const visit = (value: unknown, path: readonly string[]): void => {
    if (path.join('.') === recordsPath || path.length > 4) return;
    if (isRecord(value)) for (const [key, inner] of Object.entries(value)) visit(inner, [...path, key]);
    else if (!Array.isArray(value)) leaves.push([path.join('.'), value]);
  };
  if (pathKeys(recordsPath).length > 0) visit(body, []);
  return leaves;
};

/** Top-level fields of records that hold a time nearly everywhere. */
export const timeFields = (records: readonly Record<string, unknown>[]): string[] => {
  const counts = new Map<string, number>();
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const looksLikeTime = typeof value === 'string' || /time|date|_at$|qualified/i.test(name);
      if (looksLikeTime && parseTimestamp(value) !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return [...counts].filter(([, count]) => count >= records.length * 0.8).map(([name]) => name);
};

/**
 * By how many records a look begins behind another; undefined where they share none. The records between both are
 * those that came to the beginning meanwhile.
 */
export const distanceBehind = (front: Look, look: Look): number | undefined => {
  for (const [index, id] of look.ids.entries()) {
    const place = front.ids.indexOf(id);
    if (place >= 0) return place - index;
  }
  return undefined;
};

/** A refusal that is about the question, rather than about us. */
export const isRefusal = (look: Look): boolean => look.status >= 400;
