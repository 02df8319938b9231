/**
 * What `make` gives for a text, kept for those that were asked for last: at least `most` of them, at most twice as many.
 * They stay in memory; nothing writes them down.
 * @param longest text that is kept: longer ones than this are no numbers or names.
 */
export const rememberRecent = <T>(most: number, make: (text: string) => T, longest = 64): ((text: string) => T) => {
  let recent = new Map<string, T>();
  let older = new Map<string, T>();
  return (text) => {
    if (text.length > longest) return make(text);
    const held = recent.get(text);
    if (held !== undefined || recent.has(text)) return held as T;
    const made = older.has(text) ? (older.get(text) as T) : make(text);
    if (recent.size >= most) {
      older = recent;
      recent = new Map();
    }
    recent.set(text, made);
    return made;
  };
};
