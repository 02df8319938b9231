/** Exports of one record a line: documents as `callsync import` reads them, and vCons. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type { LedgerRow } from '../../calls/fold.ts';
import { infinityAsText } from '../../calls/values.ts';
import { toVcon, type VconUnits } from '../../calls/vcon.ts';

/** Takes calls one by one; memory holds what waits for the disk, and no more. */
export interface ExportWriter {
  write(row: LedgerRow): Promise<void>;
  /** Ends every file; returns rows by file name. */
  finish(): Promise<Readonly<Record<string, number>>>;
}

export const createNdjsonWriter = (folder: string): ExportWriter => {
  const file = openLines(folder, 'calls.ndjson');
  return {
    write: (row) => file.write(JSON.stringify(row.document ?? {})),
    finish: () => file.finish(),
  };
};

export const createVconWriter = (folder: string, units: VconUnits): ExportWriter => {
  const file = openLines(folder, 'calls.vcon.ndjson');
  return {
    async write(row) {
      const vcon = toVcon(row, units);
      if (vcon !== undefined) await file.write(JSON.stringify(vcon, infinityAsText));
    },
    finish: () => file.finish(),
  };
};

interface LinesFile {
  write(line: string): Promise<void>;
  /** Ends the file; returns its lines by its name. */
  finish(): Promise<Readonly<Record<string, number>>>;
}

/** A file of lines, written as fast as the disk takes them. */
const openLines = (folder: string, name: string): LinesFile => {
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
