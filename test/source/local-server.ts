/** A real HTTP server whose answers a test writes itself; counts what it was asked. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, expect } from 'vitest';
import { type SourceConfig, type SourceConfigInput, sourceConfigSchema } from '../../schemas/config/source.ts';
import type { CallsyncError } from '../../src/lib/errors.ts';
import { listen } from '../support/listen.ts';

export type LocalServer = Awaited<ReturnType<typeof startServer>>;

type Asked = [request: IncomingMessage, response: ServerResponse, url: URL, body: string];
export type Handler = (...asked: Asked) => void | Promise<void>;

export const startServer = async (handler: Handler) => {
  const requests: { path: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const { server, url, close } = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    requests.push({ path: request.url ?? '', headers: request.headers, body });
    await handler(request, response, new URL(request.url ?? '/', 'http://local'), body);
  });
  // A client that is slow finds its connection again.
  server.keepAliveTimeout = 120_000;
  return { url, requests, close };
};

export const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};

/** Answers token requests; every token is good. */
export const answerToken = (response: ServerResponse): void =>
  json(response, 200, { access_token: 'token-1', token_type: 'Bearer', expires_in: 3600 });

export const configFor = (url: string, more: Partial<SourceConfigInput> = {}): SourceConfig =>
  sourceConfigSchema.parse({
    ...{ base_url: url, auth_url: url, realm: 'demo', client_id: 'id', client_secret: 'not-a-secret' },
    ...more,
    limits: { requests: 1_000_000, per_s: 1, retry_base_ms: 5, retry_max_ms: 20, ...more.limits },
  });

/** Closers that run after each test of a file, the last first. */
export const useClosers = (): (() => unknown)[] => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  return closers;
};

/** The error with which something is refused. */
export const refusalOf = (promise: Promise<unknown>): Promise<CallsyncError> =>
  promise.then(
    () => expect.fail('it should have been refused'),
    (error: CallsyncError) => error,
  );
