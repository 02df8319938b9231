/** Credentials and the one way by which requests leave: the official client, with deadlines and no hidden retries. */

import { readFile } from 'node:fs/promises';
import type { BigQuery } from '@google-cloud/bigquery';
import { isObject, parseQuietly } from '../../lib/parse-json.ts';
import { withinTime } from '../../lib/timing.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { type Fault, faultOf } from './errors.ts';
import type { Pause } from './retry.ts';

export interface RestRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below `/bigquery/v2`, such as `/datasets/calls/tables`; the project is put before it. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly json?: unknown;
  /** Media of a load job: sent with `json` as one multipart/related body to the upload address. */
  readonly media?: readonly Buffer[];
  readonly timeoutMs?: number;
}

/** Resolves with the parsed body; rejects with a `Fault` (a plain object that errors.ts can judge). */
export type Rest = <T>(request: RestRequest) => Promise<T>;

const scopes = ['https://www.googleapis.com/auth/bigquery'];
const boundary = 'callsync_6b1f1e0c9a';

/** How the parts of a warehouse reach BigQuery. */
export interface Connection {
  readonly config: BigqueryWarehouseConfig;
  readonly rest: Rest;
  readonly pause: Pause;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Application default credentials, a key or workload-identity file, impersonation, or none for an emulator. */
export const createClient = async (config: BigqueryWarehouseConfig): Promise<BigQuery> => {
  // Loaded when a BigQuery warehouse is really used: the libraries cost every process 30 MB and a third of a second.
  const { BigQuery } = await import('@google-cloud/bigquery');
  const { GoogleAuth, Impersonated, PassThroughClient } = await import('google-auth-library');
  const { project: projectId, location } = config;
  const base = { projectId, location, userAgent: 'callsync', retryOptions: { autoRetry: false } };
  const key = config.key_file === undefined ? {} : { keyFilename: config.key_file };
  if (config.api_endpoint !== undefined)
    return new BigQuery({ ...base, apiEndpoint: config.api_endpoint, authClient: new PassThroughClient() });
  if (config.key_file !== undefined) await checkKeyFile(config.key_file);
  if (config.impersonate === undefined) return new BigQuery({ ...base, ...key });
  const source = new GoogleAuth({ scopes: ['https://www.googleapis.com/auth/cloud-platform'], ...key });
  const authClient = new Impersonated({
    sourceClient: await source.getClient(),
    targetPrincipal: config.impersonate,
    targetScopes: scopes,
    lifetime: 3600,
  });
  return new BigQuery({ ...base, authClient });
};

const checkKeyFile = async (path: string): Promise<void> => {
  const key = parseQuietly(await readFile(path, 'utf8').catch(() => ''));
  if (isObject(key) && typeof key.type === 'string') return;
  throw { message: 'the key file cannot be read, or holds no credentials' } satisfies Fault;
};

/**
 * Requests use absolute addresses, because the client prefers BIGQUERY_EMULATOR_HOST to its endpoint. Each has our deadline, because the transport has none.
 */
export const createRest = (config: BigqueryWarehouseConfig, requestTimeoutMs: number): Rest => {
  let client: Promise<BigQuery> | undefined;
  return async <T>(request: RestRequest): Promise<T> => {
    client ??= createClient(config);
    const connected = await client.catch((cause) => {
      client = undefined;
      throw faultOf(cause);
    });
    return await send<T>(connected, config.project, request, request.timeoutMs ?? requestTimeoutMs);
  };
};

const send = <T>(client: BigQuery, project: string, request: RestRequest, timeoutMs: number): Promise<T> => {
  const { method = 'GET', json, media } = request;
  const upload = media === undefined ? '' : '/upload';
  const query = { ...request.query, uploadType: media && 'multipart' };
  const headers = { 'Content-Type': `multipart/related; boundary=${boundary}` };
  const options = {
    method,
    uri: `${client.apiEndpoint}${upload}/bigquery/v2/projects/${project}${request.path}`,
    qs: Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)),
    ...(media === undefined ? json !== undefined && { json } : { headers, body: multipart(json, media) }),
  };
  const answer = new Promise<T>((done, fail) => {
    client.request(options as Parameters<BigQuery['request']>[0], (error, body) =>
      error == null ? done(body as T) : fail(faultOf(error, client.apiEndpoint.startsWith('http:'))),
    );
  });
  const late: Fault = { lost: true, message: `no answer within ${timeoutMs} ms` };
  return withinTime(answer, timeoutMs, () => late);
};

const multipart = (json: unknown, media: readonly Buffer[]): Buffer => {
  const head = `--${boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify(json)}\r\n`;
  const part = `--${boundary}\r\nContent-Type: application/octet-stream\r\n\r\n`;
  return Buffer.concat([Buffer.from(head + part), ...media, Buffer.from(`\r\n--${boundary}--\r\n`)]);
};
