/** Questions of a probe about a list, and the table of names that it tries. The records must show each answer. */
import { callFields } from '../../../schemas/call.ts';
import { type ListConfig, type PaginationConfig, paginationSchema } from '../../../schemas/config/list.ts';
import { countEach } from '../../lib/count-of.ts';
import { isObject, valueAt } from '../../lib/parse-json.ts';
import { formatStep, formatTimestamp, type Micros, parseTimestamp, type TimeFormat } from '../../lib/timestamps.ts';
import { isEmpty } from '../list/observe.ts';
import { findLink } from '../list/pagination.ts';
import type { Look, Params, ProbeSession } from './session.ts';

/** A finding of a probe, and its certainty. */
export interface Finding {
  /** Key of `source.list` (or another part of `source`) that it is about. */
  readonly key: string;
  /** In words; names of parameters and fields, numbers, never content. */
  readonly found: string;
  readonly confidence: 'sure' | 'likely' | 'guess' | 'unknown';
  readonly evidence: string;
}

export type BoundNames = readonly [from: string, to: string];

/** A probe under way. */
export interface Inquiry {
  readonly session: ProbeSession;
  /** The list as it answers without parameters. */
  readonly base: Look;
  readonly recordsPath: string;
  /** Content of `source.list`, filled in step by step. */
  readonly list: { -readonly [Key in keyof ListConfig]?: ListConfig[Key] };
  say(key: string, found: string, confidence: Finding['confidence'], evidence: string): void;
}

/** The names that are tried, by the question that they answer; the most usual ones first. */
const candidates = {
  size: 'limit per_page page_size pageSize size perPage max_results maxResults take count top page[size]'.split(' '),
  offset: 'offset skip start startIndex start_index from_index'.split(' '),
  page: 'page pageNumber page_number pageIndex page_index pageNo p page[number]'.split(' '),
  cursor:
    'cursor after next page_token pageToken next_token nextToken next_cursor starting_after continuation token page'.split(
      ' ',
    ),
  exclude: 'exclude exclude_fields excludeFields omit without fields_exclude'.split(' '),
  bounds:
    'timestamp_from,timestamp_to qualified_from,qualified_to from,to since,until start,end start_date,end_date start_time,end_time created_after,created_before date_from,date_to dateFrom,dateTo from_date,to_date startDate,endDate startTime,endTime fromDate,toDate after,before updated_after,updated_before updated_from,updated_to created_from,created_to processed_from,processed_to begin,finish fromDateTime,toDateTime startDateTime,endDateTime from_datetime,to_datetime started_after,started_before filter[from],filter[to] created[gte],created[lte] created_at[gt],created_at[lt] StartTime>,StartTime<'
      .split(' ')
      .map((pair) => pair.split(',') as unknown as BoundNames),
} as const;

/**
 * Finds the effective ones of many candidates with few requests: tries all at once, and halves only while the whole
 * has an effect.
 */
const findEffective = async <T>(
  some: readonly T[],
  hasEffect: (some: readonly T[]) => Promise<boolean>,
  wanted = Number.POSITIVE_INFINITY,
): Promise<T[]> => {
  if (some.length === 0 || wanted <= 0 || !(await hasEffect(some))) return [];
  if (some.length === 1) return [...some];
  const middle = Math.ceil(some.length / 2);
  const first = await findEffective(some.slice(0, middle), hasEffect, wanted);
  const second = await findEffective(some.slice(middle), hasEffect, wanted - first.length);
  return [...first, ...second];
};

/** All named parameters at one value. */
const allAt = (names: readonly string[], value: string | number): Params =>
  Object.fromEntries(names.map((name) => [name, String(value)]));

// ---- Pages

/** Records of the shortest page. */
const few = 2;

/** The name that makes a page short. */
export const findSizeParam = async ({ session, base }: Inquiry, names: readonly string[]) => {
  if (base.records.length <= few) return undefined;
  const isCut = (look: Look): boolean => look.isRefusal || look.records.length === few;
  const [name] = await findEffective(names, async (some) => isCut(await session.look(allAt(some, few))), 1);
  return name;
};

type Trial = Awaited<ReturnType<typeof openTrial>>;

/**
 * Test range of the styles: a third of the beginning, so that new calls move it by less than half.
 * @param sizeParam parameter of the page size, where there is one
 */
export const openTrial = async ({ session, base }: Inquiry, sizeParam: string | undefined) => {
  const sized = sizeParam === undefined ? {} : allAt([sizeParam], Math.max(few, Math.floor(base.ids.length / 3)));
  const short = sizeParam === undefined ? base : await session.look(sized);
  return {
    session,
    short,
    isWhole: short === base,
    /** The parameters that make a page so short, with others at one value. */
    at: (names: readonly string[], value: string | number) => session.look({ ...sized, ...allAt(names, value) }),
    /**
     * Whether a look begins behind the beginning of the list, and by less than so many pages; also beyond it without.
     * Several parameters together may be refused, or empty the list, where one does neither.
     */
    leadsOn: async (ask: () => Promise<Look>, rules: { readonly within?: number; readonly several?: boolean } = {}) => {
      // The beginning is looked at just before, so that only few calls can come between both.
      const front = await session.front();
      const look = await ask();
      if (look.isRefusal || look.records.length === 0) return rules.several === true;
      const first = look.ids.findIndex((id) => front.ids.includes(id));
      if (first < 0) return rules.within === undefined;
      const pages = (front.ids.indexOf(look.ids[first] ?? '') - first) / short.ids.length;
      return pages > 0.5 && pages < (rules.within ?? Number.POSITIVE_INFINITY);
    },
  };
};

/** Settings of a style in words, with the evidence. */
type Style = readonly [pagination: Readonly<Record<string, unknown>>, words: string, evidence: string];
const follows = 'gave the next records';

/** Question after question: page size, total, style of paging, largest page. */
export const findPaging = async (inquiry: Inquiry, extra: readonly string[]): Promise<PaginationConfig> => {
  const { session, base, list, say } = inquiry;
  const sizeParam = await findSizeParam(inquiry, [...extra, ...candidates.size]);
  const trial = await openTrial(inquiry, sizeParam);
  if (sizeParam === undefined)
    say('pagination.size_param', 'none', 'likely', `none of ${candidates.size.length} usual names had an effect`);
  else say('pagination.size_param', sizeParam, 'sure', `${sizeParam}=${few} gave ${few} records`);

  const [totalKey, total] = findTotal(inquiry, trial.short, sizeParam !== undefined) ?? ['total_path', 'none'];
  if (total !== 'none') list[totalKey] = total;
  const atLeast = 'a total is at least the number of records, and does not shrink with the page';
  say(totalKey, total, sizeParam !== undefined && total !== 'none' ? 'sure' : 'likely', atLeast);

  const none: Style = [{ style: 'none' }, 'none', 'no link, cursor, or usual page or offset parameter had an effect'];
  const [style, words, evidence] =
    (await findStyle(
      trial,
      extra.filter((name) => name !== sizeParam),
    )) ?? none;
  say('pagination.style', words, style === none[0] ? 'likely' : 'sure', evidence);
  const size = sizeParam === undefined ? base.records.length : await findSize(session, base, sizeParam);
  say('pagination.size', String(size), 'likely', 'the largest page that the service returned within limits');
  list.pagination = paginationSchema.parse({ ...style, size, ...(sizeParam && { size_param: sizeParam }) });

  const said = Number(totalKey === 'total_path' ? valueAt(base.body, total) : base.headers[total]);
  if (style === none[0] && said > base.records.length) {
    const holds = `the total says ${said}, one response holds ${base.records.length}, and no parameter reached the other records`;
    say('contradiction', 'between pagination.style and the total', 'sure', holds);
  }
  return list.pagination;
};

const findStyle = async (trial: Trial, extra: readonly string[]): Promise<Style | undefined> => {
  const { headers, url } = trial.short;
  const next = findLink(headers.link, 'next');
  if (next !== undefined && URL.canParse(next, url.href))
    return [{ style: 'link', rel: 'next' }, 'Link header', 'an answer had one'];
  return (
    (await findCursor(trial, [...extra, ...candidates.cursor])) ??
    (await findCounted(trial, 'offset', [...extra, ...candidates.offset])) ??
    (await findCounted(trial, 'page', [...extra, ...candidates.page]))
  );
};

const cursorName = /cursor|next|continuation|token|after/i;

const findCursor = async (trial: Trial, names: readonly string[]): Promise<Style | undefined> => {
  const { session, short } = trial;
  const found = [
    ...leavesOf(short.body).map(([path, value]) => [{ next_path: path }, path, value] as const),
    ...Object.entries(short.headers)
      .filter(([name]) => name !== 'link')
      .map(([name, value]) => [{ next_header: name }, name, value] as const),
  ].filter(([, name, value]) => cursorName.test(name) && ['string', 'number'].includes(typeof value) && value !== '');
  for (const [where, name, given] of found) {
    const value = String(given);
    if (/^(https?:\/\/|\/|\?)/.test(value) && URL.canParse(value, short.url.href)) {
      const { pathname, search } = new URL(value, short.url);
      // Behind a proxy, services write another host.
      if (await trial.leadsOn(() => session.look(new URL(short.url.origin + pathname + search))))
        return [{ style: 'cursor', ...where }, `address in ${name}`, follows];
      continue;
    }
    const leads = (some: readonly string[]) => trial.leadsOn(() => trial.at(some, value), { several: some.length > 1 });
    const [param] = await findEffective([...new Set([name.split('.').at(-1) ?? '', ...names])], leads, 1);
    if (param !== undefined)
      return [{ style: 'cursor', cursor_param: param, ...where }, `cursor ${param} from ${name}`, follows];
  }
  return undefined;
};

/** The parameter that counts records or pages: at the value that asks for the second page it must lead on. */
export const findCounted = async (
  trial: Trial,
  style: 'offset' | 'page',
  names: readonly string[],
): Promise<Style | undefined> => {
  const { isWhole, short } = trial;
  // Of a list whose pages cannot be made short, the second page lies beyond the first.
  const [second, within] =
    style === 'offset'
      ? [Math.ceil(short.ids.length * (isWhole ? 0.75 : 1)), 1.5]
      : [2, isWhole ? undefined : Number.POSITIVE_INFINITY];
  const leads = (some: readonly string[]): Promise<boolean> =>
    trial.leadsOn(() => trial.at(some, second), { within, several: some.length > 1 });
  const [param] = second < 2 ? [] : await findEffective(names, leads, 1);
  if (param === undefined) return undefined;
  const evidence = `${param}=${second} ${follows}`;
  if (style === 'offset') return [{ style, offset_param: param }, `offset (${param})`, evidence];
  const first = (await trial.leadsOn(() => trial.at([param], 1))) ? 0 : 1;
  return [{ style, page_param: param, first }, `page (${param}, first is ${first})`, evidence];
};

const totalName =
  /(^|[._])(total|count|total_?count|total_?(items|results|records|elements|hits|size|rows|calls)|(records?|items|calls|rows)[-_]?(count|total)|nb_?(hits|results)|found|matches|hits)(\.value)?$/i;

/** A total is a number beside the records, or in a header, that does not shrink when the page is made shorter. */
const findTotal = ({ base }: Inquiry, short: Look, isShorter: boolean) => {
  const numberOf = (value: unknown): number =>
    typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value)) ? Number(value) : Number.NaN;
  const fits = (value: unknown, other: unknown): boolean => {
    const [total, again] = [numberOf(value), numberOf(other)];
    if (!Number.isSafeInteger(total) || total < base.records.length) return false;
    // The total may grow meanwhile; a count of the page shrinks with the page.
    return !isShorter || (again >= total * 0.9 - 2 && again <= total * 1.1 + 50);
  };
  for (const [path, value] of leavesOf(base.body))
    if (totalName.test(path) && fits(value, valueAt(short.body, path))) return ['total_path', path] as const;
  for (const [name, value] of Object.entries(base.headers))
    if (/total|count/i.test(name) && fits(value, short.headers[name])) return ['total_header', name] as const;
  return undefined;
};

/** Leaves of the document beside its lists, as dotted paths. */
const leavesOf = (value: unknown, path: readonly string[] = []): [path: string, value: unknown][] => {
  if (Array.isArray(value) || path.length > 4) return [];
  if (!isObject(value)) return [[path.join('.'), value]];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
};

/** A page should not weigh more than this. */
const pageBytes = 16 * 1024 * 1024;

const findSize = async (session: ProbeSession, base: Look, sizeParam: string): Promise<number> => {
  const affordable = Math.floor(pageBytes / Math.max(1, base.bytes / Math.max(1, base.records.length)));
  for (const size of [1_000, 500, 200, 100, 50]) {
    if (size > Math.max(50, affordable)) continue;
    const look = await session.look(allAt([sizeParam], size));
    const given = look.records.length;
    if (look.isRefusal || given === 0) continue;
    // Fewer than asked may also be all there is: then a moderate size does no harm.
    return given < size ? Math.max(given, Math.min(size, 100)) : size;
  }
  return Math.max(1, base.records.length);
};

// ---- Windows

/** Test data of windows and fields: enough records to choose times from, and the parameters that returned them. */
type Sample = Awaited<ReturnType<typeof takeSample>>;

/** A page of up to 100 records. */
export const takeSample = async ({ session }: Inquiry, { size_param, size }: PaginationConfig) => {
  const sized: Params = size_param === undefined ? {} : allAt([size_param], Math.min(100, size));
  return { session, sized, look: await session.look(sized) };
};

const farFuture = Date.UTC(2999, 0, 1) * 1000;
const formats: readonly TimeFormat[] = ['iso', 'epoch_ms', 'epoch_s', 'iso_seconds', 'datetime'];

/**
 * Finds the parameters that cut the list by time, the record field of each, and the meaning of their bounds.
 * @param extra names to try before the usual ones.
 */
export const findWindows = async ({ list, say }: Inquiry, sample: Sample, extra: readonly BoundNames[]) => {
  const { session, look, sized } = sample;
  const names = [...extra, ...candidates.bounds];
  const hidesAll =
    (format: TimeFormat) =>
    async (some: readonly BoundNames[]): Promise<boolean> => {
      const froms = some.map(([from]) => from);
      const asked = await session.look({ ...sized, ...allAt(froms, formatTimestamp(farFuture, format)) });
      return asked.isRefusal || asked.records.length === 0;
    };
  let effective: BoundNames[] = [];
  for (const format of formats) if (effective.length === 0) effective = await findEffective(names, hidesAll(format));
  const found: FoundAxis[] = [];
  for (const one of effective) {
    const axis = await identifyAxis(sample, one, formats);
    if (axis !== undefined && !found.some(({ name }) => name === axis.name)) found.push(axis);
  }
  const [first] = found;
  if (first === undefined) {
    const usual = `none of ${names.length} usual pairs of names cut the list by a time of its records`;
    say('cursor_fields', 'none', 'likely', usual);
    const cutting = effective.map((one) => one.join(' and ')).join(', ');
    const effect = `${cutting} had an effect, but what came lay outside: times may be local, or of another field`;
    if (cutting !== '') say('contradiction', 'between window parameters and the times of records', 'sure', effect);
    return;
  }
  const { format } = first;
  list.cursor_fields = found.filter((one) => one.format === format).map(({ format: _, part, ...axis }) => axis);
  for (const { from_param, to_param, record_field, end_of_processing, part } of found) {
    const processing = end_of_processing ? '; taken as the end of processing' : '';
    const evidence = `all ${part.records.length} records of a part lay inside it, others were gone${processing}`;
    say('cursor_fields', `${from_param} and ${to_param} cut by ${record_field}`, 'likely', evidence);
  }
  checkTotal({ list, say }, look, first.part);
  list.time_format = format;
  say('time_format', format, 'sure', 'bounds in this form cut the list where they should');
  [list.from_inclusive, list.to_inclusive] = await findInclusive(sample, first);
  const sides = [list.from_inclusive, list.to_inclusive].map((is) => (is ? 'inclusive' : 'exclusive'));
  const bounds = `lower bound ${sides[0]}, upper bound ${sides[1]}`;
  say('from_inclusive, to_inclusive', bounds, 'likely', 'a record was asked for by its exact time');
  const isWhole = timesOf(look, first.record_field).every((time) => time % 1_000_000 === 0);
  list.time_resolution_ms = isWhole ? 1_000 : formatStep(format) / 1_000;
  say('time_resolution_ms', String(list.time_resolution_ms), 'likely', 'the fractions of the times that were seen');
};

/** A total that stays the same for a part of the list counts more than a window: it would leave every window in doubt. */
const checkTotal = ({ list, say }: Pick<Inquiry, 'list' | 'say'>, whole: Look, part: Look): void => {
  const totalOf = ({ body, headers }: Look): number =>
    Number(list.total_path === undefined ? headers[list.total_header ?? ''] : valueAt(body, list.total_path));
  const [count, total] = [part.records.length, totalOf(part)];
  if (count >= whole.records.length || !(total > count && total >= totalOf(whole) * 0.9)) return;
  const key = list.total_path === undefined ? 'total_header' : 'total_path';
  delete list[key];
  say(key, 'none', 'sure', `it said ${total} also for a part of ${count} records`);
};

const timesOf = (look: Look, field: string) => look.records.flatMap((record) => parseTimestamp(record[field]) ?? []);

/** A range of times in the middle of the sample that holds some of its records but not all. */
const partOf = (times: readonly Micros[]): readonly [Micros, Micros] | undefined => {
  const sorted = [...new Set(times)].sort((a, b) => a - b);
  if (sorted.length < 3) return undefined;
  const from = sorted[Math.floor(sorted.length / 3)] ?? 0;
  const to = sorted[Math.min(sorted.length - 2, Math.floor((2 * sorted.length) / 3))] ?? 0;
  return to > from ? [from, to] : [from, from + 1_000_000];
};

/** Top-level fields of records that hold a time nearly everywhere; a parameter usually bears the name of its field. */
const timeFields = ({ records }: Look, param: string): string[] => {
  const timeName = ([name, value]: [string, unknown]): string | never[] => {
    const mayBeTime = typeof value === 'string' || /time|date|_at$|qualified/i.test(name);
    return mayBeTime && parseTimestamp(value) !== undefined ? name : [];
  };
  const named = records.flatMap((record) => Object.entries(record).flatMap(timeName));
  const stem = (field: string): string => field.toLowerCase().replace(/(?<=.)_?(at|time|date)$/, '');
  const rank = (field: string): number =>
    param.toLowerCase().startsWith(stem(field)) ? 0 : field === 'timestamp' ? 1 : 2;
  const usual = [...countEach(named)].filter(([, count]) => count >= records.length * 0.8).map(([name]) => name);
  return usual.sort((a, b) => rank(a) - rank(b));
};

type FoundAxis = NonNullable<Awaited<ReturnType<typeof identifyAxis>>>;

/**
 * The field by which two parameters cut the list, and the first of the formats in which they do.
 * `part` = the answer for the part of the sample that was asked for.
 */
export const identifyAxis = async (
  { session, look: sample, sized }: Sample,
  [from_param, to_param]: BoundNames,
  tried: readonly TimeFormat[],
) => {
  const fields = timeFields(sample, from_param);
  for (const format of tried) {
    const step = formatStep(format);
    for (const field of fields) {
      const part = partOf(timesOf(sample, field));
      if (part === undefined) continue;
      const [from, to] = [Math.floor(part[0] / step) * step, Math.ceil(part[1] / step) * step];
      const bounds = { [from_param]: formatTimestamp(from, format), [to_param]: formatTimestamp(to, format) };
      const look = await session.look({ ...sized, ...bounds });
      if (look.isRefusal) break;
      const name = fields.find((one) => timesOf(look, one).every((time) => time >= from && time <= to));
      // Records of the sample that are outside the part must be gone.
      if (look.records.length === 0 || name === undefined || sample.ids.every((id) => look.ids.includes(id))) continue;
      // Not that of a call: calls come into such windows when they are processed.
      const end_of_processing = /qualif|process|updat|modif/i.test(name);
      return { name, from_param, to_param, record_field: name, end_of_processing, format, part: look };
    }
  }
  return undefined;
};

/** Whether each bound belongs to the window; exclusive where nothing shows it, because asking wider is always right. */
const findInclusive = async (
  { session, look, sized }: Sample,
  { record_field, format, from_param, to_param }: FoundAxis,
): Promise<[from: boolean, to: boolean]> => {
  const times = look.records.map((record) => parseTimestamp(record[record_field]) ?? Number.NaN);
  const index = times.findIndex((time) => time % formatStep(format) === 0);
  const [time, id] = [times[index], look.ids[index]];
  if (time === undefined || id === undefined) return [false, false];
  const step = Math.max(formatStep(format), 1_000_000);
  const has = async (from: Micros, to: Micros): Promise<boolean> => {
    const bounds = { [from_param]: formatTimestamp(from, format), [to_param]: formatTimestamp(to, format) };
    return (await session.look({ ...sized, ...bounds })).ids.includes(id);
  };
  if (await has(time, time)) return [true, true];
  return [await has(time, time + step), await has(time - step, time)];
};

// ---- Fields

/** Fields of the public reference that no webhook record has. */
const listOnly = new Set(['qualified', 'qualification']);

/** Fields with content, and thus carried by the list. Sends no request. */
export const findCarries = ({ list, say }: Inquiry, { look: { records } }: Sample): void => {
  const full = records.flatMap((one) => Object.keys(one).filter((name) => !isEmpty(one[name])));
  const carries = [...new Set(full)];
  list.authoritative_fields = carries;
  const evidence = `each had content in at least one of ${records.length} records`;
  say('authoritative_fields', `${carries.length} fields`, records.length >= 20 ? 'likely' : 'guess', evidence);
  const lacking = [...callFields.keys()].filter((name) => !carries.includes(name) && !listOnly.has(name)).join(', ');
  const without = 'fields of the webhook record without content in any record';
  say('fields the list lacks', lacking || 'none', 'likely', without);
};

/** Fields that make most of a record's weight, heaviest first, and objects without which a listing still names its calls. */
const heavyFields = (records: readonly Record<string, unknown>[]): string[] => {
  const weights = new Map<string, number>();
  for (const record of records.slice(0, 20))
    for (const [name, value] of Object.entries(record))
      weights.set(name, (weights.get(name) ?? 0) + (JSON.stringify(value)?.length ?? 0));
  const whole = [...weights.values()].reduce((sum, weight) => sum + weight, 1);
  const named = ['transcript_json', 'tracking_info', 'qualification'];
  return [...weights]
    .filter(([name, weight]) => name !== 'unique_id' && (weight / whole > 0.3 || named.includes(name)))
    .sort(([, a], [, b]) => b - a)
    .map(([name]) => name);
};

export const findExclude = async ({ list, say }: Inquiry, { session, look, sized }: Sample): Promise<void> => {
  const heavy = heavyFields(look.records);
  const [heaviest = ''] = heavy;
  const isWithout = ({ records }: Look, name: string): boolean =>
    records.length > 0 && records.every((record) => record[name] === undefined || record[name] === null);
  const leavesOut = async (names: readonly string[]): Promise<boolean> => {
    const asked = await session.look({ ...sized, ...allAt(names, heaviest) });
    return asked.isRefusal || isWithout(asked, heaviest);
  };
  const [param] = heaviest === '' ? [] : await findEffective(candidates.exclude, leavesOut, 1);
  if (param !== undefined) {
    const together = await session.look({ ...sized, [param]: heavy.join(',') });
    const exclude = together.isRefusal ? [heaviest] : heavy.filter((name) => isWithout(together, name));
    if (exclude.includes(heaviest)) {
      Object.assign(list, { exclude_param: param, exclude });
      say('exclude_param', `${param} leaves out ${exclude.join(', ')}`, 'sure', 'the fields were gone');
      return;
    }
  }
  say('exclude_param', 'none', 'likely', 'no usual name left a field out');
};

export const findStatus = async ({ list, say }: Inquiry, { session, look, sized }: Sample): Promise<void> => {
  const statuses = [...new Set(look.records.map(({ status }) => status))].filter((one) => typeof one === 'string');
  const [one] = statuses;
  const asked = one === undefined || statuses.length < 2 ? undefined : await session.look({ ...sized, status: one });
  if (asked !== undefined && asked.records.length > 0 && asked.records.every(({ status }) => status === one)) {
    Object.assign(list, { status_param: 'status', status_values: statuses });
    say('status_param', 'status', 'sure', 'only records of the status asked for came');
  } else say('status_param', 'none', 'guess', 'fewer than two statuses were seen, or the parameter had no effect');
};

export const findSingle = async ({ list, say }: Inquiry, { session, look }: Sample): Promise<void> => {
  const carries = list.authoritative_fields ?? [];
  const bareOf = (record: Readonly<Record<string, unknown>>): string[] =>
    carries.filter((name) => Object.hasOwn(record, name) && isEmpty(record[name]));
  // The record with the fewest contents also shows whether the list leaves some out.
  const named = look.records.filter(({ unique_id }) => typeof unique_id === 'string');
  const [record = {}] = named.sort((a, b) => bareOf(b).length - bareOf(a).length);
  const id = record.unique_id as string | undefined;
  const path = `${list.path?.replace(/\/+$/, '')}/{unique_id}`;
  const asked = id && (await session.look({}, path.replace('{unique_id}', encodeURIComponent(id))));
  if (asked && !asked.isRefusal && isObject(asked.body) && asked.body.unique_id === id) {
    list.single_path = path;
    say('single_path', path, 'sure', 'it returned the requested call');
    const leftOut = bareOf(record).filter((name) => !isEmpty((asked.body as typeof record)[name]));
    if (leftOut.length === 0) return;
    list.authoritative_fields = carries.filter((name) => !leftOut.includes(name));
    say('fields the list lacks at times', leftOut.join(', '), 'sure', 'the call by itself has content in them');
  } else say('single_path', 'none', 'likely', 'the list’s path with an id gave no call');
};
