/** The tables that dlt 1.31 makes of the list in PostgreSQL, and the questions of the cookbook over them. */

/** 14 characters, as dlt's. */
const id = (of: string): string => `left(md5(${of}), 14)`;

/** Filled from our tables: the same values in dlt's columns. dlt indexes only `_dlt_id`. */
export const peerTables: readonly string[] = [
  'CREATE SCHEMA peer',
  `CREATE TABLE peer.calls AS
     SELECT call_id::varchar AS unique_id, call_timestamp AS "timestamp", duration::varchar AS duration, ivr_end, campaign::varchar,
            audio_state::varchar, status::varchar, in_label::varchar AS in__label, in_data::varchar AS in__data,
            in_type::varchar AS in__type, out_label::varchar AS out__label, out_data::varchar AS out__data,
            out_type::varchar AS out__type, client_capture_date AS metadata__client_capture_date,
            client_id::varchar AS metadata__client_id, audio_file_location::varchar AS metadata__audio_file_location,
            ani::varchar AS metadata__ani, agent::varchar AS metadata__agent, direction::varchar AS metadata__direction,
            dept::varchar AS metadata__dept, ${['UDF_num_01', 'UDF_num_02', 'UDF_text_01', 'UDF_text_02', 'UDF_num_14']
              .map(
                (key) =>
                  `(SELECT m.value FROM calls.metadata m WHERE m.call_id = c.call_id AND m.key = '${key}')::varchar AS metadata__${key.toLowerCase()}`,
              )
              .join(', ')},
            transcript_call_id::varchar AS transcript_json__call_unique_id, ivr_end AS transcript_json__meta__ivr_end,
            obfuscated::varchar AS transcript_json__meta__obfuscated, lang::varchar AS transcript_json__meta__lang,
            asr_model::varchar AS transcript_json__meta__asr_model, visit ->> 'source' AS visit__source,
            (visit ->> 'pages')::bigint AS visit__pages, tracking_info ->> 'gclid' AS tracking_info__gclid,
            tracking_info ->> 'medium' AS tracking_info__medium, '1795949142.1977093'::varchar AS _dlt_load_id,
            ${id('call_id')}::varchar AS _dlt_id
       FROM calls.calls c`,
  `CREATE TABLE peer.calls__tags AS
     SELECT tag_id::varchar AS unique_id, display_name::varchar, type::varchar, confidence, value_bool AS value,
            ${id('call_id')}::varchar AS _dlt_root_id, ${id('call_id')}::varchar AS _dlt_parent_id, tag_index::bigint AS _dlt_list_idx,
            ${id("call_id || 't' || tag_index")}::varchar AS _dlt_id, value_text::varchar AS value__v_text
       FROM calls.tags`,
  `CREATE TABLE peer.calls__transcript_json__call_data AS
     SELECT side::varchar AS "from", content::varchar, start_offset AS datetime, duration, ${id('call_id')}::varchar AS _dlt_root_id,
            ${id('call_id')}::varchar AS _dlt_parent_id, utterance_index::bigint AS _dlt_list_idx,
            ${id("call_id || 'u' || utterance_index")}::varchar AS _dlt_id, score
       FROM calls.utterances`,
  `CREATE TABLE peer.calls__transcript_json__call_data__words AS
     SELECT score, start_offset AS start, value::varchar, length, ${id('call_id')}::varchar AS _dlt_root_id,
            ${id("call_id || 'u' || utterance_index")}::varchar AS _dlt_parent_id, word_index::bigint AS _dlt_list_idx,
            ${id("call_id || 'u' || utterance_index || 'w' || word_index")}::varchar AS _dlt_id
       FROM calls.words`,
  ...['calls', 'calls__tags', 'calls__transcript_json__call_data', 'calls__transcript_json__call_data__words'].map(
    (table) => `ALTER TABLE peer.${table} ADD UNIQUE (_dlt_id)`,
  ),
];

type Rows = readonly Readonly<Record<string, unknown>>[];

interface PeerQuery {
  /** As in the cookbook, or a search. */
  readonly title: string;
  /** `more`: ours answers more, and the same question without that stands beside it. */
  readonly kind: 'calls' | 'tags' | 'words' | 'search' | 'more';
  readonly sql: string;
  /** Ours over the marts, where the cookbook does not have the question. */
  readonly own?: string;
  /** The part that both answers must share. */
  isSame(rows: Rows): string;
}

/** Numbers to four digits, texts as they are; of the named columns. */
const values =
  (...names: readonly string[]) =>
  (rows: Rows): string =>
    JSON.stringify(
      rows.map((row) =>
        names.map((name) =>
          row[name] === null || Number.isNaN(Number(row[name])) ? row[name] : Number(Number(row[name]).toPrecision(5)),
        ),
      ),
    );
const count = (rows: Rows): string => String(rows.length);

/** CTE `placed`: utterances by call and `speaker`, each with the latest end of those before it. The marts do the same in one sort. */
const placed = (speaker: string): string => `placed AS (
    SELECT id, s, e, max(e) OVER (PARTITION BY id${speaker} ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until
      FROM (SELECT _dlt_root_id AS id, "from", datetime AS s, datetime + duration AS e
              FROM peer.calls__transcript_json__call_data WHERE "from" IS NOT NULL AND duration >= 0) timed)`;

const spoken =
  'spoken AS (SELECT _dlt_root_id AS id, count(*) AS words FROM peer.calls__transcript_json__call_data__words GROUP BY 1)';

const searchTitle = (name: string): string => `search: ${name}`;

/** Words of the simulated service by how often they are said. */
export const searchedWords: Readonly<Record<string, string>> = {
  [searchTitle('a frequent word')]: 'facture',
  [searchTitle('two words in a row')]: '"maison date"',
};

const newest = (condition: string): string => `SELECT c.unique_id AS call_id FROM peer.calls c
   WHERE EXISTS (SELECT FROM peer.calls__transcript_json__call_data u WHERE u._dlt_root_id = c._dlt_id AND ${condition})
   ORDER BY c."timestamp" DESC LIMIT 20`;

const hours = `SELECT extract(hour FROM "timestamp" AT TIME ZONE 'Europe/Paris')::int AS business_hour, count(*) AS calls
   FROM peer.calls WHERE "timestamp" IS NOT NULL GROUP BY 1 ORDER BY 1`;

export const peerQueries: readonly PeerQuery[] = [
  {
    title: 'How many calls are qualified and void, by campaign?',
    kind: 'calls',
    sql: `SELECT campaign, count(*) AS calls, count(*) FILTER (WHERE status = 'qualified') AS qualified_calls,
                 count(*) FILTER (WHERE status = 'void') AS void_calls FROM peer.calls GROUP BY campaign ORDER BY campaign NULLS LAST`,
    isSame: values('campaign', 'calls', 'qualified_calls', 'void_calls'),
  },
  {
    title: 'How long do calls of each direction last?',
    kind: 'calls',
    sql: `SELECT metadata__direction AS direction, count(*) AS calls, avg(duration::float8) AS mean_seconds, max(duration::float8) AS longest_seconds
            FROM peer.calls GROUP BY 1 ORDER BY 1 NULLS LAST`,
    isSame: values('direction', 'calls', 'mean_seconds', 'longest_seconds'),
  },
  {
    title: 'Which five agents took the most calls?',
    kind: 'calls',
    sql: `SELECT metadata__agent AS agent, count(*) AS calls FROM peer.calls GROUP BY 1 ORDER BY calls DESC, agent NULLS LAST LIMIT 5`,
    isSame: values('agent', 'calls'),
  },
  {
    title: 'How many calls does each hour of the business day have?',
    kind: 'calls',
    sql: hours,
    own: 'SELECT business_hour, COUNT(*) AS calls FROM {marts}.calls_wide WHERE call_timestamp IS NOT NULL GROUP BY business_hour ORDER BY business_hour',
    isSame: values('business_hour', 'calls'),
  },
  // Also says which part of the days is proven: no table of dlt can.
  {
    title: 'How are calls spread over the hours of the business day?',
    kind: 'more',
    sql: hours,
    isSame: values('business_hour', 'calls'),
  },
  // dlt has a column for each key that it met; callsync has a row, which a join finds.
  {
    title: 'How large is the sum of a configured field, by campaign?',
    kind: 'calls',
    sql: `SELECT campaign, count(value) AS deals, sum(value) AS value
            FROM (SELECT campaign, CASE WHEN metadata__udf_num_02 ~ '^-?\\d+(\\.\\d+)?$' THEN metadata__udf_num_02::numeric END AS value FROM peer.calls) c
           GROUP BY campaign ORDER BY campaign NULLS LAST`,
    isSame: values('campaign', 'deals', 'value'),
  },
  {
    title: 'How often was each tag found true?',
    kind: 'tags',
    sql: `SELECT display_name AS tag_name, count(DISTINCT _dlt_root_id) AS calls, count(DISTINCT CASE WHEN value THEN _dlt_root_id END) AS calls_true
            FROM peer.calls__tags GROUP BY 1 ORDER BY calls DESC, tag_name NULLS LAST`,
    isSame: values('tag_name', 'calls'),
  },
  {
    title: 'Which tags come together in a call?',
    kind: 'tags',
    sql: `SELECT a.display_name AS tag, b.display_name AS other_tag, count(DISTINCT a._dlt_root_id) AS calls FROM peer.calls__tags a
            JOIN peer.calls__tags b ON b._dlt_root_id = a._dlt_root_id AND b.display_name > a.display_name
           GROUP BY 1, 2 ORDER BY calls DESC, tag, other_tag LIMIT 5`,
    isSame: values('tag', 'other_tag', 'calls'),
  },
  {
    title: 'Which calls have a tag that is true with little confidence?',
    kind: 'tags',
    sql: `SELECT c.unique_id AS call_id, t.display_name AS tag_name, t.confidence FROM peer.calls__tags t JOIN peer.calls c ON c._dlt_id = t._dlt_root_id
           WHERE t.value AND t.confidence < 0.1 ORDER BY t.confidence, c.unique_id, t._dlt_list_idx LIMIT 5`,
    isSame: values('call_id', 'tag_name', 'confidence'),
  },
  {
    title: 'How many words a minute are spoken, by campaign?',
    kind: 'words',
    sql: `WITH ${placed(', "from"')}, ${spoken}, talk AS (SELECT id, sum(greatest(e - greatest(s, until), 0)) AS seconds FROM placed GROUP BY id)
          SELECT c.campaign, sum(w.words) / sum(t.seconds) * 60 AS words_per_minute
            FROM peer.calls c LEFT JOIN spoken w ON w.id = c._dlt_id LEFT JOIN talk t ON t.id = c._dlt_id
           GROUP BY 1 ORDER BY 1 NULLS LAST`,
    isSame: values('campaign', 'words_per_minute'),
  },
  {
    title: 'How many calls have more than a fifth of silence?',
    kind: 'words',
    sql: `WITH ${placed('')}, figures AS (SELECT id, coalesce(sum(s - until) FILTER (WHERE s > until), 0) AS silence, max(e) - min(s) AS span FROM placed GROUP BY id)
          SELECT count(*) AS calls, count(*) FILTER (WHERE f.silence / nullif(f.span, 0) > 0.2) AS silent_calls
            FROM peer.calls c LEFT JOIN figures f ON f.id = c._dlt_id`,
    isSame: values('calls', 'silent_calls'),
  },
  {
    title: 'What are the first words of the longest transcript?',
    kind: 'words',
    sql: `WITH ${spoken},
            longest AS (SELECT c.unique_id AS call_id, w.words, c._dlt_id AS id FROM spoken w JOIN peer.calls c ON c._dlt_id = w.id ORDER BY w.words DESC, c.unique_id LIMIT 1)
          SELECT l.call_id, l.words, left(string_agg(u.content, E'\\n' ORDER BY u._dlt_list_idx), 60) AS beginning
            FROM longest l JOIN peer.calls__transcript_json__call_data u ON u._dlt_root_id = l.id GROUP BY 1, 2`,
    isSame: values('call_id', 'words'),
  },
  {
    title: searchTitle('a frequent word'),
    kind: 'search',
    sql: newest(`u.content ~* '\\mfacture\\M'`),
    isSame: count,
  },
  {
    title: searchTitle('two words in a row'),
    kind: 'search',
    sql: newest(`u.content ~* '\\mmaison date\\M'`),
    isSame: count,
  },
];
