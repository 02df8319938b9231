/**
 * Readers and actors of the page, and its actions: posted forms. Each request stands alone, without session and
 * cookie.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { CallsyncError } from '../../lib/errors.ts';
import { isSameText } from '../../lib/secret.ts';

interface Actor {
  readonly name: string;
  /** Read at each request, so that a changed file takes effect. */
  readonly token: () => string;
}

export type Access = ReturnType<typeof createAccess>;

/** Applies the rules to requests. Tokens are compared in constant time; the token of forms is new in each process. */
export const createAccess = (rules: {
  /** Reading needs no token: the port listens on loopback alone. */
  readonly isOpen: boolean;
  /** May read, and may not act: the token of /metrics. */
  readonly readToken: (() => string) | undefined;
  /** May read and act, each under its own name. */
  readonly users: readonly Actor[];
  /** Names besides `localhost` under which browsers may ask. */
  readonly hosts: readonly string[];
}) => {
  const formToken = randomBytes(32).toString('base64url');
  const hosts = new Set(['localhost', ...rules.hosts.map((host) => host.toLowerCase())]);

  const actorOf = (request: IncomingMessage): string | undefined => {
    const given = credentialsOf(request.headers.authorization);
    if (given === undefined) return undefined;
    return rules.users.find(
      ({ name, token }) => (given.name === undefined || given.name === name) && isSameText(given.secret, token()),
    )?.name;
  };

  return {
    /** Is in every form of the page. */
    formToken,
    /** User of the request's token; undefined if no user may act. */
    actorOf,
    /**
     * False for a foreign name. A foreign page can let its name resolve to our address (DNS rebinding) and would
     * count as the same origin. An address has no such name.
     */
    isOurHost: ({ headers: { host = '' } }: IncomingMessage) => {
      const name = nameOf(host);
      return name !== undefined && (hosts.has(name) || isIP(name.replace(/^\[|\]$/g, '')) !== 0);
    },
    mayRead: (request: IncomingMessage) => {
      if (rules.isOpen) return true;
      if (actorOf(request) !== undefined) return true;
      const given = credentialsOf(request.headers.authorization);
      return given !== undefined && rules.readToken !== undefined && isSameText(given.secret, rules.readToken());
    },
    /** Whether a form of our own page sent it, and not that of another origin (CSRF). */
    isOurForm: (request: IncomingMessage, token: string) => {
      const { origin, host, 'sec-fetch-site': site } = request.headers;
      if (origin === undefined || host === undefined) return false;
      if (site !== undefined && site !== 'same-origin') return false;
      return (origin === `http://${host}` || origin === `https://${host}`) && isSameText(token, formToken);
    },
  };
};

/** Host name in a Host header, without the port. */
const nameOf = (host: string) => /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/.exec(host.toLowerCase())?.[1];

/** Bearer, or Basic as browsers ask for it. */
const credentialsOf = (authorization = ''): { readonly name?: string; readonly secret: string } | undefined => {
  const [, scheme = '', value = ''] = /^(Bearer|Basic) (\S+)$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() === 'bearer') return { secret: value };
  if (scheme.toLowerCase() !== 'basic') return undefined;
  const text = Buffer.from(value, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { name: text.slice(0, colon), secret: text.slice(colon + 1) };
};

/** Runs the action and describes the result. @throws CallsyncError that the page shows to the operator */
export type Action = (fields: URLSearchParams, actor: string) => Promise<string>;

type ActionName = 'pause' | 'resume';
export type Actions = Readonly<Record<ActionName, Action>>;

type ActionAnswer = { readonly status: number; readonly text: string; readonly location?: string };

const prefix = '/actions/';
const maxBodyBytes = 4_096;
/** Actions under way at once. */
const maxActions = 4;

export const isActionPath = (path: string): boolean => path.startsWith(prefix);

/** Runs the action that a request asks for, if its sender may. 303 = done, back to the page. */
export const createActionRunner = (access: Access, actions: Actions) => {
  let underWay = 0;
  const run = async (request: IncomingMessage): Promise<ActionAnswer> => {
    if (request.method !== 'POST') return { status: 405, text: 'Actions are posted.\n' };
    const name = (request.url ?? '').slice(prefix.length).split('?', 1)[0] ?? '';
    if (!Object.hasOwn(actions, name)) return { status: 404, text: 'There is no such action.\n' };
    const body = await readBody(request);
    if (body === undefined) return { status: 413, text: 'The form is too large.\n' };
    const fields = new URLSearchParams(body);
    // Before the question for a token, so that no foreign page can make the browser ask for one.
    if (!access.isOurForm(request, fields.get('form') ?? ''))
      return { status: 403, text: 'This form is not of this page as it is now. Load the page again.\n' };
    const actor = access.actorOf(request);
    if (actor === undefined) return { status: 401, text: 'A token of operations.users is needed.\n' };
    try {
      return { status: 303, text: await actions[name as ActionName](fields, actor), location: '/#events' };
    } catch (error) {
      if (!(error instanceof CallsyncError)) throw error;
      const text = `${error.code}: ${error.message} ${error.hint ?? ''}\n`;
      return { status: error.kind === 'terminal' ? 400 : 503, text };
    }
  };
  return async (request: IncomingMessage): Promise<ActionAnswer> => {
    if (underWay >= maxActions) return { status: 503, text: 'Too many actions at once; try again.\n' };
    underWay += 1;
    return await run(request).finally(() => {
      underWay -= 1;
    });
  };
};

const readBody = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};
