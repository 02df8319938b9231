/** A list as the public reference describes it, over records that a test changes while it is read. */
import type { MemoryAnswer } from './memory-list.ts';

export type ServedCall = ReturnType<typeof servedCall>;

export interface ActivateOptions {
  readonly maxOffset?: number;
  readonly maxLimit?: number;
  readonly total?: boolean;
  readonly respond?: (url: URL) => MemoryAnswer | undefined;
}

export const servedCall = (index: number, at: number) => ({
  unique_id: `call-${String(index).padStart(6, '0')}`,
  timestamp: new Date(at).toISOString(),
  qualified: new Date(at + 600_000).toISOString(),
  status: index % 3 === 0 ? 'void' : 'qualified',
  transcript_json: { callData: [{ from: 'out', content: `hello ${index}` }] },
});

export const openActivate = (calls: readonly ServedCall[], options: ActivateOptions = {}) => {
  const { maxOffset = 10_000, maxLimit = 200, total = true } = options;
  let pages = 0;
  const answer = (url: URL): MemoryAnswer => {
    const other = options.respond?.(url);
    if (other !== undefined) return other;
    const single = /^\/calls\/(.+)$/.exec(url.pathname)?.[1];
    if (single !== undefined) {
      const call = calls.find((one) => one.unique_id === single);
      return [call === undefined ? 404 : 200, call ?? { detail: 'unknown' }];
    }
    activate.beforePage(++pages);
    const query = url.searchParams;
    const limit = Math.min(maxLimit, Number(query.get('limit') ?? 50));
    const offset = Number(query.get('offset') ?? 0);
    if (offset > maxOffset) return [400, { detail: 'offset too large' }];
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
    return [200, { ...(total ? { count: matching.length } : {}), data }];
  };
  /** `beforePage` is called before each page is made, with the number of pages so far. */
  const activate = { answer, beforePage: (_pages: number): void => undefined };
  return activate;
};
