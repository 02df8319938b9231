/** Work in parts: of a list that is there, and of rows that are read page by page. */

/** A list in parts of a size; the last one may be shorter. */
export function* partsOf<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  for (let start = 0; start < list.length; start += size) yield list.slice(start, start + size);
}

/** Items of a stream in parts of a size. */
export async function* gatherParts<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let part: T[] = [];
  for await (const item of items) {
    if (part.push(item) < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}

/**
 * Pages of rows, until one is shorter than `size`; where pages are bounded otherwise too, 1 = until one is empty.
 * @param read the page behind a row; the first one behind none.
 */
export async function* readPages<Row>(size: number, read: (last: Row | undefined) => Promise<readonly Row[]>) {
  for (let last: Row | undefined; ; ) {
    const page = await read(last);
    if (page.length > 0) yield page;
    if (page.length < size) return;
    last = page.at(-1);
  }
}
