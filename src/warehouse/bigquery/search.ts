/**
 * Searching in BigQuery. SEARCH compares whole words without regard to case; it neither stems nor ignores accents, and
 * one utterance must have all words. BigQuery itself keeps the index.
 */

import { CallsyncError, terminal } from '../../lib/errors.ts';
import type { FoundCall, SearchHit, SearchRequest, SearchResult, SearchTerm, TranscriptSearch } from '../search.ts';
import { hitsPerCall, readSearchText } from '../search.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import type { Queries } from './queries.ts';

export const createTranscriptSearch = (
  queries: Queries,
  config: Pick<BigqueryWarehouseConfig, 'project' | 'dataset' | 'api_endpoint'>,
): TranscriptSearch => {
  const dataset = `${config.project}.${config.dataset}`;
  const sql = indexSql(dataset);
  const isLocal = config.api_endpoint !== undefined;
  const run = (text: string) => queries.run({ sql: text }).catch(explain(isLocal, /parser error|search_indexes/i));
  return {
    create: async () => void (await run(sql.create)),
    drop: async () => void (await run(sql.drop)),
    status: async () => toStatus(await run(sql.status)),
    find: (request) => find(queries, dataset, request).catch(explain(true, /function not found: search/i)),
  };
};

export const indexSql = (dataset: string) => ({
  create: `CREATE SEARCH INDEX IF NOT EXISTS transcript_search ON \`${dataset}.utterances\` (content) OPTIONS (analyzer = 'LOG_ANALYZER')`,
  drop: `DROP SEARCH INDEX IF EXISTS transcript_search ON \`${dataset}.utterances\``,
  status: `SELECT coverage_percentage, total_storage_bytes FROM \`${dataset}\`.INFORMATION_SCHEMA.SEARCH_INDEXES
 WHERE index_name = 'transcript_search'`,
});

/** Utterances, newest call first. Parameters: terms, and each of the conditions that are asked for. */
export const searchSql = (dataset: string, request: Omit<SearchRequest, 'text'>): string => {
  const [first, later] = ['SEARCH(u.content, @terms)', 'SEARCH(u.content, @then_terms)'];
  const place = (condition: string): string => `IF(${condition}, u.utterance_index, NULL)`;
  const conditions = [
    request.thenText === undefined ? first : `(${first} OR ${later})`,
    ...(request.from === undefined ? [] : ['u.call_timestamp >= TIMESTAMP_MICROS(@from_micros)']),
    ...(request.to === undefined ? [] : ['u.call_timestamp < TIMESTAMP_MICROS(@to_micros)']),
    ...(request.side === undefined ? [] : ['u.side = @side']),
    ...(request.speaker === undefined ? [] : [request.speaker('u.side', 'c.direction')]),
  ];
  return `SELECT u.call_id AS call_id, u.call_timestamp AS call_timestamp, c.lang AS language,
       ARRAY_AGG(STRUCT(u.utterance_index AS utterance_index, u.side AS side, u.content AS content)
                 ORDER BY u.utterance_index LIMIT ${hitsPerCall}) AS hits
  FROM \`${dataset}.utterances\` AS u
  JOIN \`${dataset}.calls\` AS c
    ON c.call_id = u.call_id AND (c.call_timestamp = u.call_timestamp OR (c.call_timestamp IS NULL AND u.call_timestamp IS NULL))
 WHERE ${conditions.join('\n   AND ')}
 GROUP BY call_id, call_timestamp, language${request.thenText === undefined ? '' : `\nHAVING MIN(${place(first)}) < MAX(${place(later)})`}
 ORDER BY call_timestamp DESC, call_id
 LIMIT ${request.limit + 1}`;
};

/** Words and phrases for SEARCH, in backticks, so that they contain no operators. */
const searchTerms = (terms: readonly SearchTerm[]): string =>
  terms.map(({ text }) => `\`${text.replaceAll('`', ' ')}\``).join(' ');

const plainTerms = (text: string): readonly SearchTerm[] => {
  const [terms = [], ...others] = readSearchText(text);
  if (others.length === 0 && !terms.some(({ isExcluded, isPrefix }) => isExcluded || isPrefix)) return terms;
  throw terminal('USAGE_SEARCH', 'On BigQuery, a search finds only calls with all words and phrases.', {
    hint: 'Omit “or”, excluded words and prefixes, or search a PostgreSQL warehouse.',
  });
};

const find = async (queries: Queries, dataset: string, request: SearchRequest): Promise<SearchResult> => {
  const terms = plainTerms(request.text);
  const later = request.thenText === undefined ? [] : plainTerms(request.thenText);
  const { from, to, side, signal } = request;
  const rows = await queries.run({
    sql: searchSql(dataset, request),
    parameters: {
      terms: searchTerms(terms),
      then_terms: later.length === 0 ? undefined : searchTerms(later),
      ...{ from_micros: from, to_micros: to, side },
    },
    types: { from_micros: 'INT64', to_micros: 'INT64' },
    signal,
  });
  const calls = rows.slice(0, request.limit).map(
    (row): FoundCall => ({
      callId: row.call_id as string,
      callTimestamp: row.call_timestamp as number | null,
      language: row.language as string | null,
      hits: (row.hits as readonly Record<string, unknown>[]).map((hit) => toHit(hit, [...terms, ...later])),
    }),
  );
  return { calls, more: rows.length > request.limit, pending: 0 };
};

/**
 * The local BigQuery lacks the function, and names it as it names a missing table. Statements for search indexes, and the
 * view that lists them, are missing too.
 */
const explain =
  (isLocal: boolean, lacking: RegExp) =>
  (cause: unknown): never => {
    if (!isLocal || !(cause instanceof CallsyncError) || !lacking.test(cause.message)) throw cause;
    throw terminal('SEARCH_UNSUPPORTED', 'The local BigQuery has no SEARCH function.', { cause });
  };

const toHit = (hit: Record<string, unknown>, terms: readonly SearchTerm[]): SearchHit => {
  const content = String(hit.content);
  const wanted = new Set(terms.flatMap(({ text }) => text.toLowerCase().match(word) ?? []));
  const highlights = [...content.matchAll(word)]
    .filter(([found]) => wanted.has(found.toLowerCase()))
    .map(({ 0: found, index }): [number, number] => [index, index + found.length]);
  const side = typeof hit.side === 'string' ? hit.side : null;
  return { utteranceIndex: Number(hit.utterance_index), side, text: content, highlights };
};

const word = /[\p{L}\p{N}]+/gu;

const toStatus = ([row]: readonly Record<string, unknown>[]): Awaited<ReturnType<TranscriptSearch['status']>> => {
  if (row === undefined) return { state: 'absent', calls: null, pending: null, bytes: null };
  const state = Number(row.coverage_percentage) === 100 ? 'ready' : 'building';
  const bytes = row.total_storage_bytes === null ? null : Number(row.total_storage_bytes);
  return { state, calls: null, pending: null, bytes };
};
