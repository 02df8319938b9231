/** Finds out what pages the list: each candidate must lead to the records that follow. */
import { type PaginationConfig, paginationSchema } from '../../../schemas/config/list.ts';
import { valueAt } from '../json/json-path.ts';
import { findLink } from '../pagination/styles.ts';
import { allAt, candidates, type Finding, findEffective, finding } from './candidates.ts';
import { distanceBehind, isRefusal, type Look, leavesBeside, type Params, type ProbeSession } from './session.ts';

const totalName =
  /(^|[._])(total|count|total_?count|total_?(items|results|records|elements|hits)|nb_?(hits|results)|found|matches|hits)$/i;
const cursorName = /cursor|next|continuation|token|after/i;
/** Records of the shortest page. */
const few = 2;

export interface Paging {
  readonly pagination: PaginationConfig;
  readonly total: { readonly total_path?: string; readonly total_header?: string };
  readonly findings: readonly Finding[];
}

/** What the styles are tried on: a page of a third of the beginning, so that calls that come move it by less than half. */
export interface Trial {
  readonly session: ProbeSession;
  readonly short: Look;
  /** The parameters that make it so short. */
  readonly sized: Params;
  /** How far behind the beginning of the list a look begins, in pages; 0 where it is empty, `refused` where it is. */
  readonly pagesBehind: (ask: () => Promise<Look>) => Promise<number | 'refused'>;
}

/** @param sizeParam parameter of the page size, where there is one. */
export const openTrial = async (session: ProbeSession, base: Look, sizeParam: string | undefined): Promise<Trial> => {
  const third = Math.max(few, Math.floor(base.ids.length / 3));
  const sized: Params = sizeParam === undefined ? {} : { [sizeParam]: String(third) };
  const short = sizeParam === undefined ? base : await session.look(sized);
  const pagesBehind: Trial['pagesBehind'] = async (ask) => {
    // The beginning is looked at just before, so that only few calls can come between both.
    const front = await session.front();
    const look = await ask();
    if (isRefusal(look)) return 'refused';
    if (look.records.length === 0) return 0;
    const behind = distanceBehind(front, look);
    return behind === undefined ? Number.POSITIVE_INFINITY : Math.max(0, behind / short.ids.length);
  };
  return { session, short, sized, pagesBehind };
};

/** Which of the names makes a page short. */
export const findSizeParam = async (session: ProbeSession, base: Look, names: readonly string[]) => {
  if (base.records.length <= few) return undefined;
  const isCut = (look: Look): boolean => isRefusal(look) || look.records.length === few;
  const [name] = await findEffective(names, async (some) => isCut(await session.look(allAt(some, few))), 1);
  return name;
};

export const findPaging = async (session: ProbeSession, base: Look, recordsPath: string): Promise<Paging> => {
  const sizeParam = await findSizeParam(session, base, candidates.size);
  const trial = await openTrial(session, base, sizeParam);
  const total = findTotal(base, trial.short, recordsPath, sizeParam !== undefined);
  const [style, words, evidence] = (await findStyle(trial, recordsPath)) ?? [
    { style: 'none' },
    'none',
    'no Link header, no cursor, and no usual page or offset parameter had an effect',
  ];
  const size = await findSize(session, base, sizeParam);
  const sizeEvidence =
    sizeParam === undefined
      ? `none of ${candidates.size.length} usual names changed the number of records`
      : `${sizeParam}=${few} gave ${few} records`;
  return {
    pagination: paginationSchema.parse({
      ...style,
      size,
      ...(sizeParam === undefined ? {} : { size_param: sizeParam }),
    }),
    total,
    findings: [
      finding('pagination.size_param', sizeParam ?? 'none', sizeParam === undefined ? 'likely' : 'sure', sizeEvidence),
      finding(
        total.total_header === undefined ? 'total_path' : 'total_header',
        total.total_path ?? total.total_header ?? 'none',
        sizeParam === undefined || Object.keys(total).length === 0 ? 'likely' : 'sure',
        'a total is at least the number of records, and does not shrink with the page',
      ),
      finding('pagination.style', words, style.style === 'none' ? 'likely' : 'sure', evidence),
      finding('pagination.size', String(size), 'likely', 'the largest page that was given and is not too heavy'),
    ],
  };
};

type Style = readonly [
  pagination: Readonly<Record<string, unknown>> & { readonly style: PaginationConfig['style'] },
  words: string,
  evidence: string,
];

/** Calls that come meanwhile bring a page nearer: less than half of one is no effect. */
const isBehind = (pages: number | 'refused'): boolean => pages !== 'refused' && pages > 0.5;
const follows = 'gave the next records';

const findStyle = async (trial: Trial, recordsPath: string): Promise<Style | undefined> => {
  const next = findLink(trial.short.headers.link, 'next');
  if (next !== undefined && URL.canParse(next, trial.short.url.href))
    return [{ style: 'link', rel: 'next' }, 'Link header', 'an answer had one'];
  return (
    (await findCursor(trial, recordsPath)) ??
    (await findCounted(trial, 'offset', candidates.offset)) ??
    (await findCounted(trial, 'page', candidates.page))
  );
};

const findCursor = async (trial: Trial, recordsPath: string): Promise<Style | undefined> => {
  const { session, short, sized, pagesBehind } = trial;
  const found = [
    ...leavesBeside(short.body, recordsPath).map(([path, value]) => [{ next_path: path }, path, value] as const),
    ...Object.entries(short.headers)
      .filter(([name]) => name !== 'link')
      .map(([name, value]) => [{ next_header: name }, name, value] as const),
  ].filter(([, name, value]) => cursorName.test(name) && ['string', 'number'].includes(typeof value) && value !== '');
  for (const [where, name, given] of found) {
    const value = String(given);
    if (/^(https?:\/\/|\/|\?)/.test(value) && URL.canParse(value, short.url.href)) {
      const url = new URL(value, short.url);
      if (url.origin === short.url.origin && isBehind(await pagesBehind(() => session.follow(url.href))))
        return [{ style: 'cursor', ...where }, `address in ${name}`, follows];
      continue;
    }
    const [param] = await findEffective(
      candidates.cursor,
      async (names) => isBehind(await pagesBehind(() => session.look({ ...sized, ...allAt(names, value) }))),
      1,
    );
    if (param !== undefined)
      return [{ style: 'cursor', cursor_param: param, ...where }, `cursor ${param} from ${name}`, follows];
  }
  return undefined;
};

/** What leads on where pages are counted: the value that asks for the second page, and how far behind it may begin. */
const counted = {
  offset: { second: ({ short }: Trial) => short.ids.length, within: 1.5 },
  page: { second: () => 2, within: Number.POSITIVE_INFINITY },
} as const;

/** The parameter that counts records or pages. */
export const findCounted = async (
  trial: Trial,
  style: keyof typeof counted,
  names: readonly string[],
): Promise<Style | undefined> => {
  const { session, sized, pagesBehind } = trial;
  const { second, within } = counted[style];
  const at = (some: readonly string[], value: number) =>
    pagesBehind(() => session.look({ ...sized, ...allAt(some, value) }));
  const leads = async (some: readonly string[]): Promise<boolean> => {
    const pages = await at(some, second(trial));
    return pages === 'refused' ? some.length > 1 : isBehind(pages) && pages < within;
  };
  const [param] = second(trial) < 2 ? [] : await findEffective(names, leads, 1);
  if (param === undefined) return undefined;
  const evidence = `${param}=${second(trial)} ${follows}`;
  if (style === 'offset') return [{ style, offset_param: param }, `offset (${param})`, evidence];
  const first = isBehind(await at([param], 1)) ? 0 : 1;
  return [{ style, page_param: param, first }, `page (${param}, first is ${first})`, evidence];
};

/** A total is a number beside the records, or in a header, that does not shrink when the page is made shorter. */
const findTotal = (base: Look, short: Look, recordsPath: string, isShorter: boolean): Paging['total'] => {
  const numberOf = (value: unknown): number =>
    typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? Number(value) : Number.NaN;
  const fits = (value: unknown, other: unknown): boolean => {
    const [total, again] = [numberOf(value), numberOf(other)];
    if (!Number.isSafeInteger(total) || total < base.records.length) return false;
    // It may grow meanwhile; a count of the page shrinks with it.
    return !isShorter || (again >= total * 0.9 - 2 && again <= total * 1.1 + 50);
  };
  for (const [path, value] of leavesBeside(base.body, recordsPath))
    if (totalName.test(path) && fits(value, valueAt(short.body, path))) return { total_path: path };
  for (const [name, value] of Object.entries(base.headers))
    if (/total|count/i.test(name) && fits(value, short.headers[name])) return { total_header: name };
  return {};
};

/** A page should not weigh more than this. */
const pageBytes = 16 * 1024 * 1024;

const findSize = async (session: ProbeSession, base: Look, sizeParam: string | undefined): Promise<number> => {
  const affordable = Math.floor(pageBytes / Math.max(1, base.bytes / Math.max(1, base.records.length)));
  for (const size of sizeParam === undefined ? [] : [1_000, 500, 200, 100, 50]) {
    if (size > Math.max(50, affordable)) continue;
    const look = await session.look({ [sizeParam as string]: String(size) });
    const given = look.records.length;
    if (isRefusal(look) || given === 0) continue;
    // Fewer than asked may also be all there is: then a moderate size does no harm.
    return given < size ? Math.max(given, Math.min(size, 100)) : size;
  }
  return Math.max(1, base.records.length);
};
