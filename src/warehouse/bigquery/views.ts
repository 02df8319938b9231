/** The relation `words` over the repeated record in utterances. */

/** Columns as `wordsView` defines them. Each has its alias spelled out: an offset's own name is not kept everywhere. */
export const wordsQuery = (dataset: string): string =>
  [
    'SELECT',
    '  u.call_id AS call_id,',
    '  u.call_timestamp AS call_timestamp,',
    '  u.utterance_index AS utterance_index,',
    '  position AS word_index,',
    '  u.side AS side,',
    '  w.value AS value,',
    '  w.start AS start_offset,',
    '  w.length AS length,',
    '  w.score AS score',
    `FROM \`${dataset}.utterances\` AS u, UNNEST(u.words) AS w WITH OFFSET AS position`,
  ].join('\n');
