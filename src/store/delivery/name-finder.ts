/** Finds which of many calls a text names: one look at its bytes, however many they are. Pure. */

/** A shorter id may be any other value. */
const leastText = 6;
const quote = 0x22;

interface Started {
  /** In bytes, each once. */
  readonly lengths: Set<number>;
  /** Written form, a character a byte → call id. */
  readonly ids: Map<string, string>;
}

/**
 * @param ids of calls. An id is found in quotes, as JSON writes it; a short one only as the value of `unique_id`.
 * @returns ids that the bytes name, each once.
 */
export const createNameFinder = (ids: readonly string[]): ((text: Buffer) => readonly string[]) => {
  const byStart = new Map<number, Started>();
  let leastLength = Number.POSITIVE_INFINITY;
  for (const id of ids) {
    const written = writtenForm(id);
    leastLength = Math.min(leastLength, written.length);
    const start = written.readInt32LE(1);
    const started = byStart.get(start) ?? { lengths: new Set(), ids: new Map() };
    byStart.set(start, started);
    started.lengths.add(written.length);
    started.ids.set(written.toString('latin1'), id);
  }
  return (text) => {
    const found = new Set<string>();
    const last = text.length - leastLength;
    for (let at = 0; at <= last; at += 1) {
      if (text[at] !== quote) continue;
      const started = byStart.get(text.readInt32LE(at + 1));
      if (started === undefined) continue;
      for (const length of started.lengths) {
        const id = started.ids.get(text.toString('latin1', at, at + length));
        if (id !== undefined) found.add(id);
      }
    }
    return [...found];
  };
};

const writtenForm = (id: string): Buffer =>
  Buffer.from(`${id.length < leastText ? '"unique_id":' : ''}${JSON.stringify(id)}`);
