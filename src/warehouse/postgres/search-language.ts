/**
 * How the search index reads the words of each language: text search configurations of callsync's own, in the schema of the
 * tables. Documents and phrases keep stop words, marked as such, so that positions tell of every word; words outside phrases
 * lose them.
 */
import { type Layout, quote } from './layout.ts';

/** Text search configurations that PostgreSQL ships, by language code; any other language is not stemmed. */
const shipped: Readonly<Record<string, string>> = {
  en: 'english',
  da: 'danish',
  de: 'german',
  es: 'spanish',
  fi: 'finnish',
  fr: 'french',
  hu: 'hungarian',
  it: 'italian',
  nl: 'dutch',
  no: 'norwegian',
  nb: 'norwegian',
  nn: 'norwegian',
  pt: 'portuguese',
  ro: 'romanian',
  ru: 'russian',
  sv: 'swedish',
  tr: 'turkish',
};
const unstemmed = 'simple';
const stemmed = [...new Set(Object.values(shipped))];

/** The name of a language in the index, such as `french`, for a column with a language code. */
export const languageSql = (column: string): string =>
  `CASE lower(left(${column}, 2)) ${Object.entries(shipped)
    .map(([code, name]) => `WHEN '${code}' THEN '${name}'`)
    .join(' ')} ELSE '${unstemmed}' END`;

/**
 * A word of no language before every utterance of a document: its positions tell where each utterance begins, no phrase
 * passes it, and as each language has its own, the index knows the language of a document. `language` is SQL.
 */
export const boundary = (language: string): string =>
  `('908172635453' || 10 + array_position('{${[unstemmed, ...stemmed].join(',')}}', ${language}))`;

/** Words as they are said, with the positions of all. */
export const everyWord = (layout: Layout): string =>
  `'${quote(layout.schema)}.transcript_words_${unstemmed}'::regconfig`;

/** Stems, without stop words. `language` is SQL. */
export const wordsThatCount = (layout: Layout, language: string): string =>
  `('${quote(layout.schema)}.transcript_words_' || ${language})::regconfig`;

/** The stemmer of a language, and that for its words of Latin letters alone: Russian has another. `language` is SQL. */
export const stemmer = (language: string): string =>
  dictionary(`CASE ${language} WHEN '${unstemmed}' THEN '' ELSE ${language} END`);
export const latinStemmer = (language: string): string =>
  dictionary(`CASE ${language} WHEN '${unstemmed}' THEN '' WHEN 'russian' THEN 'english' ELSE ${language} END`);
const dictionary = (language: string): string =>
  `('pg_catalog.' || coalesce(nullif(${language}, '') || '_stem', '${unstemmed}'))::regdictionary`;

/** Before a stop word in documents and phrases: other words have its letters without accents, or its stem (du, dû; will, willing). */
export const stopMark = '^';

/** Compounds have no lexeme as a whole, only their parts, so that each word takes one position. */
export const createLanguagesSql = (layout: Layout): string => {
  const schema = quote(layout.schema);
  return `DO $callsync$
DECLARE language text;
BEGIN
  FOREACH language IN ARRAY '{${[unstemmed, ...stemmed].join(',')}}'::text[] LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_ts_config WHERE cfgnamespace = '${schema}'::regnamespace AND cfgname = 'transcript_words_' || language);
    EXECUTE format('CREATE TEXT SEARCH CONFIGURATION ${schema}.transcript_words_%1$s (COPY = pg_catalog.%1$s)', language);
    EXECUTE format('ALTER TEXT SEARCH CONFIGURATION ${schema}.transcript_words_%s DROP MAPPING FOR asciihword, hword, numhword', language);
  END LOOP;
END
$callsync$`;
};

export const dropLanguagesSql = (layout: Layout): readonly string[] =>
  [unstemmed, ...stemmed].map(
    (language) => `DROP TEXT SEARCH CONFIGURATION IF EXISTS ${quote(layout.schema)}.transcript_words_${language}`,
  );
