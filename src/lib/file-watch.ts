/** Notices changes of small files by reading them, which also works for links, mounted secrets and all editors. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

/** Content by path; undefined = not readable. */
export type FileContents = ReadonlyMap<string, Buffer | undefined>;

export type FileWatch = { close(): void };

/** Contents of files by path; undefined for an unreadable file. Never throws. */
export const readFiles = (paths: readonly string[]) => new Map(paths.map((path) => [path, readOrUndefined(path)]));

/**
 * `onChange` is called once a new content was seen twice in a row, so that a file caught half-written is not taken.
 * @param initial content that the caller knows already
 */
export const watchFiles = (options: {
  initial: FileContents;
  intervalMs: number;
  onChange: (contents: FileContents) => void;
}): FileWatch => {
  const paths = [...options.initial.keys()];
  let taken = options.initial;
  let seen = options.initial;
  const timer = setInterval(() => {
    const now = readFiles(paths);
    if (isDeepStrictEqual(now, seen) && !isDeepStrictEqual(now, taken)) {
      taken = now;
      options.onChange(now);
    }
    seen = now;
  }, options.intervalMs);
  timer.unref();
  return { close: () => clearInterval(timer) };
};

const readOrUndefined = (path: string): Buffer | undefined => {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
};
