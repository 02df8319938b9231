import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { forwardOnly, type Pagination } from './pagination.ts';

/** The Link header (RFC 8288) leads on; it ends where there is none of the relation. */
export const createLinkPagination = (config: Extract<PaginationConfig, { style: 'link' }>): Pagination => ({
  ...forwardOnly(config),
  next: (seen) => {
    const target = findLink(seen.headers.link, config.rel);
    if (target === undefined || !URL.canParse(target, seen.url.href)) return undefined;
    return {
      params: {},
      size: seen.request.size,
      url: new URL(target, seen.url).href,
      offset: seen.request.offset + seen.records,
      index: seen.request.index + 1,
    };
  },
});

/** Target of the first link of the relation; relations are compared without case, several may share a link. */
export const findLink = (header: string | undefined, rel: string): string | undefined => {
  if (header === undefined || header.length > 16_384) return undefined;
  for (const link of header.matchAll(/<([^>]*)>([^<]*)/g)) {
    const [, target, parameters = ''] = link;
    const named = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters);
    const relations = (named?.[1] ?? named?.[2] ?? '').toLowerCase().split(/\s+/);
    if (relations.includes(rel.toLowerCase())) return target;
  }
  return undefined;
};
