/** The status page over HTTP. Limits keep the cost of slow or hostile clients constant. */
import type { IncomingMessage } from 'node:http';
import { shareReading } from '../metrics/registry.ts';
import { type Access, type Actions, createActionRunner, isActionPath } from './access.ts';
import { script, style } from './assets.ts';
import { drawDayPage, drawPage } from './draw.ts';
import type { PageReader } from './state.ts';

interface PageOptions extends PageReader {
  readonly access: Access;
  /** Milliseconds for which all clients share one reading. */
  readonly everyMs?: number;
  /** Possible actions; absent if no user may act. */
  readonly actions?: Actions | undefined;
}

export type Page = ReturnType<typeof createPage>;

/** Limit for each part of the state and for the whole; a part that takes longer is missing. */
const longestReadMs = 15_000;
/** Questions for single days under way at once; each costs one query. */
const maxQuestions = 4;

const headers = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With `no-referrer`, browsers post forms under the origin `null`.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

const types = {
  html: 'text/html; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  css: 'text/css; charset=utf-8',
  script: 'text/javascript; charset=utf-8',
} as const;

const unknownHost = 'callsync does not know this host name. Add it to operations.hosts, or use the address.\n';

/** Answer of a route, which the server of the port sends. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const answer = (status: number, type: keyof typeof types, body: string, more: Answer['headers'] = {}): Answer => ({
  status,
  headers: { ...headers, 'content-type': types[type], ...more },
  body,
});

const askForToken = { 'www-authenticate': 'Basic realm="callsync", charset="UTF-8"' };

/** Serves the status page. @param everyMs shortest time between two readings of the store, however many look. */
export const createPage = ({ access, readState, readDay, everyMs = 2_000, actions }: PageOptions) => {
  const formToken = actions === undefined ? null : access.formToken;
  // However many clients ask, the state is read at most once in `everyMs`, and only while somebody asks.
  const drawn = shareReading(async () => drawPage(await readState(), formToken), {
    cacheMs: everyMs,
    deadlineMs: longestReadMs,
  });
  const runAction = actions === undefined ? undefined : createActionRunner(access, actions);
  let questions = 0;

  const showVerdicts = async (params: URLSearchParams): Promise<Answer> => {
    const warehouse = params.get('warehouse') ?? '';
    const day = params.get('day') ?? '';
    if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || Number.isNaN(Date.parse(day)) || warehouse.length > 200)
      return answer(400, 'text', 'Give a day such as 2026-01-31, and a warehouse.\n');
    if (questions >= maxQuestions) return answer(503, 'text', 'Too many requests at once; try again.\n');
    questions += 1;
    try {
      return answer(200, 'html', drawDayPage({ warehouse, day }, await readDay(warehouse, day)));
    } finally {
      questions -= 1;
    }
  };

  const routes: Readonly<Record<string, (params: URLSearchParams) => Promise<Answer> | Answer>> = {
    '/': async () => {
      const page = await drawn();
      if (page === undefined) return answer(503, 'text', 'callsync cannot read the state now; try again.\n');
      return answer(200, 'html', page);
    },
    '/verdicts': showVerdicts,
    '/style.css': () => answer(200, 'css', style),
    '/script.js': () => answer(200, 'script', script),
  };

  const isAction = (path: string): boolean => runAction !== undefined && isActionPath(path);
  return {
    /** False if the path does not belong to the page. */
    serves: (path: string) => Object.hasOwn(routes, path) || isAction(path),
    /** Whether the path takes other methods than GET. */
    isAction,
    answer: async (request: IncomingMessage): Promise<Answer> => {
      if (!access.isOurHost(request)) return answer(421, 'text', unknownHost);
      const [path = '', query = ''] = request.url?.split('?', 2) ?? [];
      if (runAction !== undefined && isActionPath(path)) {
        const { status, text, location } = await runAction(request);
        return answer(status, 'text', text, { ...(location && { location }), ...(status === 401 && askForToken) });
      }
      if (access.mayRead(request)) return await (routes[path] as (typeof routes)[string])(new URLSearchParams(query));
      const text = 'A token is required. Enter any user name, and the token as password.\n';
      return answer(401, 'text', text, askForToken);
    },
  };
};
