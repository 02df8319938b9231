/** Rows per relation, for status and the demo. */
import { type Layout, qualified, quote, tablesOf } from './layout.ts';

/** One row, a column for each relation. */
export const countSql = (layout: Layout): string => {
  const counts = tablesOf(layout).map(
    ({ name }) => `(SELECT count(*) FROM ${qualified(layout, name)}) AS ${quote(name)}`,
  );
  // Cheaper than the view: no array is unpacked.
  const words = `(SELECT coalesce(sum(word_count), 0)::bigint FROM ${qualified(layout, 'utterances')}) AS words`;
  return `SELECT ${[...counts, words].join(',\n       ')}`;
};
