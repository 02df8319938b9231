/** Finds which of many calls a text names: one look at it, however many they are. Pure. */
import { createQuotedFinder, isCallId, listNumericIds } from '../../calls/quoted-texts.ts';

/** A shorter id may be any other value. */
const leastText = 6;

/**
 * @param ids of calls. An id is found in quotes, however JSON writes it, in place of the whole text, in quotes or not, and as a number in
 *   place of `unique_id`; a short one in quotes only as the value of `unique_id`.
 * @returns ids that the bytes name, each once.
 */
export const createNameFinder = (ids: readonly string[]): ((text: Buffer) => readonly string[]) => {
  const known = new Set(ids);
  const findQuoted = createQuotedFinder(known);
  return (bytes) => {
    if (known.size === 0) return [];
    const found = new Set<string>();
    const text = bytes.toString('utf8');
    const bare = text.trim();
    findQuoted(text, (id, start, end) => {
      const isWhole = end - start + 2 === bare.length;
      if (id.length >= leastText || isWhole || isCallId(text, start - 1)) found.add(id);
    });
    for (const id of [bare, ...listNumericIds(text)]) if (known.has(id)) found.add(id);
    return [...found];
  };
};
