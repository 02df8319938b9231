/** The control over HTTP, for a simulator in another process. It changes the simulator, so it asks for a token. */
import { timingSafeEqual } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { CallsyncError } from '../../lib/errors.ts';
import { type Exchange, readBody, send } from '../service/exchange.ts';
import { listMethods, type SimulatorControl, valueMethods } from './control.ts';

const prefix = '/__sim/';

/** Whether a path belongs to the control endpoint and not to the service. */
export const isControlPath = (pathname: string): boolean => pathname.startsWith(prefix);

/**
 * Answers `POST /__sim/{method}`. The body holds the arguments: a JSON array, or one value that is the only argument.
 * 401 without the token; 403 for a foreign Host or Origin, so that no web page reaches it through the user's browser.
 */
export const answerControl = async (exchange: Exchange, control: SimulatorControl, token: string): Promise<void> => {
  const { request, response, url } = exchange;
  if (isForeign(exchange)) return refuse(exchange, 403, 'SIMULATOR_FOREIGN_ORIGIN', 'foreign Host or Origin');
  if (!holdsToken(request.headers.authorization, token))
    return refuse(exchange, 401, 'SIMULATOR_TOKEN_WRONG', 'Authorization: Bearer with the control token is needed');
  const name = url.pathname.slice(prefix.length);
  try {
    const body = (await readBody(request)).toString();
    const given: unknown = body === '' ? [] : JSON.parse(body);
    const args = (Array.isArray(given) ? given : [given]) as never;
    const list = listMethods.find((method) => method === name);
    const value = valueMethods.find((method) => method === name);
    if (list !== undefined) {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      return await pipeline(asLines(Reflect.apply(control[list], control, args)), response);
    }
    if (value === undefined) return await refuse(exchange, 404, 'SIMULATOR_METHOD_UNKNOWN', `no method ${name}`);
    const result: unknown = await Reflect.apply(control[value], control, args);
    await send(exchange, { status: 200, body: { result } });
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

const holdsToken = (header: string | undefined, token: string): boolean => {
  const [given, expected] = [Buffer.from(header ?? ''), Buffer.from(`Bearer ${token}`)];
  return given.length === expected.length && timingSafeEqual(given, expected);
};

async function* asLines(items: AsyncIterable<unknown>): AsyncIterable<string> {
  for await (const item of items) yield `${JSON.stringify(item)}\n`;
}
