/** One document a line, as `callsync import` reads them. */
import { openLines } from './lines.ts';
import type { ExportWriter } from './writer.ts';

export const createNdjsonWriter = (folder: string): ExportWriter => {
  const file = openLines(folder, 'calls.ndjson');
  return {
    write: (row) => file.write(JSON.stringify(row.document ?? {})),
    finish: () => file.finish(),
  };
};
