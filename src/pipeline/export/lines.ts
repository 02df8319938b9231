/** Exports of one record a line: documents as `callsync import` reads them, and vCons. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import type { LedgerRow } from '../../calls/fold.ts';
import { infinityAsText } from '../../calls/fold.ts';
import { toVcon, type VconUnits } from '../../calls/vcon.ts';

/** Takes calls one by one; memory holds what waits for the disk, and no more. */
export interface ExportWriter {
  write(row: LedgerRow): Promise<void>;
  /** Ends every file; returns rows by file name. */
  finish(): Promise<Readonly<Record<string, number>>>;
}

/** A file of lines, written as fast as the disk takes them. @param toLine undefined = the call has none. */
const createLinesWriter = (
  folder: string,
  name: string,
  toLine: (row: LedgerRow) => string | undefined,
): ExportWriter => {
  const file = createWriteStream(join(folder, name), { mode: 0o600 });
  const done = finished(file);
  // Reported by the next write, or by the end.
  done.catch(() => undefined);
  let lines = 0;
  return {
    async write(row) {
      const line = toLine(row);
      if (line === undefined) return;
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

export const createNdjsonWriter = (folder: string): ExportWriter =>
  createLinesWriter(folder, 'calls.ndjson', (row) => JSON.stringify(row.document ?? {}));

export const createVconWriter = (folder: string, units: VconUnits): ExportWriter =>
  createLinesWriter(folder, 'calls.vcon.ndjson', (row) => {
    const vcon = toVcon(row, units);
    return vcon && JSON.stringify(vcon, infinityAsText);
  });
