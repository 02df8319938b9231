/** Finding calls by the search index: which way is taken through it, and the utterances that are shown. */
import type pg from 'pg';
import {
  type FoundCall,
  type FoundCalls,
  hitsPerCall,
  readMarks,
  type SearchHit,
  type SearchRequest,
  type SearchText,
} from '../search.ts';
import type { Layout } from './layout.ts';
import {
  type Among,
  byIndex,
  byTime,
  findParameters,
  findSql,
  hitsSql,
  type LanguageQuery,
  type LanguageRow,
  languageParameters,
  languageQueriesSql,
  prepareToFind,
  sampleSql,
  toLanguageQuery,
} from './search-query.ts';

/** So many of the newest rows are looked at first, and tell how frequent words and phrases are. */
const firstLook = 400;
/** So many where a long way lies ahead: rare phrases of frequent words are too few among the first to count on. */
const secondLook = 4_000;
/** A row that the index names is read out of order: it costs so many rows of a walk. */
const namedCost = 1.5;
/** What was not found is taken for as frequent as if half a row had it. */
const halfFound = 0.5;

interface FoundRow {
  readonly call_id: string;
  readonly side: string;
  readonly micros: number | null;
  readonly language: string;
}

/** What the newest rows of a language told. */
interface Start {
  readonly query: LanguageQuery;
  readonly parameters: readonly unknown[];
  readonly rows: readonly FoundRow[];
  /** Rows that have the words, and those that match, by row; undefined when nothing is left to find. */
  readonly rest?: { readonly withWords: number; readonly found: number } | undefined;
}

/** What any of several searches found, newest first; a call that more than one found has the hits of all. */
export const joinResults = (results: readonly FoundCalls[], limit: number): FoundCalls => {
  const calls = new Map<string, FoundCall>();
  for (const call of results.flatMap((result) => result.calls)) {
    calls.set(call.callId, { ...call, hits: joinHits([...(calls.get(call.callId)?.hits ?? []), ...call.hits]) });
  }
  const sorted = [...calls.values()].sort(newestFirst);
  return { calls: sorted.slice(0, limit), more: sorted.length > limit || results.some((result) => result.more) };
};

/**
 * The newest calls of all languages that match; undefined where every language that there is takes all words for stop words, outside
 * phrases. The transaction's settings are left changed.
 */
export const findCalls = async (
  client: pg.PoolClient,
  layout: Layout,
  request: SearchRequest,
  text: SearchText,
): Promise<FoundCalls | undefined> => {
  const { rows: languages } = await client.query<LanguageRow>(languageQueriesSql(layout), [
    ...languageParameters(text),
  ]);
  const queries = languages.flatMap((row) => toLanguageQuery(row) ?? []);
  if (languages.length > 0 && queries.length === 0) return undefined;
  // One more call tells whether there are more.
  const wanted = request.limit + 1;
  const range = { from: request.from ?? null, to: request.to ?? null, side: request.side ?? null, limit: 2 * wanted };
  await client.query(prepareToFind);
  const starts: Start[] = [];
  for (const query of queries) {
    starts.push(await lookAtNewest(client, layout, query, { parameters: findParameters(query, range), wanted }));
  }
  // What is found soonest comes first: the others are of no interest where they are older.
  starts.sort((a, b) => densityOf(b) - densityOf(a));
  const found: { readonly row: FoundRow; readonly query: LanguageQuery }[] = [];
  for (const start of starts) {
    const from = oldestNeeded(
      found.map(({ row }) => row),
      wanted,
    );
    const rows = start.rest === undefined ? start.rows : await readAll(client, layout, start, { wanted, from });
    found.push(...rows.map((row) => ({ row, query: start.query })));
  }
  found.sort((a, b) => newestFirst(keyOf(a.row), keyOf(b.row)));
  const ids = [...new Set(found.map(({ row }) => row.call_id))];
  const shown = new Set(ids.slice(0, request.limit));
  const calls = new Map<string, FoundCall & { hits: SearchHit[] }>();
  for (const { row } of found.filter(({ row }) => shown.has(row.call_id))) {
    calls.set(row.call_id, { callId: row.call_id, callTimestamp: row.micros, language: row.language, hits: [] });
  }
  for (const query of queries) {
    const mine = found.filter((one) => one.query === query && shown.has(one.row.call_id)).map(({ row }) => row);
    if (mine.length === 0) continue;
    const { rows } = await client.query(hitsSql(layout), [
      mine.map((row) => row.call_id),
      mine.map((row) => row.side),
      query.language,
      query.any,
      query.lexemes,
      query.wantedSequences,
    ]);
    for (const row of rows) {
      const hit = { utteranceIndex: row.utterance_index, side: row.side, ...readMarks(row.marked, row.content) };
      calls.get(row.call_id)?.hits.push(hit);
    }
  }
  const sorted = [...calls.values()].map((call) => ({
    ...call,
    hits: call.hits.sort(byUtterance).slice(0, hitsPerCall),
  }));
  return { calls: sorted, more: ids.length > request.limit };
};

type CallKey = Pick<FoundCall, 'callId' | 'callTimestamp'>;
const keyOf = ({ call_id: callId, micros: callTimestamp }: FoundRow): CallKey => ({ callId, callTimestamp });
const newestFirst = (a: CallKey, b: CallKey): number =>
  (b.callTimestamp ?? 0) - (a.callTimestamp ?? 0) || (a.callId < b.callId ? -1 : 1);
const byUtterance = (a: SearchHit, b: SearchHit): number => a.utteranceIndex - b.utteranceIndex;

/** The first utterances, each with the highlights of all its hits. */
const joinHits = (hits: readonly SearchHit[]): readonly SearchHit[] => {
  const joined = new Map<number, SearchHit>();
  for (const hit of hits) {
    const known = joined.get(hit.utteranceIndex)?.highlights ?? [];
    const added = hit.highlights.filter(([start]) => !known.some(([other]) => other === start));
    const highlights = [...known, ...added].sort(([a], [b]) => a - b);
    joined.set(hit.utteranceIndex, { ...hit, highlights });
  }
  return [...joined.values()].sort(byUtterance).slice(0, hitsPerCall);
};

/** Of which language newest calls come first, about. */
const densityOf = ({ query, rest }: Start): number =>
  rest === undefined ? Number.POSITIVE_INFINITY : query.rows * rest.found;

/** The time of the last call that is wanted, once so many are found. */
const oldestNeeded = (rows: readonly FoundRow[], wanted: number): number | null => {
  const times = new Map(rows.map((row) => [row.call_id, row.micros]));
  return [...times.values()].sort((a, b) => (b ?? 0) - (a ?? 0))[wanted - 1] ?? null;
};

const callsOf = (rows: readonly FoundRow[]): number => new Set(rows.map((row) => row.call_id)).size;

/** What is frequent is found among the newest rows. Else they are a sample of the others. */
const lookAtNewest = async (
  client: pg.PoolClient,
  layout: Layout,
  query: LanguageQuery,
  { parameters, wanted }: { readonly parameters: readonly unknown[]; readonly wanted: number },
): Promise<Start> => {
  const { rows } = await client.query<FoundRow>(findSql(layout, 'newest'), [...parameters, firstLook]);
  if (callsOf(rows) >= wanted) return { query, parameters, rows };
  // Words alone are all that the index is asked for, and were counted.
  const hasMore = query.full !== query.words;
  const { rows: samples } = await client.query<{ rows: number; with_words: number }>(sampleSql(layout), [
    ...parameters,
    firstLook,
    hasMore,
  ]);
  const [sample = { rows: 0, with_words: 0 }] = samples;
  if (sample.rows < firstLook) return { query, parameters, rows };
  const withWords = hasMore ? sample.with_words : rows.length;
  const rest = { withWords: withWords / firstLook, found: Math.max(rows.length, halfFound) / firstLook };
  return { query, parameters, rows, rest };
};

/**
 * The sample tells how many rows the index would name, and how many a walk through time would pass until it has found
 * enough; the shorter way is taken. Where both are long, more rows are looked at first.
 */
const readAll = async (
  client: pg.PoolClient,
  layout: Layout,
  { query, parameters, rows: sampled, rest }: Start,
  { wanted, from }: { readonly wanted: number; readonly from: number | null },
): Promise<readonly FoundRow[]> => {
  const most = 2 * wanted;
  const find = async (among: Among, limit: number, more: readonly unknown[] = []): Promise<readonly FoundRow[]> => {
    const bounded = parameters.with(7, limit).with(3, from ?? parameters[3]);
    const { rows } = await client.query<FoundRow>(findSql(layout, among), [...bounded, ...more]);
    return rows;
  };
  let newest = sampled;
  let share = rest?.found ?? 0;
  // A call is found by each of its sides; few calls by both, as far as the newest tell.
  const enough = (): number =>
    newest.length === 0 ? wanted + 3 : Math.min(most, Math.ceil((wanted * newest.length) / callsOf(newest)) + 3);
  const named = query.rows * (rest?.withWords ?? 0) * namedCost;
  const passed = (): number => Math.min(query.rows, enough() / share);
  if (Math.min(named, passed()) > secondLook) {
    newest = await find('newest', most, [secondLook]);
    if (callsOf(newest) >= wanted) return newest;
    share = Math.max(newest.length, halfFound) / secondLook;
  }
  if (named <= passed()) {
    await client.query(byIndex);
    const rows = await find('named', most);
    await client.query(byTime);
    return rows;
  }
  const limit = enough();
  const rows = await find('walked', limit);
  return rows.length === limit && callsOf(rows) < wanted ? await find('walked', most) : rows;
};
