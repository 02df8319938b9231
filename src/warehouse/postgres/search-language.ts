/**
 * How the search index reads the words of each language: text search configurations of callsync's own, in the schema of the
 * tables. Documents and phrases keep stop words, so that positions tell of every word; words outside phrases lose them.
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

/** For documents and phrases. `language` is SQL. */
export const everyWord = (layout: Layout, language: string): string =>
  `('${quote(layout.schema)}.transcript_' || ${language})::regconfig`;

/** For words outside phrases. `language` is SQL. */
export const wordsThatCount = (layout: Layout, language: string): string =>
  `('${quote(layout.schema)}.transcript_words_' || ${language})::regconfig`;

/**
 * Compounds have no lexeme as a whole, only their parts, so that each word takes one position. PostgreSQL's configuration
 * of Russian stems Latin letters as English, which is made first.
 */
export const createLanguagesSql = (layout: Layout): string => {
  const schema = quote(layout.schema);
  return `DO $callsync$
DECLARE language text;
BEGIN
  FOREACH language IN ARRAY '{${[unstemmed, ...stemmed].join(',')}}'::text[] LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_ts_config WHERE cfgnamespace = '${schema}'::regnamespace AND cfgname = 'transcript_' || language);
    EXECUTE format('CREATE TEXT SEARCH CONFIGURATION ${schema}.transcript_words_%1$s (COPY = pg_catalog.%1$s)', language);
    EXECUTE format('ALTER TEXT SEARCH CONFIGURATION ${schema}.transcript_words_%s DROP MAPPING FOR asciihword, hword, numhword', language);
    EXECUTE format('CREATE TEXT SEARCH CONFIGURATION ${schema}.transcript_%1$s (COPY = ${schema}.transcript_words_%1$s)', language);
    CONTINUE WHEN language = '${unstemmed}';
    EXECUTE format('CREATE TEXT SEARCH DICTIONARY ${schema}.transcript_%1$s (TEMPLATE = pg_catalog.snowball, LANGUAGE = %1$s)', language);
    EXECUTE format('ALTER TEXT SEARCH CONFIGURATION ${schema}.transcript_%1$s ALTER MAPPING REPLACE pg_catalog.%1$s_stem WITH ${schema}.transcript_%1$s', language);
    EXECUTE format('ALTER TEXT SEARCH CONFIGURATION ${schema}.transcript_%1$s ALTER MAPPING REPLACE pg_catalog.english_stem WITH ${schema}.transcript_english', language);
  END LOOP;
END
$callsync$`;
};

export const dropLanguagesSql = (layout: Layout): readonly string[] => [
  ...[unstemmed, ...stemmed].flatMap((language) =>
    ['transcript_', 'transcript_words_'].map(
      (prefix) => `DROP TEXT SEARCH CONFIGURATION IF EXISTS ${quote(layout.schema)}.${prefix}${language}`,
    ),
  ),
  ...stemmed.map((language) => `DROP TEXT SEARCH DICTIONARY IF EXISTS ${quote(layout.schema)}.transcript_${language}`),
];
