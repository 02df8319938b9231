/** /__sim: the control over HTTP, for a simulator in another process. Lists are NDJSON. */
import { pipeline } from 'node:stream/promises';
import { CallsyncError } from '../../errors.ts';
import type { TruthQuery } from '../calls/truth.ts';
import { type Exchange, readBody, send } from '../service/exchange.ts';
import type { SimulatorControl } from './control.ts';

const prefix = '/__sim/';

/** Sections with an address of their own, each short for `configure`. */
const sections: Readonly<Record<string, string>> = {
  faults: 'faults',
  tokens: 'tokens',
  'rate-limit': 'rateLimit',
  live: 'live',
  churn: 'churn',
  websocket: 'websocket',
  mrcp: 'mrcp',
};

type Handler = (control: SimulatorControl, body: never) => Promise<unknown>;

const posts: Readonly<Record<string, Handler>> = {
  configure: (control, body) => control.configure(body),
  clock: (control, body) => control.setClock(body),
  edit: (control, body) => control.edit(body),
  insert: (control, body) => control.insert(body),
  delete: (control, body) => control.delete(body),
  'webhooks/start': (control, body) => control.startWebhooks(body),
  'webhooks/stop': (control, body: { discard?: boolean }) => control.stopWebhooks(body.discard),
  'webhooks/send': async (control, body) => ({ queued: await control.sendWebhooks(body) }),
  'webhooks/drain': (control) => control.drainWebhooks(),
  'tokens/revoke': (control) => control.revokeTokens(),
  'websocket/restart': (control, body: { downMs?: number }) => control.restartWebSocket(body.downMs),
  'websocket/close': (control, body: { code?: number }) => control.closeWebSockets(body.code),
};

async function* asLines(items: AsyncIterable<unknown>): AsyncIterable<string> {
  for await (const item of items) yield `${JSON.stringify(item)}\n`;
}

const sendLines = async ({ response }: Exchange, items: AsyncIterable<unknown>): Promise<void> => {
  response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
  await pipeline(asLines(items), response);
};

const truthQuery = (parameters: URLSearchParams): TruthQuery => ({
  light: parameters.has('light'),
  knowable: parameters.has('knowable'),
  ...(parameters.has('after') ? { after: Number(parameters.get('after')) } : {}),
  ...(parameters.has('statuses') ? { statuses: String(parameters.get('statuses')).split(',') } : {}),
  ...(parameters.has('limit') ? { limit: Number(parameters.get('limit')) } : {}),
});

const sendOr404 = (exchange: Exchange, value: unknown): Promise<void> =>
  send(
    exchange,
    value === undefined ? { status: 404, body: { error: 'not found' } } : { status: 200, body: value as object },
  );

const answerGet = async (exchange: Exchange, control: SimulatorControl, path: string): Promise<void> => {
  const { searchParams } = exchange.url;
  if (path === 'truth') return sendLines(exchange, control.truth(truthQuery(searchParams)));
  if (path === 'deliveries') return sendLines(exchange, control.deliveries());
  if (path === 'stats') return send(exchange, { status: 200, body: await control.stats() });
  const [, callId] = /^truth\/([^/]+)$/.exec(path) ?? [];
  if (callId === undefined) return sendOr404(exchange, undefined);
  const version = searchParams.get('version');
  if (version === null) return sendOr404(exchange, await control.truthOf(callId));
  const delivered = searchParams.get('delivered') ?? undefined;
  const document = await control.documentAt(
    callId,
    Number(version),
    delivered === undefined ? undefined : Number(delivered),
  );
  return sendOr404(exchange, document);
};

const answerPost = async (exchange: Exchange, control: SimulatorControl, path: string): Promise<void> => {
  const text = (await readBody(exchange.request)).toString();
  const body = (text === '' ? {} : JSON.parse(text)) as never;
  const section = sections[path];
  const handler = section === undefined ? posts[path] : () => control.configure({ [section]: body });
  if (handler === undefined) return sendOr404(exchange, undefined);
  await send(exchange, { status: 200, body: ((await handler(control, body)) ?? {}) as object });
};

export const isControlPath = (pathname: string): boolean => pathname.startsWith(prefix);

export const answerControl = async (exchange: Exchange, control: SimulatorControl): Promise<void> => {
  const path = exchange.url.pathname.slice(prefix.length);
  try {
    await (exchange.request.method === 'POST'
      ? answerPost(exchange, control, path)
      : answerGet(exchange, control, path));
  } catch (error) {
    if (exchange.response.headersSent) throw error;
    const code = error instanceof CallsyncError ? error.code : 'SIMULATOR_REQUEST_INVALID';
    await send(exchange, {
      status: 400,
      body: { code, error: error instanceof Error ? error.message : String(error) },
    });
  }
};
