/** Lists that end, count or fail in unusual ways: each call is read, or the reading does not say that it is complete. */
import { expect, test } from 'vitest';
import type { PaginationConfig } from '../../schemas/config/list.ts';
import type { SourceConfigInput } from '../../schemas/config/source.ts';
import type { Memory } from '../../src/lib/evidence.ts';
import { hash32 } from '../../src/simulator/calls/random.ts';
import { describeFacts, type KeptFacts } from '../../src/source/list/facts.ts';
import { readPageBody } from '../../src/source/list/page-body.ts';
import { createPagination } from '../../src/source/list/pagination.ts';
import { type MemoryAnswer, openMemoryList } from './memory-list.ts';
import { readSimulated } from './simulated.ts';

const start = Date.UTC(2024, 6, 1);
type Asked = { page: number; pages: number; all: number; records: { unique_id: string; timestamp: string }[] };
/** A body, or a status with one. */
type Answer = (of: Asked) => object | MemoryAnswer;
const everything: Answer = ({ records }) => ({ data: records });
const counted: Answer = ({ all, records }) => ({ total: all, data: records });
const invalid: MemoryAnswer = [404, { detail: 'Invalid page.' }];
const unpaged = { pagination: { style: 'none' } } as const;
const paged = { pagination: { style: 'page', size_param: 'size', size: 20 } } as const;
const twenty = Array.from({ length: 20 }, (_, index) => ({ unique_id: `c${index}` }));
const cursors = { pagination: { style: 'cursor', cursor_param: 'page', next_path: 'next' } } as const;
const onTo = (next: string | null, { records }: Asked) => ({ next, data: records });
const further = (of: Asked) => onTo(isLast(of) ? null : `${of.page + 1}`, of);
const losing = (n: number) => (of: Asked) =>
  of.records.at(-1)?.unique_id === `c${start + n * 1000}` ? onTo(null, of) : further(of);
const hour = 3_600_000;
const cursor_fields = [{ name: 'timestamp', record_field: 'timestamp', from_param: 'from', to_param: 'to' }];
const isLast = ({ page, pages }: Asked): boolean => page >= pages;
const unlessEmpty =
  (nothing: object | MemoryAnswer): Answer =>
  (of) =>
    of.records.length === 0 ? nothing : counted(of);

const middle = start + 45_000;
type Spans = `${'every' | 'quiet' | 'longest' | 'step' | 'rest' | 'tail'}Ms`;
type Sizes = Partial<Record<Spans | 'laterCap' | 'times' | 'early' | 'late' | 'most', number>>;

/**
 * A list of `count` calls, one a second; reads it in two windows.
 * @param most calls of a page.
 * @param everyMs between calls of the second window.
 * @param laterCap most calls of a query for the second window.
 * @param quietMs before the calls of the second window.
 * @param late first calls that the total and the pages behind the first do not have yet.
 * @param early calls of the first window.
 * @param stepMs to whose multiples the list rounds bounds down.
 * @param times that the first window is read.
 * @param longestMs of a longer window, the list shows only so much, from its beginning or its end.
 * @param isOrdered whether the list is in the order of times.
 * @param restMs of the second window, from its first call on.
 * @param tailMs of calls behind the upper bound that come, too.
 */
const read = async (
  count: number,
  list: SourceConfigInput['list'],
  answer: Answer,
  more: Sizes & { isOrdered?: boolean; shows?: string; memory?: Memory<KeptFacts> } = {},
) => {
  const { everyMs = 1000, quietMs = 0, longestMs = Number.POSITIVE_INFINITY, shows = 'beginning' } = more;
  const { laterCap = count, times = 1, stepMs = 1, early = 45, late = 0, most = 20, tailMs = 0 } = more;
  const { restMs = Math.max(3_600_000, 4 * count * everyMs) } = more;
  const later = middle + quietMs;
  const calls = Array.from({ length: count }, (_, n) => (n < early ? start + n * 1000 : later + (n - early) * everyMs));
  if (more.isOrdered === false) calls.sort((a, b) => hash32(1, a / 1000) - hash32(1, b / 1000));
  let requests = 0;
  const limits = { retries: 2, retry_base_ms: 1, retry_max_ms: 2 };
  const client = openMemoryList(
    { limits, list: { records: 'data', pagination: { style: 'page' as const }, cursor_fields, ...list } },
    (url) => {
      if (url.pathname !== '/calls') return invalid;
      requests++;
      const { from = '0', to, page: number = '1', size = most, offset: given } = Object.fromEntries(url.searchParams);
      const page = number.replace('/', '');
      const pageSize = Math.min(most, Number(size));
      const [asked = 0, last = 0] = [from, to].map((bound) => Math.floor(Date.parse(bound ?? '') / stepMs) * stepMs);
      const first = shows === 'end' ? Math.max(asked, last - longestMs) : asked;
      const isInside = (at: number): boolean => at >= first && at <= Math.min(last + tailMs, first + longestMs);
      const inside = calls.slice(page === '1' ? 0 : late).filter(isInside);
      const offset = given === undefined ? (Number(page) - 1) * pageSize : Number(given);
      const records = inside
        .slice(0, asked < middle ? count : laterCap)
        .slice(offset, offset + pageSize)
        .map((at) => ({ unique_id: `c${at}`, timestamp: new Date(at).toISOString() }));
      const [pages, all] = [Math.ceil(inside.length / pageSize), calls.slice(late).filter(isInside).length];
      const answered = answer({ page: Number(page), pages, all, records });
      return Array.isArray(answered) ? (answered as unknown as MemoryAnswer) : [200, answered];
    },
    more.memory,
  );
  const seen = new Set<string>();
  const results = [];
  const first = Array.from({ length: times }, () => [start, middle] as const);
  for (const [from, to] of [...first, [middle, later + restMs] as const]) {
    const reading = await readSimulated({ list: client }, { axis: 'timestamp', from: from * 1000, to: to * 1000 });
    for (const callId of reading.seen.keys()) seen.add(callId);
    results.push(reading.result);
  }
  const problems = results.flatMap(({ problems }) => problems);
  return { seen: seen.size, requests, problems, cap: client.learned.cap };
};

/** All calls are read, and no problem is reported. */
const readAll = async (...[count, ...rest]: Parameters<typeof read>): Promise<void> => {
  const { seen, problems } = await read(count, ...rest);
  expect([seen, problems]).toEqual([count, []]);
};

test.each<[string, (of: Asked) => unknown]>([
  ['of pages', ({ pages }) => pages],
  ['of the records on the page', ({ records }) => records.length],
  ['of rows, as text', ({ all }) => String(all)],
])('a total %s does not end a list before its time', async (_, totalOf) => {
  const list = { total_path: 'total', pagination: { style: 'page', size_param: 'size', size: 100 } } as const;
  await readAll(90, list, (of) => ({ total: totalOf(of), data: of.records }));
});

test.each([90, 3])('a total of all calls cuts no window for ever: at most %i in each third answer', async (few) => {
  const list = { total_path: 'total', max_results: 50, time_format: 'iso_seconds' } as const;
  let asked = 0;
  const answer: Answer = ({ records }) => ({ total: 90, data: ++asked % 3 ? records : records.slice(0, few) });
  const { seen, requests } = await read(90, list, answer);
  expect([seen, requests < (few > 3 ? 300 : 1_000)]).toEqual([90, true]);
});

type Behind = [string, number, SourceConfigInput['list'], Answer, Answer];
test.each<Behind>([
  ['refuses', 80, { total_path: 'total' }, counted, () => invalid],
  ['gives its last page again', 80, { total_path: 'total' }, counted, counted],
  ...[95, 90, 46, 1].map((count): Behind => [`of ${count} gives it again`, count, paged, everything, everything]),
  ...[404, 400, 416].map((status): Behind => [`refuses with ${status}`, 80, {}, everything, () => [status, {}]]),
])('behind its last page, a list %s, with a total or without', async (_, count, list, answer, beyond) => {
  let last: Asked['records'] = [];
  await readAll(count, list, (of) => {
    if (of.page > of.pages && of.page > 1) return beyond({ ...of, records: last });
    last = of.records;
    return answer(of);
  });
});

test.each<[string, SourceConfigInput['list'], object | MemoryAnswer]>([
  ['404 and words', {}, [404, { requestId: '4al', errors: ['No calls found corresponding to the provided filters'] }]],
  ['404 and other words', {}, [404, { message: 'Call not found for the given criteria' }]],
  ['a total of 0 and no array', { total_path: 'total' }, { total: 0 }],
  ['a total of 0 and an object', { total_path: 'total' }, { total: 0, data: {} }],
  ['an object, as PHP writes an empty array', {}, { data: {} }],
  ['an empty text', {}, { data: '' }],
  ['{}, as APIs leave out all that is empty', { total_path: 'total' }, {}],
])('a window without calls is answered by %s', (_, list, nothing) => readAll(45, list, unlessEmpty(nothing)));

test.each<[string, object | MemoryAnswer]>([
  ['LIST_MISSING', [404, { message: 'no Route matched with those values' }]],
  ['LIST_MISSING', [404, { message: 'No static resource calls.' }]],
  ['LIST_MISSING', [404, { message: 'Call not found' }]],
  ['LIST_SHAPE', { message: 'back soon' }],
  ['LIST_FAILED', { total: 0, error: 'overload' }],
])('%s is no window without calls', async (code, answer) => {
  await expect(read(45, { total_path: 'total' }, unlessEmpty(answer))).rejects.toMatchObject({ code });
});

test.each([{ total: 0 }, {}])('%j does not show that the array is where it was looked for', async (nothing) => {
  const list = { total_path: 'total', records: 'calls' };
  const reading = read(45, list, unlessEmpty(nothing), { early: 0, quietMs: 1000 });
  await expect(reading).rejects.toMatchObject({ code: 'LIST_SHAPE', kind: 'terminal' });
});

const isShown = ({ timestamp }: { timestamp: string }) => hash32(8, Date.parse(timestamp) / 1000) % 10 < 2;
test.each<[string, number, Answer]>([
  ['refuses, behind two calls', 60, ({ page, records }) => (page > 1 ? [422, {}] : { data: records.slice(0, 2) })],
  ['is empty, behind some calls', 13, (of) => ({ data: of.page > 1 ? [] : of.records.filter(isShown) })],
])('a list is cut whose second page %s of the first', async (_, count, answer) => {
  expect((await read(60, paged, answer)).seen).toBe(count);
});

test.each<[string, Answer]>([
  ['lose one behind a full page', losing(64)],
  ['lead to a place that is forgotten', (of) => (of.page > 2 ? [404, { message: 'No search context' }] : further(of))],
  ['begin with a slash, and are no addresses', (of) => onTo(isLast(of) ? null : `/${of.page + 1}`, of)],
  ['end with 0', (of) => onTo(isLast(of) ? '0' : `${of.page + 1}`, of)],
  ['never end, beside a word that says so', (of) => ({ has_more: !isLast(of), ...onTo(`${of.page + 1}`, of) })],
  ['never end, beside a 0', (of) => ({ has_more: isLast(of) ? 0 : 1, ...onTo(`${of.page + 1}`, of) })],
  ['never end, beside a text', (of) => ({ more: isLast(of) ? 'False' : 'True', ...onTo(`${of.page + 1}`, of) })],
  ['stay the same where a page is empty', (of) => onTo(`${of.records.length === 0 ? of.page : of.page + 1}`, of)],
])('a list whose cursors %s is read whole', (_, answer) => readAll(90, cursors, answer));

test.each([{ style: 'page' }, cursors.pagination] as const)(
  'pages without a size that lack calls of their total are not complete: %o',
  async (pagination) => {
    const lacking: Answer = (of) => ({ ...further(of), total: of.all + 1 });
    expect((await read(90, { pagination, total_path: 'total' }, lacking)).problems).not.toEqual([]);
  },
);

test.each<[string, { size_param?: string; size?: number; isOrdered?: boolean }, number?]>([
  ['ignores the size of pages', { size_param: 'per_page' }],
  ['gives small pages, of which shorter ones end alike', { size: 5 }],
  ['is in no order of times', { isOrdered: false }],
  ['is in no order, and gives pages of which all shorter ones end alike', { size: 4, isOrdered: false }, 4_000],
])('a list that %s is whole after few requests', async (_, { isOrdered = true, ...other }, most = 300) => {
  const pagination = { ...paged.pagination, ...other };
  const { requests, problems } = await read(450, { pagination }, everything, { isOrdered });
  expect([problems, requests]).toEqual([[], expect.toSatisfy((sent: number) => sent < most)]);
});

const untotalled = { total: undefined, totalIsProven: false, emptyAtEnd: 2 };
test.each<[string, PaginationConfig]>([
  ['a link', { style: 'link', rel: 'next', size: 20, size_param: 'size' }],
  ['an address in the body', { style: 'cursor', cursor_param: 'page', size: 20, size_param: 'size' }],
  ['an address of pages without a size', { style: 'cursor', cursor_param: 'page', size: 20 }],
])('a short page that leads to itself by %s is the last, a full one may not be', (_, config) => {
  const own = new URL('https://memory.invalid/calls?page=2');
  const pagination = createPagination(config);
  const answer = { url: own, envelope: { next_cursor: own.href }, headers: { link: `<${own.href}>; rel="next"` } };
  const seen = { request: pagination.first(), ...untotalled, ...answer };
  const after = (count: number) => pagination.next({ ...seen, count, isFull: count === 20 }, 0);
  expect(after(19)).toBeUndefined();
  expect(after(20)?.url).toBe(own.href);
});

test('a cursor that is a number beyond a double leads on to its place', async () => {
  const body = `{"text": "${'\\n'.repeat(5e6)}", "note": "\\\\\\", 1234567890123456789}", "data": [{}], "share": 0.1234567890123456789, "count": 17, "next": 1909699624467843944}`;
  const { envelope } = readPageBody(Buffer.from(body), 'data') as { envelope: unknown };
  expect(envelope).toMatchObject({ note: '\\", 1234567890123456789}', count: 17, share: 0.123_456_789_012_345_68 });
  const pagination = createPagination({ ...cursors.pagination, size: 1 });
  const url = new URL('https://memory.invalid/calls');
  const seen = { request: pagination.first(), count: 1, isFull: true, envelope, headers: {}, url, ...untotalled };
  expect(pagination.next(seen, 0)?.params).toEqual({ page: '1909699624467843944' });
});

/** Reads three days of calls from a list whose cursor is the time of the last record, 50 records a page. */
const readByTimes = async (times: readonly number[], order: number) => {
  const calls = times
    .map((at, n) => ({ unique_id: `c${n}`, timestamp: new Date(at).toISOString() }))
    .sort((a, b) => order * a.timestamp.localeCompare(b.timestamp));
  const client = openMemoryList({ list: { records: 'data', ...cursors, cursor_fields } }, (url) => {
    const { from = '', to = '', page } = Object.fromEntries(url.searchParams);
    const isInside = (at: string) =>
      at >= from && at <= to && (page === undefined || order * at.localeCompare(page) > 0);
    const left = calls.filter(({ timestamp }) => isInside(timestamp));
    const data = left.slice(0, 50);
    return [200, { data, next: left.length > 50 ? data.at(-1)?.timestamp : null }];
  });
  const window = { axis: 'timestamp', from: start * 1000, to: (start + 72 * hour) * 1000 };
  return await readSimulated({ list: client }, window);
};

const minute = 60_000;
test.each([
  ['passes over calls of that time', 1, 300, (n: number) => Math.floor(n / 3) * minute, 0],
  ['passes over calls of that time', -1, 300, (n: number) => Math.floor(n / 3) * minute, 0],
  ['reports more of them than a page holds', 1, 200, (n: number) => (n < 60 ? 5_000 : 10_000 + n * minute), 10],
  ['reports more of them than a page holds', -1, 200, (n: number) => (n < 60 ? 5_000 : 10_000 + n * minute), 10],
])('a cursor that is a time %s (order %i)', async (_, order, count, at, lost) => {
  const times = Array.from({ length: count }, (_, n) => start + at(n));
  const { seen, result } = await readByTimes(times, order);
  expect([seen.size, result.problems.length]).toEqual([count - lost, lost / 10]);
});

const single = { pagination: { style: 'page' }, total_path: 'total' } as const;
const made = ({ page }: Asked) => [{ unique_id: `made${page}`, timestamp: new Date(start).toISOString() }];
test.each<[string, number, SourceConfigInput['list'], Answer]>([
  ['with cursors that names other calls', 0, cursors, (of) => ({ next: `${of.page + 1}`, data: made(of) })],
  ['whose empty pages lead on', 10, cursors, (of) => onTo(of.page < 500 ? `${of.page + 1}` : null, of)],
  ['whose full page comes', 90, paged, () => ({ data: twenty })],
  ['whose only call comes', 1, single, () => ({ total: 1, data: twenty.slice(0, 1) })],
])('a list %s for ever is an error', async (_, count, list, answer) => {
  await expect(read(count, list, answer)).rejects.toMatchObject({ code: 'LIST_LOOP' });
});

test.each([
  [24, 'beginning', 0],
  [24, 'beginning', 500],
  [6, 'beginning', 100],
  [24, 'end', 0],
  [6, 'end', 0],
])('a window is cut where the list shows %i h, from its %s, and no call comes for %i h', (hours, shows, quiet) =>
  readAll(60, {}, everything, { everyMs: hour, longestMs: hours * hour, quietMs: quiet * hour, shows, early: 10 }),
);

const alone = { early: 0, times: 0 };
const quiet = { ...alone, longestMs: 6 * hour, quietMs: 10 * hour, restMs: 10 * hour };
const lastOnly = { ...alone, everyMs: 12 * hour, longestMs: 2 * hour, shows: 'end', restMs: 24 * hour };
const unbounded = { cursor_fields: [{ name: 'timestamp', record_field: 'timestamp' }] };
test.each<[string, number, SourceConfigInput['list'], Parameters<typeof read>[3]]>([
  ['also where its beginning has no call and no other is known', 90, {}, { ...quiet, shows: 'beginning' }],
  ['also where its end has no call and no other is known', 90, {}, { ...quiet, shows: 'end' }],
  ['also where its only call is at its end', 3, {}, lastOnly],
  ['but not where the list takes no bounds', 0, unbounded, { times: 0, restMs: 12 * hour }],
])('a window longer than the list shows at once is cut, %s', (_, ...of) => readAll(of[0], of[1], everything, of[2]));

const days = { time_resolution_ms: 24 * hour, to_inclusive: false };
const byDays = { everyMs: 5 * hour, stepMs: 24 * hour, quietMs: 24 * hour - 45_000, ...alone };
test.each<[number, string, object?]>([
  [6, 'beginning', { everyMs: 24 * hour, quietMs: 36 * hour }],
  [6, 'beginning'],
  [12, 'beginning'],
  [6, 'end'],
  [12, 'end'],
])('a window of days is reported where the list shows %i h, from its %s (%j)', async (hours, shows, more) => {
  const times = { ...byDays, ...more, longestMs: hours * hour, shows };
  const { seen, problems } = await read(45, days, everything, times);
  expect(seen).toBeLessThan(45);
  expect(problems).toContainEqual(expect.objectContaining({ problem: 'looks_truncated' }));
});

test('a list that ignores a lower bound is reported after few requests', async () => {
  const ignoring = { ...paged, cursor_fields: cursor_fields.map((axis) => ({ ...axis, from_param: 'form' })) };
  const { seen, problems, requests } = await read(45, ignoring, everything);
  expect([seen, problems.length > 0, requests < 300]).toEqual([45, true, true]);
});

const some = { early: 5, times: 1 };
test.each([
  [true, 0],
  [false, 0],
  [true, 24 * hour - 1],
])('a list by days that shows all of it is complete (from_inclusive: %s, %i ms behind the last)', (inclusive, tailMs) =>
  readAll(90, { ...days, from_inclusive: inclusive, time_format: 'date' }, everything, { ...byDays, ...some, tailMs }),
);

test.each([2, -5])('dates that the service takes as days of its zone (%i h) leave out no call', async (ahead) => {
  const calls = Array.from({ length: 96 }, (_, n) => start + (n - 24) * hour + 1000);
  const dated = { records: 'data', ...unpaged, cursor_fields, time_format: 'date', to_inclusive: false } as const;
  const client = openMemoryList({ list: dated }, (url) => {
    const { from = '', to = '' } = Object.fromEntries(url.searchParams);
    const [first, end] = [from, to].map((date) => Date.parse(date) - ahead * hour) as [number, number];
    const shown = calls.filter((at) => at >= first && at < end);
    return [200, { data: shown.map((at) => ({ unique_id: `c${at}`, timestamp: new Date(at).toISOString() })) }];
  });
  const window = { axis: 'timestamp', from: start * 1000, to: (start + 24 * hour) * 1000 };
  const { result } = await readSimulated({ list: client }, window);
  expect(result).toMatchObject({ calls: 24, problems: [] });
});

test('a list whose every record is refused, for a number that JSON does not have, is read in long windows', async () => {
  const broken: Answer = ({ records }) =>
    Buffer.from(`{"data":[${records.map(({ unique_id }) => `{"unique_id":"${unique_id}","n":NaN}`).join()}]}`) as never;
  const { problems, requests } = await read(120, {}, broken, { everyMs: 20 * hour, quietMs: hour });
  expect(problems).toEqual([]);
  // A range of 400 days.
  expect(requests).toBeLessThan(2_000);
});

test('windows of calls without a readable time are reported: nothing shows which of them are deleted', async () => {
  const unreadable: Answer = ({ records }) => ({ data: records.map((one) => ({ ...one, timestamp: '1st of July' })) });
  const { seen, problems } = await read(40, paged, unreadable);
  expect([seen, new Set(problems.map(({ problem }) => problem))]).toEqual([40, new Set(['undated'])]);
});

test('a list that shows all of it pays a few requests once', async () => {
  const { seen, problems, requests } = await read(90, {}, everything, { everyMs: hour, quietMs: 2_000 * hour });
  // Pages that are asked for ahead count, too.
  expect([seen, problems, requests <= 44]).toEqual([90, [], true]);
});

const isAmid = (n: number): boolean => n >= 20 && n < 40;
const countedByPage: Answer = ({ records }) => ({ total: records.length, data: records });
test.each<[string, SourceConfigInput['list'], Answer, (n: number) => boolean]>([
  ['all of a page', paged, countedByPage, isAmid],
  ['all of the first page', paged, countedByPage, (n) => n < 20],
  ['all of a page, where the total counts the page', { ...paged, total_path: 'total' }, countedByPage, isAmid],
  ['twelve of 31, and the only page is full of such', unpaged, everything, (n) => n % 31 >= 19],
  ['ever more, and no second page', unpaged, everything, (n) => n > 24 && (n < 40 ? n % 5 > 2 : n % 9 > 1)],
  ['few of each page, and the cursor behind one', cursors, losing(64), (n) => [5, 25, 26, 50, 51, 52].includes(n)],
])('records left out of pages: %s: no end of the list', async (_, list, answer, isLeft) => {
  const left = new Set(Array.from({ length: 90 }, (_, n) => n).filter(isLeft));
  const shown = ({ records }: Asked) =>
    records.filter(({ unique_id: id }) => !left.has((Number(id.slice(1)) - start) / 1e3));
  const { seen, problems } = await read(90, list, (of) => answer({ ...of, records: shown(of) }));
  expect([seen, problems]).toEqual([90 - left.size, []]);
});

test('records left out of pages: half of the only page, long after half a page was missing amid the list', async () => {
  let asked = 0;
  const isShort = (records: Asked['records']) => ++asked === 1 || records.length === 15;
  const answer: Answer = ({ records }) => ({ data: isShort(records) ? records.slice(0, 10) : records });
  await readAll(60, paged, answer, { times: 20 });
});

test.each<[object | MemoryAnswer, object, isEmptyOnly?: true]>([
  [{ incomplete_results: true, data: [] }, { incomplete_results: false }],
  [{ timed_out: true, data: [] }, { timed_out: false }],
  [{ status: 'processing', data: [] }, { status: 'done' }],
  [[202, { data: [] }], {}, true],
  [{ error: { code: 'TIMEOUT' }, data: [] }, { error: null }],
  [{ status: 'error', message: 'overload', data: [] }, { status: 'ok' }],
  [{ message: 'Rate limit exceeded: 0 requests remaining', data: [] }, { message: 'No calls; try again later.' }, true],
  [{ message: 'Rate limit exceeded, please retry later', data: [] }, {}, true],
  [{ errorMessage: 'Query timed out, no results', data: [] }, { info: 'Rate limit: 60 per minute.' }, true],
  [{ code: 503, data: [] }, { code: 0 }],
  [{ statusCode: '500', data: [] }, { statusCode: '200' }],
  [{ code: 1001, msg: 'busy', data: [] }, { code: '0000', error: 'Success.' }, true],
  [{ IsSuccess: false, data: [] }, { IsSuccess: true }],
  [{ error_code: 'BUSY', data: [] }, { error_code: 'NO_ERROR' }, true],
  [{ meta: { status: 'error' }, data: [] }, { meta: { status: 'ok', errors: 3 } }],
  [{ result: 'SUCCESS_WITH_ERROR', data: [] }, { result: 'no error' }],
  [{ status: { code: 'E_TIMEOUT' }, data: [] }, { statuses: { error: 1 } }],
  [{ status: 'node_error', data: [] }, { error: { code: 'E_OK', message: '', failed: false } }],
  [{ status: 'gateway timeout', data: [] }, { error: 'No errors' }],
  [{ response_metadata: { status: 'InternalError' }, data: [] }, { _meta: { status: 'no_error' } }],
  [{ statusInfo: { code: 500 }, data: [] }, { statusInfo: { code: 200 } }],
  [{ meta: { error: { code: 5 } }, data: [] }, { meta: { error: { code: '0', message: 'OK' } } }],
  [{ _meta: { errors: ['x'] }, data: [] }, { _meta: { errors: [], links: { next: null } } }],
  [{ header: { resultCode: 'FAIL' }, data: [] }, { header: { resultCode: '0000' } }],
])('an error in the body of an answer 200 is no empty list, nor all of it: %j', async (failed, good, isEmptyOnly) => {
  let asked = 0;
  for (const list of [{}, unpaged])
    await readAll(10, list, ({ records }) => {
      const part = isEmptyOnly || list !== unpaged ? failed : { ...failed, data: records.slice(0, 1) };
      return asked++ % 2 === 0 ? part : { ...good, data: records };
    });
  await expect(read(10, {}, () => failed)).rejects.toMatchObject({ code: 'LIST_FAILED', kind: 'transient' });
});

test('{} is an empty window where only pages behind the last one have an empty array', async () => {
  const nothing: Answer = ({ page, records }) => (page === 1 && records.length === 0 ? {} : { data: records });
  await readAll(40, paged, nothing, { early: 40 });
});

test('where nothing leads to a second page, a page of five is a cap', async () => {
  const { seen, cap } = await read(90, unpaged, ({ records }) => ({ data: records.slice(0, 5) }));
  expect([seen, cap]).toEqual([90, 5]);
});

const openMemory = () => {
  const kept: KeptFacts = { since: Date.now(), facts: {} };
  const memory: Memory<KeptFacts> = { read: async () => kept, keep: async (facts) => void Object.assign(kept, facts) };
  return { kept, memory };
};

test.each([4, 7, 12, 1])('answer %i, {}, is no empty window of a list that has shown an empty array', async (at) => {
  const { memory } = openMemory();
  const early = at === 1 ? 45 : 0;
  // An earlier process has seen one.
  if (early > 0) await readAll(90, unpaged, everything, { early: 0, memory });
  let asked = 0;
  await readAll(90, unpaged, (of) => (++asked === at ? {} : everything(of)), { early, quietMs: 1000, memory });
});

test('a later process notices a cap that no earlier one met', async () => {
  const { memory } = openMemory();
  for (const most of [1_000, 90]) await readAll(300, unpaged, everything, { everyMs: 240_000, early: 0, memory, most });
});

test('a later process notices that a service shows less of a window', async () => {
  const { memory } = openMemory();
  const more = { everyMs: 600_000, memory };
  await readAll(90, paged, everything, more);
  await readAll(90, paged, everything, { ...more, longestMs: hour });
});

test('a later process knows the cap that an earlier one learned, for a week, and no call', async () => {
  const { kept, memory } = openMemory();
  const readOnce = () => read(90, unpaged, ({ records }) => ({ data: records.slice(0, 5) }), { memory });
  const first = await readOnce();
  expect(kept.facts).toMatchObject({ cap: 5 });
  expect(describeFacts(kept.facts).join()).toContain('5 records a query, the most of any answer');
  expect(JSON.stringify(kept)).not.toContain(`c${start}`);
  const later = await readOnce();
  expect(later).toMatchObject({ seen: 90, problems: [] });
  expect(later.requests).toBeLessThan(first.requests);
  Object.assign(kept, { since: Date.now() - 8 * 24 * hour });
  expect(await readOnce()).toEqual(first);
});

test('a step of coarse bounds with as many calls as any query is reported, also if they are few', async () => {
  const few: Answer = ({ page, records }) => ({ data: page > 1 ? [] : records.slice(0, 7) });
  const { seen, problems } = await read(60, { time_resolution_ms: hour }, few, { stepMs: hour });
  expect(seen).toBe(7);
  expect(problems).toContainEqual(expect.objectContaining({ problem: 'looks_truncated' }));
});

test('two records with one id in one answer: one is kept whole, in whatever order, and they are counted', async () => {
  const record = { unique_id: 'a', timestamp: new Date(start).toISOString() };
  const twins = [
    { ...record, status: 'void', tags: [{ display_name: 'x' }] },
    { ...record, status: 'qualified', campaign: 'c', duration: '5' },
  ];
  const list = { records: 'data', exclude_param: 'exclude', exclude: ['tags'], ...unpaged };
  const kept: unknown[] = [];
  for (const data of [twins, [...twins].reverse()]) {
    for (const summary of [false, true]) {
      const light = data.map((one) => ({ ...one, tags: undefined }));
      const client = openMemoryList({ list }, () => [200, { data: summary ? light : data }]);
      const window = { axis: 'timestamp', from: start * 1000, to: start * 1000 + 1_000_000 };
      const { seen, result } = await readSimulated({ list: client }, window, { summary });
      expect(result.conflicting).toBe(1);
      kept.push(seen.get('a')?.fields.held);
    }
  }
  const [whole, light] = kept as [object, object];
  expect(twins).toContainEqual(whole);
  expect(whole).toMatchObject(light);
  expect(kept).toEqual([whole, light, whole, light]);
});

const again: Answer = ({ page, all, records }) => {
  const [first, second, ...rest] = records;
  const at = Date.parse(first?.timestamp ?? '') - 1000;
  const before = { unique_id: `c${at}`, timestamp: new Date(at || 0).toISOString() };
  const isAgain = page > 1 && second !== undefined && at > middle;
  return { total: all, data: isAgain ? [first, before, ...rest] : records };
};
test.each<[string, SourceConfigInput['list']]>([
  ['has a total', { total_path: 'total', ...paged }],
  ['has no total, and pages of one size', {}],
])('shorter windows show the call that another one displaces at each page: a list that %s', (_, list) =>
  readAll(75, list, again),
);

test('a cap of whole pages that begins amid the reading is found, although larger answers came before', () =>
  readAll(90, paged, everything, { laterCap: 40 }));

test('an answer without pages that ends at so many bytes is cut, although others held more calls', () =>
  readAll(90, unpaged, ({ records }) => {
    const noteOf = (id: string) => 'x'.repeat(id >= `c${middle}` ? 300 : 1);
    const data = records.map((record) => ({ ...record, note: noteOf(record.unique_id) }));
    while (JSON.stringify(data).length > 2_000) data.pop();
    return { data };
  }));

test('replicas in turn, and smaller pages than asked for: the pages of a second listing end elsewhere', () => {
  const pagination = { ...paged.pagination, size: 100 };
  return readAll(28, { total_path: 'total', pagination }, counted, { early: 28, late: 1 });
});
