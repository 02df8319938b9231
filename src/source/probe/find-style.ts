/** Finds out which style of paging a list has: each candidate must lead to the records that follow. */
import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { findLink } from '../pagination/link.ts';
import type { Finding } from './finding.ts';
import {
  allAt,
  distanceBehind,
  findEffective,
  isRefusal,
  type Look,
  leavesBeside,
  type Params,
  type ProbeSession,
} from './session.ts';

const offsetParams = ['offset', 'skip', 'start', 'startIndex', 'start_index', 'from_index'];
const pageParams = ['page', 'pageNumber', 'page_number', 'pageIndex', 'page_index', 'pageNo', 'p', 'page[number]'];
const cursorParams = [
  'cursor',
  'after',
  'next',
  'page_token',
  'pageToken',
  'next_token',
  'nextToken',
  'next_cursor',
  'starting_after',
  'continuation',
  'token',
  'page',
];
const cursorName = /cursor|next|continuation|token|after/i;
export interface Style {
  readonly pagination: Partial<PaginationConfig> & { readonly style: PaginationConfig['style'] };
  readonly finding: Finding;
}

const found = (
  pagination: Style['pagination'],
  words: string,
  evidence: string,
  confidence: Finding['confidence'] = 'sure',
): Style => ({
  pagination,
  finding: { key: 'pagination.style', found: words, confidence, evidence },
});

/** What the styles are tried on. */
interface Trial {
  readonly session: ProbeSession;
  /** A page of `step` records, and the parameters that make it so. */
  readonly short: Look;
  readonly sized: Params;
  readonly step: number;
  readonly recordsPath: string;
  /** How far behind the beginning of the list a look begins, in pages; 0 where it is empty, `refused` where it is. */
  readonly pagesBehind: (ask: () => Promise<Look>) => Promise<number | 'refused'>;
}

export const findStyle = async (
  session: ProbeSession,
  short: Look,
  sized: Params,
  recordsPath: string,
): Promise<Style> => {
  const step = short.ids.length;
  const pagesBehind: Trial['pagesBehind'] = async (ask) => {
    // The beginning is looked at just before, so that only few calls can come between both.
    const front = await session.front();
    const look = await ask();
    if (isRefusal(look)) return 'refused';
    if (look.records.length === 0) return 0;
    const behind = distanceBehind(front, look);
    return behind === undefined ? Number.POSITIVE_INFINITY : Math.max(0, behind / step);
  };
  const trial: Trial = { session, short, sized, step, recordsPath, pagesBehind };
  return (
    (await findLinkStyle(trial)) ??
    (await findCursorStyle(trial)) ??
    (await findOffsetStyle(trial)) ??
    (await findPageStyle(trial)) ??
    found(
      { style: 'none' },
      'none',
      'no Link header, no cursor, and no usual page or offset parameter had an effect',
      'likely',
    )
  );
};

/** Calls that come meanwhile bring a page nearer: less than half of one is no effect. */
const isBehind = (pages: number | 'refused'): boolean => pages !== 'refused' && pages > 0.5;

const findLinkStyle = async ({ session, short, pagesBehind }: Trial): Promise<Style | undefined> => {
  const next = findLink(short.headers.link, 'next');
  if (next === undefined || !URL.canParse(next, short.url.href)) return undefined;
  const follows = isBehind(await pagesBehind(() => session.follow(new URL(next, short.url).href)));
  return found(
    { style: 'link', rel: 'next' },
    'Link header',
    follows ? 'following it gave the next records' : 'there is one',
    follows ? 'sure' : 'likely',
  );
};

const findCursorStyle = async (trial: Trial): Promise<Style | undefined> => {
  const { session, short, sized, recordsPath, pagesBehind } = trial;
  const inBody = leavesBeside(short.body, recordsPath)
    .filter(
      ([path, value]) =>
        cursorName.test(path) && (typeof value === 'string' || typeof value === 'number') && value !== '',
    )
    .map(([path, value]) => ({ where: { next_path: path }, name: path, value: String(value) }));
  const inHeaders = Object.entries(short.headers)
    .filter(([name, value]) => cursorName.test(name) && value !== '' && name !== 'link')
    .map(([name, value]) => ({ where: { next_header: name }, name: `header ${name}`, value }));
  for (const { where, name, value } of [...inBody, ...inHeaders]) {
    if (/^(https?:\/\/|\/|\?)/.test(value) && URL.canParse(value, short.url.href)) {
      const url = new URL(value, short.url);
      if (url.origin === short.url.origin && isBehind(await pagesBehind(() => session.follow(url.href)))) {
        return found({ style: 'cursor', ...where }, `address in ${name}`, 'following it gave the next records');
      }
      continue;
    }
    const [param] = await findEffective(
      cursorParams,
      async (names) => isBehind(await pagesBehind(() => session.look({ ...sized, ...allAt(names, value) }))),
      1,
    );
    if (param !== undefined) {
      return found(
        { style: 'cursor', cursor_param: param, ...where },
        `cursor ${param} from ${name}`,
        'it gave the next records',
      );
    }
  }
  return undefined;
};

const findOffsetStyle = async ({ session, short, sized, step, pagesBehind }: Trial): Promise<Style | undefined> => {
  if (short.ids.length < 2) return undefined;
  const [param] = await findEffective(
    offsetParams,
    async (names) => {
      const pages = await pagesBehind(() => session.look({ ...sized, ...allAt(names, step) }));
      return pages === 'refused' || (isBehind(pages) && pages < 1.5);
    },
    1,
  );
  if (param === undefined || isRefusal(await session.look({ ...sized, [param]: String(step) }))) return undefined;
  return found(
    { style: 'offset', offset_param: param },
    `offset (${param})`,
    `${param}=${step} started at record ${step + 1}`,
  );
};

const findPageStyle = async ({ session, sized, pagesBehind }: Trial): Promise<Style | undefined> => {
  const [param] = await findEffective(
    pageParams,
    async (names) => {
      const pages = await pagesBehind(() => session.look({ ...sized, ...allAt(names, 2) }));
      return pages === 'refused' || isBehind(pages);
    },
    1,
  );
  if (param === undefined || isRefusal(await session.look({ ...sized, [param]: '2' }))) return undefined;
  const first = isBehind(await pagesBehind(() => session.look({ ...sized, [param]: '1' }))) ? 0 : 1;
  return found(
    { style: 'page', page_param: param, first },
    `page (${param}, first is ${first})`,
    `${param}=2 gave other records, in order`,
  );
};
