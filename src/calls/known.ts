/**
 * Field of a document with keyed hashes of the values that its records name. A transcript may come without the contact
 * whose name is said in it.
 */
export const knownField = 'callsync_known';

/** Hashes of several such fields; other content is left out. */
export const joinKnown = (...fields: readonly unknown[]): readonly unknown[] =>
  [...new Set(fields.flat().filter((hash) => /^[0-9a-f]{12}$/.test(String(hash))))].sort();
