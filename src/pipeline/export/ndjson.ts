/** One document a line, as `callsync import` reads them. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type { ExportWriter } from './writer.ts';

export const createNdjsonWriter = (folder: string): ExportWriter => {
  const file = createWriteStream(join(folder, 'calls.ndjson'), { mode: 0o600 });
  const done = finished(file);
  // Reported by the next write, or by the end.
  done.catch(() => undefined);
  let rows = 0;
  return {
    async write(row) {
      rows += 1;
      if (!file.write(`${JSON.stringify(row.document ?? {})}\n`)) await Promise.race([once(file, 'drain'), done]);
    },
    async finish() {
      file.end();
      await done;
      return { 'calls.ndjson': rows };
    },
  };
};
