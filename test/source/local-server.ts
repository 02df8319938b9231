/** A real HTTP server whose answers a test writes itself; counts what it was asked. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import { type SourceConfig, type SourceConfigInput, sourceConfigSchema } from '../../schemas/config/source.ts';
import type { CallsyncError } from '../../src/lib/errors.ts';
import { JsonRecord } from '../../src/lib/json-record.ts';
import { createSource, type Source } from '../../src/source/source.ts';
import { listen } from '../support/listen.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse, url: URL) => void | Promise<void>;

/** @param atEnd takes what is to be closed, by default at the end of the test; tests that run at once have one each. */
export const startServer = async (handler: Handler, atEnd: (close: () => Promise<void>) => void = onTestFinished) => {
  const requests: { path: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const { server, url, close } = await listen(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    requests.push({ path: request.url ?? '', headers: request.headers, body });
    await handler(request, response, new URL(request.url ?? '/', 'http://local'));
  });
  // A client that is slow finds its connection again.
  server.keepAliveTimeout = 120_000;
  atEnd(close);
  return { url, requests };
};

/** A source, until the end of the test. */
export const openSource = (config: SourceConfig, atEnd: (close: () => Promise<void>) => void = onTestFinished) => {
  const source = createSource(config);
  atEnd(source.close);
  return source;
};

/** Such a source of such a server. */
export const serve = async (handler: Handler, config?: Partial<SourceConfigInput>, atEnd = onTestFinished) => {
  const server = await startServer(handler, atEnd);
  return { server, source: openSource(configFor(server.url, config), atEnd) };
};

/** The records that the list gives. */
/** As JSON.parse gives it. */
export const plain = (value: unknown): unknown => (value instanceof JsonRecord ? value.toJSON() : value);

export const readAll = async (source: Source): Promise<unknown[]> => {
  const records: unknown[] = [];
  for await (const page of source.list.readPages({}))
    for (const part of page.parts(1_000)) records.push(...part.map(({ value }) => plain(value)));
  return records;
};

export const json = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
};

/** Gives every request the same answer. */
export const always =
  (...answer: [status: number, body: unknown, headers?: Record<string, string>]): Handler =>
  (_, response) =>
    json(response, ...answer);

const goodToken = () => ({ access_token: 'token-1', token_type: 'Bearer', expires_in: 3600 });
/** Answers token requests with what is issued, by default a token that is good, and leaves the others to the handler. */
export const withTokens =
  (handler: Handler, issue: () => object | Promise<object> = goodToken): Handler =>
  async (request, response, url) =>
    url.pathname.startsWith('/realms/') ? json(response, 200, await issue()) : handler(request, response, url);

export const configFor = (url: string, more: Partial<SourceConfigInput> = {}): SourceConfig =>
  sourceConfigSchema.parse({
    ...{ base_url: url, auth_url: url, realm: 'demo', client_id: 'id', client_secret: 'not-a-secret' },
    ...more,
    limits: { requests: 1_000_000, per_s: 1, retry_base_ms: 5, retry_max_ms: 20, ...more.limits },
  });

/** The error with which something is refused. */
export const refusalOf = (promise: Promise<unknown>): Promise<CallsyncError> =>
  promise.then(
    () => expect.fail('it should have been refused'),
    (error: CallsyncError) => error,
  );
