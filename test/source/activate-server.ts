/** A list as the public reference describes it, over records that a test changes while it is read. */
import type { ServerResponse } from 'node:http';
import { answerToken, json, type LocalServer, startServer } from './local-server.ts';

export type ServedCall = ReturnType<typeof servedCall>;

export interface ActivateServer extends LocalServer {
  readonly calls: ServedCall[];
  /** Called before each page is made, with the number of list requests so far. */
  beforePage: (requests: number, url: URL) => void;
}

export interface ActivateOptions {
  readonly maxOffset?: number;
  readonly maxLimit?: number;
  readonly total?: boolean;
  readonly respond?: (response: ServerResponse, url: URL) => boolean;
}

export const servedCall = (index: number, at: number) => ({
  unique_id: `call-${String(index).padStart(6, '0')}`,
  timestamp: new Date(at).toISOString(),
  qualified: new Date(at + 600_000).toISOString(),
  status: index % 3 === 0 ? 'void' : 'qualified',
  transcript_json: { callData: [{ from: 'out', content: `hello ${index}` }] },
});

export const startActivate = async (calls: ServedCall[], options: ActivateOptions = {}): Promise<ActivateServer> => {
  const { maxOffset = 10_000, maxLimit = 200, total = true } = options;
  let pages = 0;
  const server = await startServer((request, response, url) => {
    if (url.pathname.startsWith('/realms/')) return answerToken(response);
    if (request.headers.authorization !== 'bearer token-1') return json(response, 401, { detail: 'no' });
    if (options.respond?.(response, url)) return;
    const single = /^\/calls\/(.+)$/.exec(url.pathname)?.[1];
    if (single !== undefined) {
      const call = calls.find((one) => one.unique_id === single);
      return json(response, call === undefined ? 404 : 200, call ?? { detail: 'unknown' });
    }
    activate.beforePage(++pages, url);
    const query = url.searchParams;
    const limit = Math.min(maxLimit, Number(query.get('limit') ?? 50));
    const offset = Number(query.get('offset') ?? 0);
    if (offset > maxOffset) return json(response, 400, { detail: 'offset too large' });
    const order = query.get('order') === 'qualified' ? 'qualified' : 'timestamp';
    const statuses = (query.get('status') ?? 'qualified,void').split(',');
    const instant = (name: string, unbounded: number): number => {
      const text = query.get(name);
      return text === null ? unbounded : Date.parse(text);
    };
    const bounds = (['timestamp', 'qualified'] as const)
      .map((axis) => ({
        axis,
        from: instant(`${axis}_from`, Number.NEGATIVE_INFINITY),
        to: instant(`${axis}_to`, Number.POSITIVE_INFINITY),
      }))
      .filter(({ from, to }) => Number.isFinite(from) || Number.isFinite(to));
    const within = (call: ServedCall): boolean =>
      statuses.includes(call.status) &&
      bounds.every(({ axis, from, to }) => {
        const at = Date.parse(call[axis]);
        return at >= from && at <= to;
      });
    const matching = calls
      .filter(within)
      .sort((a, b) => (a[order] < b[order] ? -1 : a[order] > b[order] ? 1 : a.unique_id < b.unique_id ? -1 : 1));
    const excluded = query.get('exclude')?.split(',') ?? [];
    const data = matching
      .slice(offset, offset + limit)
      .map((call) => Object.fromEntries(Object.entries(call).filter(([name]) => !excluded.includes(name))));
    return json(response, 200, { ...(total ? { count: matching.length } : {}), data });
  });
  const activate: ActivateServer = { ...server, calls, beforePage: () => undefined };
  return activate;
};
