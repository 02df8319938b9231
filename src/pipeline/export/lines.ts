/** A file of lines, written as fast as the disk takes them. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';

export interface LinesFile {
  write(line: string): Promise<void>;
  /** Ends the file; returns its lines by its name. */
  finish(): Promise<Readonly<Record<string, number>>>;
}

export const openLines = (folder: string, name: string): LinesFile => {
  const file = createWriteStream(join(folder, name), { mode: 0o600 });
  const done = finished(file);
  // Reported by the next write, or by the end.
  done.catch(() => undefined);
  let lines = 0;
  return {
    async write(line) {
      lines += 1;
      if (!file.write(`${line}\n`)) await Promise.race([once(file, 'drain'), done]);
    },
    async finish() {
      file.end();
      await done;
      return { [name]: lines };
    },
  };
};
