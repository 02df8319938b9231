/**
 * Searches by the index. Frequent words are found among the newest rows. These rows also tell whether the index or a
 * scan by time is faster, because the planner knows no phrases.
 */
import { CallsyncError, terminal } from '../../lib/errors.ts';
import { type Database, type Transaction, toMicros, toTimestamp, withSessionLock } from '../../postgres/database.ts';
import type { FoundCall, SearchHit, SearchRequest, SearchResult, SearchTerm, TranscriptSearch } from '../search.ts';
import { hitsPerCall, marks, readMarks, readSearchText, separatedSql } from '../search.ts';
import { type Layout, qualified } from './layout.ts';
import type { Schema } from './migrate.ts';
import { cancelAt } from './reader.ts';
import * as index from './search-index.ts';

/** @param filling connections with which searches fill rows. The short time-out of these connections protects loads from a long wait. */
export const createTranscriptSearch = (schema: Schema, filling: Database): TranscriptSearch => ({
  create: ({ onProgress, onWait } = {}) =>
    withSessionLock(
      schema.db,
      `callsync.search-index.${schema.layout.schema}`,
      () => index.createIndex(schema, onProgress),
      onWait,
    ),
  drop: () => index.dropIndex(schema),
  status: () => asReader(schema, index.readStatus(schema)),
  find: (request) => asReader(schema, find(schema, filling, request)),
});

/** A word of a search in one language, with the lexemes that the index has for it. */
interface WordRow {
  readonly language: string;
  readonly boundary: string;
  /** Number of the term, from 1; null for a language without a word of any term. */
  readonly term: number | null;
  readonly place: number;
  readonly lexemes: readonly string[];
  /** A stop word: it counts in phrases only. */
  readonly is_stop: boolean;
  readonly isPrefix?: boolean;
}

/** A search as one language reads it. */
type LanguageQuery = NonNullable<ReturnType<typeof readIn>>;

const quoteLexeme = (lexeme: string): string => `'${lexeme.replaceAll(/[\\']/gu, '$&$&')}'`;
const joinBy =
  (operator: '&' | '|') =>
  (queries: readonly string[]): string =>
    queries.length === 1 ? (queries[0] as string) : `(${queries.join(` ${operator} `)})`;
const [and, or] = [joinBy('&'), joinBy('|')];

const weightOf = ({ is_stop }: WordRow): 'A' | 'D' => (is_stop ? 'D' : 'A');
const wordOf = (row: WordRow): string =>
  or(row.lexemes.map((lexeme) => `${quoteLexeme(lexeme)}:${row.isPrefix === true ? '*' : ''}${weightOf(row)}`));
/** One word, or words that follow one another at the distances at which they stand in the search. */
const sequenceOf = (words: readonly WordRow[]): string =>
  words
    .map((row, at) => (at === 0 ? wordOf(row) : `<${row.place - (words[at - 1] as WordRow).place}> ${wordOf(row)}`))
    .join(' ');

/** Undefined for a language that takes all that is wanted for stop words outside phrases. */
const readIn = (alternatives: readonly (readonly SearchTerm[])[], rows: readonly WordRow[]) => {
  let number = 0;
  const wanted: WordRow[][] = [];
  const asked = alternatives.flatMap((terms) => {
    const read = terms.map(({ isPhrase, isPrefix, isExcluded }) => {
      number += 1;
      const own = rows.filter(({ term, is_stop }) => term === number && (isPhrase || isPrefix || !is_stop));
      // The letters of a stop word begin words that count.
      const words = own.map((row, at) =>
        isPrefix && at === own.length - 1 ? { ...row, isPrefix, is_stop: false } : row,
      );
      return { words, isExcluded };
    });
    const spoken = read.filter(({ words }) => words.length > 0);
    const included = spoken.filter(({ isExcluded }) => !isExcluded).map(({ words }) => words);
    if (included.length === 0) return [];
    wanted.push(...included);
    const all = spoken.map(({ words, isExcluded }) => `${isExcluded ? '!' : ''}(${sequenceOf(words)})`);
    return [{ full: and(all), words: and(included.flat().map(wordOf)) }];
  });
  const [first] = rows;
  if (asked.length === 0 || first === undefined) return undefined;
  const ofLanguage = (queries: readonly string[]) => `('${first.boundary}' & ${or(queries)})`;
  const weighted = (row: WordRow) => row.lexemes.map((lexeme) => weightOf(row) + lexeme);
  return {
    language: first.language,
    /** The whole condition, and a necessary condition (its words, anywhere), both as tsquery. */
    full: ofLanguage(asked.map(({ full }) => full)),
    words: ofLanguage(asked.map(({ words }) => words)),
    /** One wanted word or phrase of it, for the utterances to show. */
    any: or(wanted.map((words) => `(${sequenceOf(words)})`)),
    /** Lexemes of wanted words, and beginnings of them, each after its weight. */
    lexemes: wanted.flat().flatMap(weighted),
    prefixes: wanted.flat().flatMap((row) => (row.isPrefix === true ? weighted(row) : [])),
  };
};

/** So many of the newest rows are looked at first. */
const newestRows = 2_000;
/** A row from the index is read out of order, so it costs as much as this many rows of a walk. */
const namedCost = 1.5;
/** A word without hits counts as if half a row had it. */
const halfFound = 0.5;

type Speaker = SearchRequest['speaker'];
/** Whether the asked speaker said a row that has a call and a side. */
const isSpeaker = (layout: Layout, speaker: Speaker, row: string): string => {
  const direction = `(SELECT c.direction FROM ${qualified(layout, 'calls')} c WHERE c.call_id = ${row}.call_id)`;
  const role = speaker === undefined ? '' : ` AND ${speaker(`${row}.side`, direction)}`;
  return `($5::text IS NULL OR ${row}.side = $5::text)${role}`;
};
/** Conditions that a search does not need are constant when it is planned, and vanish. Parameters: $1 query, $2 limit, $3 to $5. */
const inRange = (layout: Layout, speaker: Speaker): string =>
  `($3::bigint IS NULL OR s.call_timestamp >= ${toTimestamp('$3')})
   AND ($4::bigint IS NULL OR s.call_timestamp < ${toTimestamp('$4')})
   AND ${isSpeaker(layout, speaker, 's')}`;
const newestFirst = 'ORDER BY call_timestamp DESC NULLS LAST, call_id';
const found = 'call_id, min(language) AS language, array_agg(side ORDER BY side) AS sides, call_timestamp';
const byCall = `GROUP BY call_timestamp, call_id ${newestFirst} LIMIT $2`;

/**
 * Where a side said the first text first, and where anybody said the other last: each within one utterance. The words of
 * both must be in the call before its utterances are read. Parameters $6 and $7 are both texts, $8 the words of the other.
 */
export const createLater = (layout: Layout, speaker: Speaker) => {
  const search = qualified(layout, 'transcript_search');
  const others = `FROM ${search} o WHERE o.call_id = s.call_id AND o.document @@ $8::tsquery AND ${isSpeaker(layout, speaker, 'o')}`;
  return {
    places: `, min(said.first_place) AS first_place, (SELECT array_agg(o.side) ${others}) AS later_sides`,
    from: ` CROSS JOIN LATERAL (
  SELECT min(utterance_index) FILTER (WHERE u.side = s.side AND heard @@ $6::tsquery) AS first_place,
         max(utterance_index) FILTER (WHERE ${isSpeaker(layout, speaker, 'u')} AND heard @@ $7::tsquery) AS last_place
    FROM (SELECT call_id, utterance_index, coalesce(side, '') AS side,
                 ${qualified(layout, 'transcript_document')}(s.language, ${index.boundary('s.language')} || ' ' || content) AS heard
            FROM ${qualified(layout, 'utterances')} WHERE call_id = s.call_id AND content <> '' OFFSET 0) u) said`,
    where: `\n   AND EXISTS (SELECT ${others}) AND said.first_place < said.last_place`,
  };
};
const anywhere: ReturnType<typeof createLater> = { places: '', from: '', where: '' };

/** Every statement of a search. @param later where a later text is asked for too */
export const findSql = (layout: Layout, speaker?: Speaker, later = anywhere) => {
  const search = qualified(layout, 'transcript_search');
  const document = qualified(layout, 'transcript_document');
  const wanted = `(p.weight || w.lexeme = ANY($5::text[]) OR p.weight || w.lexeme ^@ ANY($6::text[]))`;
  return {
    /**
     * The languages of the index, and how each reads the terms. Parameter: their texts. Steps from one language to the next by the
     * index, instead of reading all rows.
     */
    words: `WITH RECURSIVE l(language) AS (
  (SELECT language FROM ${search} ORDER BY language LIMIT 1)
  UNION ALL
  SELECT (SELECT s.language FROM ${search} s WHERE s.language > l.language ORDER BY s.language LIMIT 1) FROM l WHERE l.language IS NOT NULL
)
SELECT l.language, ${index.boundary('l.language')} AS boundary, w.term, w.place,
       coalesce(array_agg(w.lexeme) FILTER (WHERE w.weight = 'D'), array_agg(w.lexeme)) AS lexemes, bool_or(w.weight = 'D') AS is_stop
  FROM l
  LEFT JOIN LATERAL (
    SELECT t.term::int, p.place, d.lexeme, p.weight
      FROM unnest($1::text[]) WITH ORDINALITY t(content, term)
     CROSS JOIN LATERAL unnest(${document}(l.language, t.content)) d
     CROSS JOIN LATERAL unnest(d.positions, d.weights) p(place, weight)) w ON true
 WHERE l.language IS NOT NULL
 GROUP BY l.language, w.term, w.place
 ORDER BY l.language, w.term, w.place`,
    /** Calls among the newest rows; how many rows there are, how many have the words ($6), and how many are found. */
    newest: `WITH newest AS MATERIALIZED (
  SELECT call_id, side, language, call_timestamp, named, CASE WHEN named THEN document @@ $1::tsquery ELSE false END AS is_found
    FROM (SELECT *, document @@ $6::tsquery AS named FROM ${search} s
           WHERE ${inRange(layout, speaker)} AND document IS NOT NULL ${newestFirst} LIMIT ${newestRows}) s
)
SELECT f.*, ${toMicros('f.call_timestamp')} AS micros, counted.*,
       (SELECT greatest(reltuples, 0)::float8 FROM pg_class WHERE oid = '${search}'::regclass) AS all_rows
  FROM (SELECT count(*) AS looked_at, count(*) FILTER (WHERE named) AS named, count(*) FILTER (WHERE is_found) AS found FROM newest) counted
  LEFT JOIN (SELECT ${found} FROM newest WHERE is_found ${byCall}) f ON true
 ${newestFirst}`,
    /** Newest calls of all, by a walk through time. */
    walk: `SELECT ${found}, ${toMicros('call_timestamp')} AS micros${later.places} FROM ${search} s${later.from}
 WHERE ${inRange(layout, speaker)} AND document @@ $1::tsquery${later.where} ${byCall}`,
    /** The same query by the index of words. OFFSET hides other conditions from the planner, which would prefer another index. */
    named: `SELECT ${found}, ${toMicros('call_timestamp')} AS micros${later.places}
  FROM (SELECT * FROM ${search} WHERE document @@ $1::tsquery OFFSET 0) s${later.from}
 WHERE ${inRange(layout, speaker)}${later.where} ${byCall}`,
    /**
     * The utterances to show of found calls, with marks: those that have a word or phrase. Positions of words and boundaries in
     * the document tell; behind the 255th utterance, each is read. Stop words are marked only where nothing else is.
     * Parameters: ids, sides, language, `any`, lexemes, prefixes, index behind which an utterance must be.
     */
    hits: `SELECT h.call_id, h.utterance_index, h.side, h.content, marked.text AS marked
  FROM (SELECT s.call_id, u.*, row_number() OVER (PARTITION BY s.call_id ORDER BY u.utterance_index) AS rank
          FROM unnest($1::text[], $2::text[], $7::int[]) AS s(call_id, side, after)
          JOIN ${search} d ON d.call_id = s.call_id AND d.side = s.side
         CROSS JOIN LATERAL (
           WITH begins AS MATERIALIZED (SELECT positions FROM unnest(d.document) b WHERE b.lexeme = ${index.boundary('$3::text')}),
           places AS (
             SELECT place
               FROM (SELECT w.lexeme, p.at, p.weight, width_bucket(p.at, (SELECT positions FROM begins)) AS place
                       FROM unnest(d.document) w CROSS JOIN LATERAL unnest(w.positions, w.weights) p(at, weight) WHERE ${wanted}) said
              GROUP BY place
             HAVING string_agg('''' || replace(replace(lexeme, '\\', '\\\\'), '''', '''''') || ''':' || at || weight, ' ')::tsvector @@ $4::tsquery
           )
           SELECT u.utterance_index, u.side, u.content
             FROM (SELECT utterance_index, side, content, row_number() OVER (ORDER BY utterance_index) AS place
                     FROM ${qualified(layout, 'utterances')} WHERE call_id = s.call_id AND coalesce(side, '') = s.side AND content <> '') u
            WHERE u.utterance_index > s.after AND least(u.place, 255) IN (SELECT place FROM places)
              AND (u.place < 255 OR ${document}($3::text, u.content) @@ $4::tsquery)
            ORDER BY u.utterance_index LIMIT ${hitsPerCall}) u) h
 CROSS JOIN LATERAL (
   WITH heard AS MATERIALIZED (
     SELECT array_agg(p.at) FILTER (WHERE p.weight = 'A') AS counted, array_agg(p.at) AS stops
       FROM unnest(${document}($3::text, h.content)) w CROSS JOIN LATERAL unnest(w.positions, w.weights) p(at, weight) WHERE ${wanted}
   )
   SELECT string_agg(CASE WHEN tokid <> 12 AND place = ANY((SELECT coalesce(counted, stops) FROM heard)::int[])
                          THEN '${marks.start}' || token || '${marks.end}' ELSE token END, '' ORDER BY ordinality) AS text
     FROM (SELECT *, count(*) FILTER (WHERE tokid <> 12) OVER (ORDER BY ordinality) AS place
             FROM ts_parse('default', ${separatedSql('h.content')}) WITH ORDINALITY) token) marked
 WHERE h.rank <= ${hitsPerCall}
 ORDER BY h.call_id, h.utterance_index`,
  };
};

/** These queries are over sooner than they could be compiled. A walk must not become a sort of all that the words' index names. */
const prepareToFind = 'SET LOCAL jit = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off';
const byIndex = 'SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = off';
const byTime = 'SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexscan = on';

interface FoundRow {
  readonly call_id: string;
  readonly language: string;
  readonly sides: readonly string[];
  readonly micros: number | null;
  /** Of searches with a later text: index of the utterance, and the sides that have its words. */
  readonly first_place?: number;
  readonly later_sides?: readonly string[];
}

/** A call for each row of the result but one, which is all null where nothing is found. */
type NewestRow = FoundRow & Readonly<Record<'looked_at' | 'named' | 'found' | 'all_rows', number>>;

/** The newest calls that match, one more than asked for where there are more. */
const findCalls = async (
  tx: Transaction,
  layout: Layout,
  queries: readonly LanguageQuery[],
  then: readonly LanguageQuery[] | undefined,
  { limit, from, to, side, speaker }: SearchRequest,
): Promise<readonly FoundRow[]> => {
  if (queries.length === 0 || then?.length === 0) return [];
  const inAny = (part: 'full' | 'words', of = queries): string => or(of.map((query) => query[part]));
  // With two texts, excluded words count only within the utterance of each text.
  const wanted = inAny(then === undefined ? 'full' : 'words');
  const parameters = [wanted, limit + 1, ...[from, to, side].map((given) => given ?? null)];
  await tx.query(prepareToFind);
  const sql = findSql(layout, speaker, then === undefined ? anywhere : createLater(layout, speaker));
  const rows = await tx.query<NewestRow>(sql.newest, [...parameters, inAny('words')]);
  const [sample] = rows;
  const newest = rows.filter(({ call_id }) => call_id !== null);
  const isShort = sample === undefined || sample.looked_at < newestRows;
  if (then === undefined && (isShort || newest.length > limit)) return newest;
  if (then !== undefined) parameters.push(inAny('full'), inAny('full', then), inAny('words', then));
  if (isShort) return await tx.query<FoundRow>(sql.walk, parameters);
  const passed = ((limit + 1) * sample.looked_at) / Math.max(sample.found, halfFound);
  const named = (sample.all_rows * sample.named * namedCost) / sample.looked_at;
  if (Math.min(sample.all_rows, passed) < named) return await tx.query<FoundRow>(sql.walk, parameters);
  await tx.query(byIndex);
  const byWords = await tx.query<FoundRow>(sql.named, parameters);
  await tx.query(byTime);
  return byWords;
};

/** Excerpts of the found calls of one language, each after its call. @param isLater of the later text */
const readHits = async (
  tx: Transaction,
  layout: Layout,
  query: LanguageQuery,
  found: readonly FoundRow[],
  isLater: boolean,
): Promise<readonly (readonly [callId: string, hit: SearchHit])[]> => {
  const sides = found
    .filter(({ language }) => language === query.language)
    .flatMap(({ call_id: id, first_place = -1, ...row }) =>
      (isLater ? (row.later_sides ?? []) : row.sides).map((side) => ({ id, side, after: isLater ? first_place : -1 })),
    );
  type Said = Record<'call_id' | 'content' | 'marked', string> & { utterance_index: number; side: string | null };
  const said = await tx.query<Said>(findSql(layout).hits, [
    ...[sides.map(({ id }) => id), sides.map(({ side }) => side), query.language, query.any],
    ...[query.lexemes, query.prefixes, sides.map(({ after }) => after)],
  ]);
  return said.map(({ call_id, utterance_index, side, content, marked }) => {
    return [call_id, { utteranceIndex: utterance_index, side, ...readMarks(marked, content) }];
  });
};

/** Each text as every language of the index reads it. */
const readAll = async (tx: Transaction, layout: Layout, texts: readonly (readonly (readonly SearchTerm[])[])[]) => {
  const read: LanguageQuery[][] = [];
  for (const alternatives of texts) {
    const words = await tx.query<WordRow>(findSql(layout).words, [alternatives.flat().map(({ text }) => text)]);
    const languages = [...new Set(words.map(({ language }) => language))];
    const rowsOf = (name: string): WordRow[] => words.filter(({ language }) => language === name);
    const queries = languages.flatMap((name) => readIn(alternatives, rowsOf(name)) ?? []);
    if (words.length > 0 && queries.length === 0)
      throw terminal('USAGE_SEARCH', 'The search has only stop words, which are in nearly every call.', {
        hint: 'Put them into a phrase, such as "votre contrat", or add a rarer word.',
      });
    read.push(queries);
  }
  return read;
};

/** An utterance that has both texts shows once. */
const inOrder = (hits: readonly SearchHit[]): SearchHit[] =>
  [...new Map(hits.map((hit) => [hit.utteranceIndex, hit])).values()].sort(
    (a, b) => a.utteranceIndex - b.utteranceIndex,
  );

const find = async (schema: Schema, filling: Database, request: SearchRequest): Promise<SearchResult> => {
  const { db, layout } = schema;
  const texts = [request.text, ...(request.thenText === undefined ? [] : [request.thenText])].map(readSearchText);
  await index.requireIndex(schema);
  await index.fillBriefly({ db: filling, layout });
  return await db.transaction(async (tx) => {
    // All reads see one moment, so a call that a load changes meanwhile appears in its earlier state.
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    if (request.signal !== undefined) await cancelAt(request.signal, db.pool, tx.client);
    const pending = await index.countWaiting(tx, layout);
    const [queries = [], then] = await readAll(tx, layout, texts);
    const rows = await findCalls(tx, layout, queries, then, request);
    const shown = rows.slice(0, request.limit);
    const hits = new Map<string, readonly SearchHit[]>();
    for (const query of [...queries, ...(then ?? [])]) {
      const said = await readHits(tx, layout, query, shown, then?.includes(query) === true);
      for (const [id, hit] of said) hits.set(id, inOrder([...(hits.get(id) ?? []), hit]));
    }
    const calls = shown.map(({ call_id: callId, micros: callTimestamp, language }): FoundCall => {
      return { callId, callTimestamp, language, hits: hits.get(callId) ?? [] };
    });
    return { calls, more: rows.length > request.limit, pending };
  });
};

/** Searches need other rights than loads. */
const asReader = async <T>({ db, layout }: Schema, reading: Promise<T>): Promise<T> => {
  try {
    return await reading;
  } catch (cause) {
    if (!(cause instanceof CallsyncError) || cause.code !== 'DATABASE_PERMISSION') throw cause;
    throw terminal('DATABASE_PERMISSION', `The user of the ${db.purpose} lacks rights that a search needs.`, {
      hint: `Give it the rights of analysts, which callsync grants prints: USAGE on schema ${layout.schema}, SELECT on all its tables, EXECUTE on all its functions.`,
      cause: cause.cause,
    });
  }
};
