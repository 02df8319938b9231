import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { sourceConfigSchema } from '../../schemas/config/source.ts';
import type { SimulatorOptions } from '../../schemas/simulator.ts';
import { defaultAxis } from '../../src/source/list/list-query.ts';
import { probeSource, renderProbe, writeListSection } from '../../src/source/probe/probe.ts';
import { settledRange } from '../support/settled-range.ts';
import { openSimulator } from '../support/simulator.ts';
import { type DialectSource, dialectLists } from './dialect-lists.ts';
import { json, openSource, readAll, serve, withTokens } from './local-server.ts';
import { liveCases, probeLive } from './probe-live-cases.ts';
import { listedIds, missingFrom, readSimulated, simulatedConfig, wholeRange } from './simulated.ts';

const configOf = (simulator: Awaited<ReturnType<typeof openSimulator>>, section: object = {}) =>
  simulatedConfig(simulator, { ...section, limits: { requests: 1_000_000 } });
const probe = async (...of: Parameters<typeof configOf>) => await probeSource({ config: await configOf(...of) });

const few = { count: 300, utterances: 1, words: 2 };
/** More than the cap of 1,000, which reading notices; elsewhere more than two pages, and no round number. */
const callsOf = (dialect: string): number => (['silent_cap', 'page_capped'].includes(dialect) ? 1_264 : 463);

const start = (dialect: string, count = callsOf(dialect)) => {
  const calls = { count, utterances: 2, words: 3, ...settledRange };
  return openSimulator({ dialect, calls, rateLimit: { requests: 0, headers: true } });
};

/** Settings that a probe finds of lists that presets read. */
const presets: Record<string, object> = {
  activate: {
    ...{ records: 'data', total_path: 'count', max_results: 10_000, exclude_param: 'exclude', order_param: 'order' },
    pagination: { style: 'offset', offset_param: 'offset', size_param: 'limit', size: 200 },
    single_path: '/calls/{unique_id}',
  },
  'activate-v1': { records: 'data', total_path: 'count' },
};
/** Settings that a probe finds of a list: all of its configuration but the limit that only its user knows. */
const findable = ({ preset, max_results: _, ...list }: DialectSource['list']): object => {
  if (preset !== undefined) return presets[preset] ?? {};
  const text = JSON.stringify({ ...{ cursor_fields: [], from_inclusive: true, to_inclusive: true }, ...list });
  return JSON.parse(text.replace(/"X-[\w-]+"/, (header) => header.toLowerCase())) as object;
};

test.each(Object.entries(dialectLists))('probing %s finds settings that read it whole', async (dialect, known) => {
  const simulator = await start(dialect);
  const config = await configOf(simulator, { version: known.version });
  const report = await probeSource({ config });
  const list = findable(known.list);
  expect(report).toMatchObject({ complete: true, list });
  expect(report.requests).toBeLessThanOrEqual(report.maxRequests);
  expect((await simulator.stats()).requests.list).toBeLessThanOrEqual(report.maxRequests);
  expect(report.preset?.preset).toBe(known.list.preset);
  expect(report.list.total_path !== undefined).toBe('total_path' in list);

  const written = parse(writeListSection('# mine\nsource:\n  realm: kept # here\n', report)) as { source: object };
  expect(written.source).toMatchObject({ realm: 'kept' });
  const { realm: _realm, ...section } = written.source as { realm: string };
  const source = openSource(sourceConfigSchema.parse({ ...config, ...section }));
  const axis = defaultAxis(source.config.list).name;
  const listed = await listedIds(simulator);
  const { from, to } = wholeRange(simulator, axis);
  const middle = Math.round((from + (Date.parse(simulator.range.to) * 1000 - from) * 0.6) / 1e6) * 1e6;
  const first = await readSimulated(source, { axis, from, to: middle });
  const windows = [first, await readSimulated(source, { axis, from: middle, to })] as const;
  expect(missingFrom(listed, new Map(windows.flatMap(({ seen }) => [...seen])))).toEqual([]);
  // Each call in one of two neighbouring windows.
  expect(windows[0].inside.size + windows[1].inside.size).toBe(listed.size);
  // Nothing shows that a list without window parameters has no cap: the user has to say so.
  const isUncut = report.list.cursor_fields.length === 0;
  for (const { result } of windows)
    expect(result.problems.map(({ problem }) => problem)).toEqual(isUncut ? ['looks_truncated'] : []);
  // It names the size of pages for `activate-v1`, which the list of `dialectLists` does not.
  const shown = dialect === 'activate-v1' ? 'page_overlap' : known.shown;
  if (!isUncut) expect(windows[0].result.shown).toBe(shown);
});

test('a probe recognises both axes, the end of processing among them, and what the list lacks', async () => {
  const report = await probe(await start('activate'));
  expect(report.list.cursor_fields).toMatchObject([
    { name: 'qualified', end_of_processing: true, order: 'qualified' },
    { name: 'timestamp', end_of_processing: false, order: 'timestamp' },
  ]);
  expect(report.list.exclude).toContain('transcript_json');
  expect(report.findings.find(({ key }) => key === 'fields the list lacks')?.found).toContain('audio_state');
  expect(report.findings.find(({ key }) => key === 'rate-limit headers')?.found).toContain('x-ratelimit-limit');
});

test('a probe never makes more requests than stated, and says that it stopped', async () => {
  for (const maxRequests of [3, 10, 25]) {
    const simulator = await start('nested_records');
    const report = await probeSource({ config: await configOf(simulator), maxRequests });
    const { requests } = await simulator.stats();
    expect(requests.list + requests.call).toBeLessThanOrEqual(maxRequests);
    expect(report.complete).toBe(false);
    expect(report.findings.at(-2)?.key).toBe('the rest');
  }
});

test('a probe prints no personal data and no token', async () => {
  const simulator = await start('activate', 60);
  const text = renderProbe(await probe(simulator));
  const words = new Set(text.split(/[^\p{L}\p{N}_]+/u));
  let checked = 0;
  for await (const { document } of simulator.truth({})) {
    for (const value of contentOf(document)) {
      checked++;
      if (words.has(value) || (/\W/.test(value) && text.includes(value))) expect.fail(`it printed ${value}`);
    }
  }
  expect(checked).toBeGreaterThan(500);
  expect(text).not.toContain(simulator.clientSecret);
  expect(text).toContain('The preset activate fits');
});

test('a probe says what to do when the list is empty or refuses', async () => {
  const empty = await start('activate', 0);
  await expect(probeSource({ config: await simulatedConfig(empty) })).rejects.toMatchObject({ code: 'LIST_EMPTY' });
  const keyed = { data: { a: { unique_id: 'a', tags: [{ unique_id: 'no call' }] } } };
  for (const shape of [{ edges: odd.map((node) => ({ node })) }, keyed]) {
    const { config } = (await serveOdd(() => shape)).source;
    await expect(probeSource({ config })).rejects.toMatchObject({ code: 'LIST_SHAPE' });
  }
  const path = await start('version_path');
  const without = { ...(await simulatedConfig(path)), base_url: path.origin };
  await expect(probeSource({ config: without })).rejects.toMatchObject({ code: 'LIST_REFUSED' });
  const wrong = { ...(await simulatedConfig(await start('activate'))), client_secret: 'wrong' };
  await expect(probeSource({ config: wrong })).rejects.toMatchObject({ code: 'TOKEN_REFUSED' });
});

test('a probe tries the names of window parameters that the user passes', async () => {
  const dialectOverrides = { windows: [{ axis: 'timestamp' as const, from: 'von', to: 'bis' }] };
  const config = await configOf(await openSimulator({ dialect: 'page', dialectOverrides, calls: few }));
  expect((await probeSource({ config })).list.cursor_fields).toEqual([]);
  const { list } = await probeSource({ config, names: [['von', 'bis']] });
  expect(list.cursor_fields).toMatchObject([{ from_param: 'von', to_param: 'bis' }]);
});

type Query = Record<string, string>;
const odd = Array.from({ length: 40 }, (_, hour) => {
  const timestamp = new Date(Date.UTC(2024, 6, 1, hour)).toISOString();
  const [finished_at, updated_at] = [':08:', ':09:'].map((minute) => timestamp.replace(':00:', minute));
  return { unique_id: `c${hour}`, timestamp, finished_at, updated_at, status: 'void' };
});
const rows = (from: number | string, size: number | string = 12) => ({ data: odd.slice(+from, +from + +size) });
const serveOdd = (answer: (query: Query) => object) =>
  serve(withTokens((_, response, url) => json(response, 200, answer(Object.fromEntries(url.searchParams)))));
const oddPages = ({ seite = '1', anzahl = '12' }: Query) => rows((+seite - 1) * +anzahl, anzahl);
/** Pages that lead on by a key. */
const lead = (at: string | undefined, key: string, before = 'n') => {
  const from = Number(at?.replace(/\D/g, '') ?? 0);
  return { ...rows(from), ...(from < 28 && { [key]: `${before}${from + 12}` }) };
};

/** Takes bounds of one form alone. */
const timed = ({ from = '', to = '' }: { readonly [Name in string]?: string | undefined }) => {
  const [after, before] = [from, to].map((bound) => `${bound.replace(' ', 'T')}.`);
  const isInside = ({ timestamp: at }: { timestamp: string }) => at >= `${after}` && at <= `${before}999Z`;
  return { data: / /.test(from) ? odd.filter(isInside) : odd };
};

const cutBy = (name: 'finished' | 'updated') => (query: Query) => {
  const { [`${name}_after`]: from = '', [`${name}_before`]: to = '3' } = query;
  return { data: odd.filter(({ [`${name}_at` as const]: at = '' }) => at >= from && at <= to) };
};
const allSaid = (query: Query) => ({ ...cutBy('updated')(query), total: 40 });
const ended = { record_field: 'finished_at', end_of_processing: false };

test.each<[string, (query: Query) => object, object, (readonly [string] | readonly [string, string])[]?]>([
  ['bounds without a zone', timed, { time_format: 'datetime' }],
  ['bounds as filters', (q) => timed({ from: q['filter[from]'], to: q['filter[to]'] }), { time_format: 'datetime' }],
  ['bounds of changes', cutBy('updated'), { cursor_fields: [{ record_field: 'updated_at' }] }],
  ['bounds of ends', cutBy('finished'), { cursor_fields: [ended] }, [['finished_after', 'finished_before']]],
  ['a total of records', () => ({ ...rows(0, 99), meta: { 'record-count': 40 } }), { total_path: 'meta.record-count' }],
  ['a total in depth', () => ({ ...rows(0, 99), hits: { total: { value: 40 } } }), { total_path: 'hits.total.value' }],
  ['a total of all', allSaid, expect.not.objectContaining({ total_path: 'total' })],
  ['pages as the user says', oddPages, { page_param: 'seite', size_param: 'anzahl' }, [['seite'], ['anzahl']]],
  ['pages of a fixed size', ({ page = 1 }) => rows((+page - 1) * 12), { style: 'page', page_param: 'page' }],
  ['rows of a fixed number', ({ offset = 0 }) => rows(offset), { style: 'offset', offset_param: 'offset' }],
  ['another "start"', ({ offset = 0, limit, start }) => rows(start ? 99 : offset, limit), { offset_param: 'offset' }],
  ['a key with a dot', ({ $at }) => lead($at, '@odata.nextLink', '?$at='), { next_path: '@odata.nextLink' }],
  ['another host', ({ at }) => lead(at, 'next', 'http://internal/calls?at='), { next_path: 'next' }],
  ['a cursor by its name', ({ next_page_id }) => lead(next_page_id, 'next_page_id'), { cursor_param: 'next_page_id' }],
])('a probe finds out how to read all of a list with %s', async (_, answer, found, names = []) => {
  const { source } = await serveOdd(answer);
  const { list } = await probeSource({ config: source.config, names });
  expect({ ...list, ...list.pagination }).toMatchObject(found);
  expect(await readAll(openSource({ ...source.config, list }))).toHaveLength(odd.length);
});

test('a field that the list leaves out of some calls is not authoritative', async () => {
  const tags = [{ type: 'text' }];
  const data = odd.map((one, at) => ({ ...one, tags: at % 2 === 0 ? tags : [] }));
  const { source } = await serve(
    withTokens((_, response, { pathname }) => {
      const one = data.find(({ unique_id }) => pathname.endsWith(`/${unique_id}`));
      json(response, 200, one === undefined ? { data } : { ...one, tags });
    }),
  );
  expect((await probeSource(source)).list.authoritative_fields).toEqual(Object.keys(data[0] ?? {}).slice(0, -1));
});

test.each([1, 2, 4])('a probe of %i requests is incomplete, and leaves known settings', async (maxRequests) => {
  const { source } = await serveOdd(oddPages);
  const report = await probeSource({ config: source.config, maxRequests });
  expect(report).toMatchObject({ complete: false, list: { records: 'data' } });
  expect(renderProbe(report)).not.toContain('No preset fits');
  const known = { list: { records: 'old', max_results: 7, pagination: { style: 'none' } } };
  expect(parse(writeListSection(stringify({ source: known }), report))).toEqual({
    source: { list: { ...known.list, records: 'data' } },
  });
});

// `npm run campaign -- lists probe` makes 20 runs of each.
test.each(Object.entries(liveCases))('a list paged by %s is recognised as calls come', async (name, [, pagination]) => {
  const report = await probeLive(name, 1);
  expect(report).toMatchObject({ complete: true, list: { pagination } });
  expect(report.list.cursor_fields.length).toBeGreaterThan(0);
  expect(report.list.max_results).toBe(name === 'offset' ? 10_000 : undefined);
  expect(report.findings.filter(({ key }) => key === 'contradiction')).toEqual([]);
});

test('it waits where the service says that it was too many', async () => {
  const rateLimit = { requests: 15, seconds: 2, retryAfter: 'seconds' } as const;
  const simulator = await openSimulator({ dialect: 'page_total', calls: few, rateLimit });
  const report = await probe(simulator);
  expect(report.complete).toBe(true);
  expect((await simulator.stats()).rate.refused).toBeGreaterThan(0);
  expect(report.requests).toBeLessThanOrEqual(report.maxRequests);
});

const dead = { paging: { style: 'none' }, cap: 100, capTotal: 'true' } as const;
const elsewhere = { printedZoneMinutes: 14 * 60, density: 'even' } as const;
test.each<[string, SimulatorOptions, string]>([
  ['a total beyond a list that has no way on', { dialectOverrides: dead }, 'pagination.style and the total'],
  ['windows by other times than records show', { calls: elsewhere }, 'window parameters and the times of records'],
])('what cannot all be true is said of %s', async (_, { calls, ...options }, said) => {
  const report = await probe(await openSimulator({ dialect: 'page_total', calls: { ...few, ...calls }, ...options }));
  const found = report.findings.filter(({ key }) => key === 'contradiction');
  expect(found.map(({ found: what }) => what)).toEqual([`between ${said}`]);
});

/** Texts of a record that could tell something about a person: ids, numbers, names, words of the transcript. */
const contentOf = (value: unknown): string[] => {
  if (typeof value === 'string') return value.length >= 6 && !/^(qualified|AVAILABLE)$/.test(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    ['status', 'asr_model', 'display_name', 'type'].includes(key) ? [] : contentOf(inner),
  );
};
