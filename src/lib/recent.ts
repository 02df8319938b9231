/**
 * Caches the result of `make` for the latest texts, in memory only: at least `most`, at most twice as many.
 * @param longest cached text; longer ones are no numbers or names.
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
