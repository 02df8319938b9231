/** Cuts rows with bodies to what memory may hold. */

/**
 * Of rows, those up to a sum of bytes of their bodies, in the order of a key; the first comes however long it is.
 * @param rows SELECT of `body`, the key and whatever else is wanted; bounded in number, for all of its bodies are measured.
 * @param bytes the sum, as SQL.
 */
export const firstBodiesSql = (rows: string, key: 'id' | 'seq', bytes: string): string =>
  `SELECT * FROM (SELECT *, sum(octet_length(body)) OVER (ORDER BY ${key}) AS bytes, row_number() OVER (ORDER BY ${key}) AS position
                    FROM (${rows}) r) m WHERE bytes <= ${bytes} OR position = 1`;
