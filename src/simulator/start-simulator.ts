/** Starts the simulated call-data service: call API, identity provider, webhook sender, WebSocket. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { type SimulatorOptions, type SimulatorSettings, simulatorOptionsSchema } from '../../schemas/simulator.ts';
import { closeServer } from '../lib/certificate.ts';
import { CallsyncError } from '../lib/errors.ts';
import { isSameText } from '../lib/secret.ts';
import { createChurn, startLiveCalls } from './calls/live-calls.ts';
import { rangeOf } from './calls/population.ts';
import { createClock, createWorld, type World, type WorldChanges } from './calls/world.ts';
import { createControl, isList, type SimulatorControl } from './control/local-control.ts';
import { Counters } from './control/stats.ts';
import { answerCallApi, createRateLimiter, type PageEvent } from './service/call-api.ts';
import { dialectOf } from './service/dialects.ts';
import { type Exchange, injectFault, send } from './service/exchange.ts';
import { createRecords } from './service/record-bytes.ts';
import { answerTokenRequest, createTokenStore } from './service/token-endpoint.ts';
import { createWebhookSender, type WebhookSender } from './service/webhook-sender.ts';
import { addressOf, openWebSocketEndpoint } from './service/websocket-endpoint.ts';

const secretsOf = (settings: SimulatorSettings) => {
  const generated = randomBytes(24).toString('hex');
  return {
    client: settings.tokens.clientSecret ?? randomBytes(24).toString('hex'),
    signing: () => (settings.webhooks.secret === null ? undefined : (settings.webhooks.secret ?? generated)),
  };
};

export type SimulatorAddresses = Awaited<ReturnType<typeof startSimulator>>['addresses'];

/** Everything that does not depend on the ports. */
const createParts = (options: SimulatorOptions) => {
  const settings = simulatorOptionsSchema.parse(options);
  dialectOf(settings.dialect, settings.dialectOverrides);
  const clock = createClock(settings.clock.now);
  const range = rangeOf(settings, clock.now());
  const counters = new Counters();
  const world = createWorld(settings, clock);
  const tokens = createTokenStore(settings);
  const secrets = secretsOf(settings);
  const sender = createWebhookSender({ world, settings, counters, secret: secrets.signing });
  if (settings.keep !== undefined) restoreCalls(settings.keep, world, sender);
  const churn = createChurn(world, settings, counters);
  const listeners = new Set<(event: PageEvent) => void | Promise<void>>();
  const api: Parameters<typeof answerCallApi>[1] = {
    world,
    tokens,
    limiter: createRateLimiter(settings, counters),
    records: createRecords(world, settings),
    dialect: () => dialectOf(settings.dialect, settings.dialectOverrides),
    onPage: async (event) => {
      churn(event);
      for (const listener of listeners) await listener(event);
    },
  };
  const server = createServer({ keepAliveTimeout: 65_000, requestTimeout: 0 });
  const sockets = openWebSocketEndpoint(server, settings, { tokens, counters });
  const control = createControl({ settings, clock, world, sender, tokens, counters, sockets });
  return {
    ...{ settings, clock, range, counters, world, secrets, sender, api, listeners },
    ...{ server, sockets, control, controlToken: randomBytes(24).toString('base64url') },
  };
};

/** The token endpoint of the realm that is configured now. */
const tokenPathOf = ({ tokens }: SimulatorSettings): string => `/realms/${tokens.realm}/protocol/openid-connect/token`;

/** One request after the other gets a number, which seeds its faults. */
const createRouter = (parts: ReturnType<typeof createParts>) => {
  const { settings, clock, counters, api } = parts;
  let inFlight = 0;
  let apiNumber = 0;
  let tokenNumber = 0;
  const answerApi = async (exchange: Exchange): Promise<void> => {
    const { requests } = counters;
    requests.firstAt ??= Date.now();
    requests.lastAt = Date.now();
    requests.inFlightMax = Math.max(requests.inFlightMax, ++inFlight);
    exchange.response.on('close', () => inFlight--);
    api.world.advance();
    await answerCallApi(exchange, api, apiNumber++);
  };
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://simulator');
    const source = addressOf(request);
    const exchange: Exchange = { request, response, url, source, settings, clock, counters, bodyFault: undefined };
    if (url.pathname.startsWith(controlPrefix)) return answerControl(exchange, parts.control, parts.controlToken);
    const { requests } = counters;
    requests.total++;
    if (url.pathname !== tokenPathOf(settings)) {
      if (/\/calls(\/|$)/.test(url.pathname)) return answerApi(exchange);
      requests.other++;
      return send(exchange, { status: 404, body: { detail: 'no such path' } });
    }
    requests.token++;
    if (await injectFault(exchange, 'token', tokenNumber++)) return;
    return answerTokenRequest(exchange, api.tokens, parts.secrets.client);
  };
};

/**
 * Starts a simulator and resolves once every port listens.
 * @throws terminal SIMULATOR_DIALECT_UNKNOWN, or a zod error for options out of range
 */
export const startSimulator = async (options: SimulatorOptions = {}) => {
  const parts = createParts(options);
  const { settings, range, world, secrets, sender, api, listeners, server, control } = parts;
  await once(server.listen(settings.port, settings.host), 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = `http://${settings.host}:${port}`;
  const route = createRouter(parts);
  server.on('request', (request, response) => {
    route(request, response).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(400).end();
    });
  });
  const endLiveCalls = startLiveCalls(world, settings);
  if (settings.webhooks.url !== undefined) sender.start();
  const { version } = api.dialect();
  const addresses = {
    /** base_url of the call API. */
    url: version.by === 'path' ? `${origin}${version.prefix}` : origin,
    /** Everything below it; equals `url` unless the dialect selects its version by path. */
    origin,
    authUrl: origin,
    tokenUrl: `${origin}${tokenPathOf(settings)}`,
    realm: settings.tokens.realm,
    port,
    wsUrl: `ws://${settings.host}:${port}${settings.websocket.path}`,
    clientId: settings.tokens.clientId,
    clientSecret: secrets.client,
    signingSecret: secrets.signing() ?? null,
    /** Bearer token of the control endpoint; random at every start. */
    controlToken: parts.controlToken,
    /** Range of planned call times, `[from, to)`. */
    range: { from: new Date(range.from).toISOString(), to: new Date(range.to).toISOString() },
  };
  return {
    ...control,
    ...addresses,
    /** Addresses and credentials alone, as one plain object that can be printed as JSON. */
    addresses,
    /** Called for every page before its bytes leave; returns a function that ends the subscription. */
    onPage: (listener: (event: PageEvent) => void | Promise<void>) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    /** Closes every socket; resolves when nothing listens any more. */
    stop: async () => {
      endLiveCalls();
      if (settings.keep !== undefined) keepCalls(settings.keep, world, sender);
      sender.close();
      parts.sockets.close();
      await closeServer(server);
    },
  };
};

// The control over HTTP, for a simulator in another process. The control changes the simulator, so it requires a token.

/** Paths that belong to the control endpoint and not to the service. */
const controlPrefix = '/__sim/';

/**
 * Answers `POST /__sim/{method}`. The body holds the arguments: a JSON array, or one value that is the only argument.
 * 401 without the token; 403 for a foreign Host or Origin, so that no web page reaches it through the user's browser.
 */
const answerControl = async (exchange: Exchange, control: SimulatorControl, token: string): Promise<void> => {
  const { request, response, url } = exchange;
  if (isForeign(exchange)) return refuse(exchange, 403, 'SIMULATOR_FOREIGN_ORIGIN', 'foreign Host or Origin');
  if (!isSameText(request.headers.authorization ?? '', `Bearer ${token}`))
    return refuse(exchange, 401, 'SIMULATOR_TOKEN_WRONG', 'Authorization: Bearer with the control token is needed');
  const name = url.pathname.slice(controlPrefix.length);
  try {
    const body = await text(request);
    const given: unknown = body === '' ? [] : JSON.parse(body);
    const args = (Array.isArray(given) ? given : [given]) as never;
    if (!Object.hasOwn(control, name))
      return await refuse(exchange, 404, 'SIMULATOR_METHOD_UNKNOWN', `no method ${name}`);
    const answer: unknown = Reflect.apply(control[name as keyof SimulatorControl], control, args);
    if (!isList(name)) return await send(exchange, { status: 200, body: { result: await answer } });
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    await pipeline(asLines(answer as AsyncIterable<unknown>), response);
  } catch (error) {
    if (response.headersSent) throw error;
    const code = error instanceof CallsyncError ? error.code : 'SIMULATOR_REQUEST_INVALID';
    await refuse(exchange, 400, code, error instanceof Error ? error.message : String(error));
  }
};

const refuse = (exchange: Exchange, status: number, code: string, error: string): Promise<void> =>
  send(exchange, { status, body: { code, error } });

/** A page of another site has an Origin of its own; after DNS rebinding the Host is the name of that site. */
const isForeign = ({ request, settings }: Exchange): boolean => {
  const { host = '', origin } = request.headers;
  const known = [settings.host, 'localhost', '127.0.0.1', '[::1]'].map((name) => `${name}:${request.socket.localPort}`);
  return !known.includes(host) || (origin !== undefined && origin !== `http://${host}`);
};

async function* asLines(items: AsyncIterable<unknown>): AsyncIterable<string> {
  for await (const item of items) yield `${JSON.stringify(item)}\n`;
}

// Calls that the simulator was given beside its plan, and the answers to its webhooks, in a file that outlives the process.

type KeptCalls = { readonly changes: WorldChanges; readonly delivered: readonly [index: number, version: number][] };

/** Reads the file into a world that has just begun; without a file nothing happens. */
const restoreCalls = (file: string, world: World, sender: WebhookSender): void => {
  if (!existsSync(file)) return;
  const { changes, delivered } = JSON.parse(readFileSync(file, 'utf8')) as KeptCalls;
  world.restore(changes);
  for (const [index, version] of delivered) sender.delivered.set(index, version);
};

/** Writes the file for the next start. */
const keepCalls = (file: string, world: World, sender: WebhookSender): void => {
  const kept: KeptCalls = { changes: world.changes(), delivered: [...sender.delivered] };
  writeFileSync(file, JSON.stringify(kept));
};

// Runs a simulator until it is told to stop; for the `simulate` command and the child process.

/**
 * Starts a simulator, reports its addresses once all servers listen, and resolves after `signal` aborted and every socket
 * is closed.
 */
export const runSimulator = async (
  options: SimulatorOptions,
  signal: AbortSignal,
  onReady: (addresses: SimulatorAddresses) => void,
): Promise<void> => {
  const simulator = await startSimulator(options);
  onReady(simulator.addresses);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  await simulator.stop();
};
