/** Finds out what pages the list. */
import { type PaginationConfig, paginationSchema } from '../../../schemas/config/list.ts';
import { valueAt } from '../json/json-path.ts';
import { findStyle } from './find-style.ts';
import type { Finding } from './finding.ts';
import { allAt, findEffective, isRefusal, type Look, leavesBeside, type Params, type ProbeSession } from './session.ts';

const sizeParams = [
  'limit',
  'per_page',
  'page_size',
  'pageSize',
  'size',
  'perPage',
  'max_results',
  'maxResults',
  'take',
  'count',
  'top',
  'page[size]',
];
const totalName =
  /(^|[._])(total|count|total_?count|total_?(items|results|records|elements|hits)|nb_?(hits|results)|found|matches|hits)$/i;

export interface Paging {
  readonly pagination: PaginationConfig;
  readonly total: { readonly total_path?: string; readonly total_header?: string };
  readonly findings: readonly Finding[];
}

export const findPaging = async (session: ProbeSession, base: Look, recordsPath: string): Promise<Paging> => {
  const findings: Finding[] = [];
  const few = 2;
  const [sizeParam] =
    base.records.length <= few
      ? []
      : await findEffective(sizeParams, async (names) => isCutTo(await session.look(allAt(names, few)), few), 1);
  findings.push(
    sizeParam === undefined
      ? {
          key: 'pagination.size_param',
          found: 'none',
          confidence: 'likely',
          evidence: `none of ${sizeParams.length} usual names changed the number of records`,
        }
      : {
          key: 'pagination.size_param',
          found: sizeParam,
          confidence: 'sure',
          evidence: `${sizeParam}=${few} gave ${few} records`,
        },
  );
  // A third of the beginning: calls that come meanwhile move the pages behind it by less than half of one.
  const third = Math.max(few, Math.floor(base.ids.length / 3));
  const sized: Params = sizeParam === undefined ? {} : { [sizeParam]: String(third) };
  const short = sizeParam === undefined ? base : await session.look(sized);
  const total = findTotal(base, short, recordsPath, sizeParam !== undefined);
  findings.push(total.finding);
  const style = await findStyle(session, short, sized, recordsPath);
  findings.push(style.finding);
  const size = await findSize(session, base, sizeParam);
  findings.push(...size.findings);
  const pagination = {
    ...style.pagination,
    ...(sizeParam === undefined ? {} : { size_param: sizeParam }),
    size: size.size,
  };
  return { pagination: paginationSchema.parse(pagination), total: total.total, findings };
};

const isCutTo = (look: Look, few: number): boolean => isRefusal(look) || look.records.length === few;

const findTotal = (
  base: Look,
  short: Look,
  recordsPath: string,
  verified: boolean,
): { readonly total: Paging['total']; readonly finding: Finding } => {
  const fits = (value: unknown, other: unknown): boolean => {
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
    const again = typeof other === 'string' && /^\d+$/.test(other) ? Number(other) : other;
    return (
      typeof number === 'number' &&
      Number.isSafeInteger(number) &&
      number >= base.records.length &&
      // It may grow meanwhile; a count of the page shrinks with it.
      Number(again) >= number * 0.9 - 2 &&
      Number(again) <= number * 1.1 + 50
    );
  };
  const confidence = verified ? 'sure' : 'likely';
  const evidence = verified
    ? 'it did not shrink when the page was made shorter'
    : 'it is not below the number of records';
  for (const [path, value] of leavesBeside(base.body, recordsPath)) {
    if (totalName.test(path) && fits(value, valueAt(short.body, path))) {
      return { total: { total_path: path }, finding: { key: 'total_path', found: path, confidence, evidence } };
    }
  }
  for (const [name, value] of Object.entries(base.headers)) {
    if (/total|count/i.test(name) && fits(value, short.headers[name])) {
      return { total: { total_header: name }, finding: { key: 'total_header', found: name, confidence, evidence } };
    }
  }
  return {
    total: {},
    finding: {
      key: 'total_path',
      found: 'none',
      confidence: 'likely',
      evidence: 'no number beside the records or in the headers behaves like a total',
    },
  };
};

/** A page should not weigh more than this. */
const pageBytes = 16 * 1024 * 1024;

const findSize = async (
  session: ProbeSession,
  base: Look,
  sizeParam: string | undefined,
): Promise<{ readonly size: number; readonly findings: readonly Finding[] }> => {
  if (sizeParam === undefined) return { size: Math.max(1, base.records.length), findings: [] };
  const affordable = Math.max(1, Math.floor(pageBytes / Math.max(1, base.bytes / Math.max(1, base.records.length))));
  for (const size of [1_000, 500, 200, 100, 50]) {
    if (size > Math.max(50, affordable)) continue;
    const look = await session.look({ [sizeParam]: String(size) });
    if (isRefusal(look) || look.records.length === 0) continue;
    const given = look.records.length;
    const evidence =
      given < size
        ? `${sizeParam}=${size} gave ${given} records`
        : `${sizeParam}=${size} was taken${size === 1_000 ? '' : ', more was refused or would be too heavy'}`;
    return {
      // Fewer than asked may also be all there is: then a moderate size does no harm.
      size: given < size ? Math.max(given, Math.min(size, 100)) : size,
      findings: [
        {
          key: 'pagination.size',
          found: String(given < size ? Math.max(given, Math.min(size, 100)) : size),
          confidence: 'likely',
          evidence,
        },
      ],
    };
  }
  return { size: Math.max(1, base.records.length), findings: [] };
};
