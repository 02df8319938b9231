/** Finds out which style of paging a list has: each candidate must lead to the records that follow. */
import type { PaginationConfig } from '../../../schemas/config/list.ts';
import { findLink } from '../pagination/link.ts';
import type { Finding } from './finding.ts';
import { allAt, findEffective, isRefusal, type Look, leavesBeside, type Params, type ProbeSession } from './session.ts';

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

export const findStyle = async (
  session: ProbeSession,
  base: Look,
  short: Look,
  sized: Params,
  recordsPath: string,
): Promise<Style> => {
  const expected = base.ids[short.ids.length];
  const isNext = (look: Look): boolean =>
    look.records.length > 0 &&
    (expected === undefined ? !short.ids.includes(look.ids[0] ?? '') : look.ids[0] === expected);
  return (
    (await findLinkStyle(session, short, isNext)) ??
    (await findCursorStyle(session, short, sized, recordsPath, isNext)) ??
    (await findOffsetStyle(session, base, short, sized)) ??
    (await findPageStyle(session, base, short, sized)) ??
    found(
      { style: 'none' },
      'none',
      'no Link header, no cursor, and no usual page or offset parameter had an effect',
      'likely',
    )
  );
};

const findLinkStyle = async (
  session: ProbeSession,
  short: Look,
  isNext: (look: Look) => boolean,
): Promise<Style | undefined> => {
  const next = findLink(short.headers.link, 'next');
  if (next === undefined || !URL.canParse(next, short.url.href)) return undefined;
  const follows = isNext(await session.follow(new URL(next, short.url).href));
  return found(
    { style: 'link', rel: 'next' },
    'Link header',
    follows ? 'following it gave the next records' : 'there is one',
    follows ? 'sure' : 'likely',
  );
};

const findCursorStyle = async (
  session: ProbeSession,
  short: Look,
  sized: Params,
  recordsPath: string,
  isNext: (look: Look) => boolean,
): Promise<Style | undefined> => {
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
      if (url.origin === short.url.origin && isNext(await session.follow(url.href))) {
        return found({ style: 'cursor', ...where }, `address in ${name}`, 'following it gave the next records');
      }
      continue;
    }
    const [param] = await findEffective(
      cursorParams,
      async (names) => isNext(await session.look({ ...sized, ...allAt(names, value) })),
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

const findOffsetStyle = async (
  session: ProbeSession,
  base: Look,
  short: Look,
  sized: Params,
): Promise<Style | undefined> => {
  if (base.ids.length < 3) return undefined;
  const step = Math.min(short.ids.length, base.ids.length - 1);
  const [param] = await findEffective(
    offsetParams,
    async (names) => {
      const look = await session.look({ ...sized, ...allAt(names, step) });
      return isRefusal(look) || look.ids[0] === base.ids[step];
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

const findPageStyle = async (
  session: ProbeSession,
  base: Look,
  short: Look,
  sized: Params,
): Promise<Style | undefined> => {
  const size = short.ids.length;
  const shows = (look: Look, from: number): boolean =>
    base.ids[from] === undefined
      ? look.records.length > 0 && !base.ids.includes(look.ids[0] ?? '')
      : look.ids[0] === base.ids[from];
  const [param] = await findEffective(
    pageParams,
    async (names) => {
      const look = await session.look({ ...sized, ...allAt(names, 2) });
      return isRefusal(look) || (look.records.length > 0 && (shows(look, size) || shows(look, 2 * size)));
    },
    1,
  );
  if (param === undefined) return undefined;
  const second = await session.look({ ...sized, [param]: '2' });
  if (isRefusal(second)) return undefined;
  const first =
    shows(second, size) && size < base.ids.length
      ? 1
      : shows(second, 2 * size) && 2 * size < base.ids.length
        ? 0
        : await firstPage(session, short, sized, param);
  return found(
    { style: 'page', page_param: param, first },
    `page (${param}, first is ${first})`,
    `${param}=2 gave other records, in order`,
  );
};

const firstPage = async (session: ProbeSession, short: Look, sized: Params, param: string): Promise<number> => {
  const look = await session.look({ ...sized, [param]: '1' });
  return look.ids[0] === short.ids[0] ? 1 : 0;
};
