/** The status page over HTTP. Limits keep the cost of slow or hostile clients constant. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { formatInstant } from '../../lib/count-of.ts';
import { type SharedReading, shareReading } from '../metrics/registry.ts';
import { type Access, type Actions, createActionRunner, isActionPath } from './access.ts';
import { script, style } from './assets.ts';
import { drawDayPage, drawPage, drawSections, type Section } from './draw.ts';
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

/** Serves the status page. @param everyMs shortest time between two readings of the store, however many look. */
export const createPage = ({ access, readState, readDay, everyMs = 2_000, actions }: PageOptions) => {
  const formToken = actions === undefined ? null : access.formToken;
  // However many clients ask, the state is read at most once in `everyMs`, and only while somebody asks.
  const snapshots = shareReading(
    async (): Promise<Snapshot> => {
      const state = await readState();
      const sections = drawSections(state, formToken);
      return { at: state.at, sections, page: drawPage(state, sections) };
    },
    { cacheMs: everyMs, deadlineMs: longestReadMs },
  );
  const runAction = actions === undefined ? undefined : createActionRunner(access, actions);
  const stream = createEventStream(snapshots, everyMs);
  let questions = 0;

  const answer = (response: ServerResponse, status: number, type: keyof typeof types, body: string): void => {
    response.writeHead(status, { ...headers, 'content-type': types[type] }).end(body);
  };

  const showVerdicts = async (response: ServerResponse, params: URLSearchParams): Promise<void> => {
    const warehouse = params.get('warehouse') ?? '';
    const day = params.get('day') ?? '';
    if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || Number.isNaN(Date.parse(day)) || warehouse.length > 200)
      return answer(response, 400, 'text', 'Give a day such as 2026-01-31, and a warehouse.\n');
    if (questions >= maxQuestions) return answer(response, 503, 'text', 'Too many requests at once; try again.\n');
    questions += 1;
    try {
      answer(response, 200, 'html', drawDayPage({ warehouse, day }, await readDay(warehouse, day)));
    } finally {
      questions -= 1;
    }
  };

  const routes: Readonly<Record<string, (response: ServerResponse, params: URLSearchParams) => Promise<void> | void>> =
    {
      '/': async (response) => {
        const page = (await snapshots())?.page;
        if (page === undefined)
          return answer(response, 503, 'text', 'callsync cannot read the state now; try again.\n');
        answer(response, 200, 'html', page);
      },
      '/verdicts': showVerdicts,
      '/style.css': (response) => answer(response, 200, 'css', style),
      '/script.js': (response) => answer(response, 200, 'script', script),
      '/events': (response) => {
        if (!stream.join(response)) return answer(response, 503, 'text', 'Too many readers.\n');
        response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
        response.write('retry: 5000\n\n');
      },
    };

  return {
    /** False if the path does not belong to the page. */
    serves: (path: string) => Object.hasOwn(routes, path) || (runAction !== undefined && isActionPath(path)),
    close: () => stream.close(),
    handle: async (request: IncomingMessage, response: ServerResponse) => {
      if (!access.isOurHost(request)) return answer(response, 421, 'text', unknownHost);
      const [path = '', query = ''] = request.url?.split('?', 2) ?? [];
      if (runAction !== undefined && isActionPath(path)) {
        const { status, text } = await runAction(request, response);
        return answer(response, status, 'text', text);
      }
      if (!access.mayRead(request)) {
        response.setHeader('www-authenticate', 'Basic realm="callsync", charset="UTF-8"');
        return answer(response, 401, 'text', 'A token is required. Enter any user name, and the token as password.\n');
      }
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.setHeader('allow', 'GET, HEAD');
        return answer(response, 405, 'text', '');
      }
      await routes[path]?.(response, new URLSearchParams(query));
    },
  };
};

type Snapshot = { readonly at: number; readonly page: string; readonly sections: readonly Section[] };

/** More readers than this get the page without its updates. */
const maxReaders = 16;
/** Disconnect clients with more unread bytes than this; browsers reconnect. */
const maxUnsentBytes = 256 * 1024;

/** Sends the sections that changed to the browsers that look at the page. */
const createEventStream = (snapshots: SharedReading<Snapshot>, everyMs: number) => {
  const readers = new Map<ServerResponse, Map<string, string>>();
  let timer: NodeJS.Timeout | undefined;

  const send = (response: ServerResponse, seen: Map<string, string>, snapshot: Snapshot): void => {
    if (response.writableLength > maxUnsentBytes) {
      response.destroy();
      return;
    }
    for (const { id, content } of snapshot.sections) {
      if (seen.get(id) === content.text) continue;
      seen.set(id, content.text);
      response.write(`event: section\ndata: ${JSON.stringify({ id, html: content.text })}\n\n`);
    }
    response.write(`event: drawn\ndata: ${formatInstant(snapshot.at)}\n\n`);
  };

  const sendAll = async (): Promise<void> => {
    const snapshot = await snapshots();
    if (snapshot !== undefined) for (const [response, seen] of readers) send(response, seen, snapshot);
    timer = readers.size === 0 ? undefined : setTimeout(() => void sendAll(), everyMs);
  };

  return {
    /** False when there are too many readers. */
    join: (response: ServerResponse) => {
      if (readers.size >= maxReaders) return false;
      readers.set(response, new Map());
      response.on('close', () => readers.delete(response));
      timer ??= setTimeout(() => void sendAll(), 0);
      return true;
    },
    close: () => {
      clearTimeout(timer);
      for (const response of readers.keys()) response.destroy();
    },
  };
};
