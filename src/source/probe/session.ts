/** A probe's requests: few, counted, never more than stated. */
import type { ListConfig } from '../../../schemas/config/list.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { isObject, parseQuietly, valueAt } from '../../lib/parse-json.ts';
import { wait } from '../../lib/timing.ts';
import type { Api } from '../http/api.ts';
import type { HttpResponse } from '../http/http.ts';

export type Params = Readonly<Record<string, string>>;

/** One look at the list. */
export type Look = ReturnType<typeof lookAt>;

/** Thrown when a further request would go beyond the stated number. */
export class ProbeSpent extends Error {}

export type ProbeSession = ReturnType<typeof createProbeSession>;

/** Failures that the whole probe tolerates: about a minute of 429s. */
const mostFailures = 20;
const pauseMs = 250;
const refusedPauseMs = 3_000;

const answers = [400, 404, 405, 406, 410, 413, 414, 416, 422, 500, 501];

const isOfRate = (name: string): boolean => /rate-?limit|retry-after/i.test(name);

export const createProbeSession = (api: Api, list: Pick<ListConfig, 'path' | 'params'>, limit: number) => {
  const looks = new Map<string, Promise<Look>>();
  /** Headers of every answer so far whose name speaks of a rate limit. */
  const rateHeaders = new Set<string>();
  const known = {
    /** Calls come to the beginning of the list while it is asked. */
    isLive: false,
    /** Path of the records, once known; `records` of a look come from it. */
    recordsPath: undefined as string | undefined,
  };
  let failures = 0;
  const before = api.counts.requests;
  const used = (): number => api.counts.requests - before;

  /** Waits while the service says that it was too many; each such answer counts as a request too. */
  const request = async (url: URL): Promise<Look> => {
    for (let attempt = 1; ; attempt++) {
      if (used() >= limit) throw new ProbeSpent();
      try {
        const { response } = await api.get(url, (answer) => answer, { accept: answers, retries: 0 });
        for (const name of Object.keys(response.headers).filter(isOfRate)) rateHeaders.add(name);
        const look = lookAt(response, known.recordsPath);
        // A service that is in trouble for a moment says nothing about the question.
        if ((look.status < 500 && look.body !== undefined) || attempt > 1 || used() >= limit) return look;
      } catch (error) {
        if (!(error instanceof CallsyncError) || error.kind === 'terminal' || used() >= limit) throw error;
        failures++;
        if (failures > mostFailures) throw error;
        await wait(error.retryAfterMs ?? (error.code === 'SERVICE_RATE_LIMIT' ? refusedPauseMs : pauseMs));
      }
    }
  };

  const ask = (url: URL, again = known.isLive): Promise<Look> => {
    const asked = again ? undefined : looks.get(url.href);
    const look = asked ?? request(url);
    looks.set(url.href, look);
    return look;
  };

  return {
    known,
    /** Asks the list, by parameters or by an address that it gave; the same question once only, unless the list is live. */
    look: (question: Params | URL, path = list.path) =>
      ask(question instanceof URL ? question : api.address(path, Object.entries(question))),
    /** How the list begins now, without parameters. */
    front: (again?: boolean) => ask(api.address(list.path, Object.entries(list.params)), again),
    used,
    limit,
    rateHeaders,
  };
};

const lookAt = ({ status, body: bytes, headers, url }: HttpResponse, recordsPath: string | undefined) => {
  const body = parseQuietly(bytes);
  const path = recordsPath ?? findRecordsPath(body);
  const found = path === undefined ? undefined : valueAt(body, path);
  const records = Array.isArray(found) ? found.filter(isObject) : [];
  /** Ids of the records, or the values that identify them, in order. */
  const ids = records.map((one) => (typeof one.unique_id === 'string' ? one.unique_id : JSON.stringify(one)));
  /** A refusal of this request, not of our credentials. */
  const isRefusal = status >= 400;
  return { status, isRefusal, records, ids, body, headers, url, bytes: bytes.length };
};

/** Path of the array that looks most like call records: objects with a unique_id first, then the longest. */
export const findRecordsPath = (body: unknown): string | undefined => {
  let best: { readonly path: string; readonly score: number } | undefined;
  const visit = (value: unknown, path: readonly string[]): void => {
    if (Array.isArray(value)) {
      const objects = value.filter(isObject);
      const named = objects.filter((record) => typeof record.unique_id === 'string').length;
      const usual = /^(data|items|results|records|calls|list|rows|content|values)$/i.test(path.at(-1) ?? '') ? 0.5 : 0;
      const score = named * 1_000 + objects.length + usual;
      if (value.length === objects.length && (best === undefined || score > best.score))
        best = { path: path.join('.'), score };
    } else if (isObject(value) && path.length < 4 && typeof value.unique_id !== 'string')
      for (const [key, inner] of Object.entries(value)) if (!key.includes('.')) visit(inner, [...path, key]);
  };
  visit(body, []);
  return best?.path;
};
