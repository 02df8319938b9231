/** Calls of the ledger to files: a folder that is there, whole, or not at all. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { VconUnits } from '../../calls/vcon.ts';
import { writeFolder } from '../../lib/new-folder.ts';
import { readLedgerRange } from '../../store/ledger/read-ledger.ts';
import type { Store } from '../../store/store.ts';
import { createNdjsonWriter, createVconWriter, type ExportWriter } from './lines.ts';
import { createParquetWriter } from './parquet.ts';

export const exportFormats = ['ndjson', 'parquet', 'vcon'] as const;
export type ExportFormat = (typeof exportFormats)[number];

interface ExportInput {
  readonly format: ExportFormat;
  /** Does not exist, or is an empty folder. */
  readonly folder: string;
  /** Call time, `[from, to)` in microseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly processedField: string;
  /** Of what vCons have in seconds. */
  readonly units: VconUnits;
  /** Written to the manifest. */
  readonly version: string;
}

interface ExportResult {
  readonly calls: number;
  readonly files: Readonly<Record<string, number>>;
}

const progressEvery = 1_000;

/** @throws CallsyncError USAGE_FILE when the folder holds something, or cannot be made; DATABASE_… */
export const exportCalls = async (
  store: Store,
  input: ExportInput,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (calls: number) => void },
): Promise<ExportResult> => {
  return await writeFolder(input.folder, async (partial) => {
    const writer = openWriter(partial, input);
    let calls = 0;
    for await (const row of readLedgerRange(store, input)) {
      signal.throwIfAborted();
      await writer.write(row);
      calls += 1;
      if (calls % progressEvery === 0) onProgress(calls);
    }
    const files = await writer.finish();
    const range = { from: toIso(input.from), to: toIso(input.to) };
    const manifest = { format: input.format, ...range, calls, rows: files, made_by: `callsync ${input.version}` };
    await writeFile(join(partial, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    return { calls, files };
  });
};

const openWriter = (folder: string, { format, processedField, units }: ExportInput): ExportWriter => {
  if (format === 'ndjson') return createNdjsonWriter(folder);
  return format === 'vcon' ? createVconWriter(folder, units) : createParquetWriter(folder, processedField);
};

const toIso = (micros: number): string => new Date(micros / 1000).toISOString();
