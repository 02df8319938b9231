/** Calls of the ledger to files: a folder that is there, whole, or not at all. */
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { terminal } from '../../errors.ts';
import { readLedgerRange } from '../../store/ledger/read-range.ts';
import type { Store } from '../../store/store.ts';
import { createNdjsonWriter } from './ndjson.ts';
import { createParquetWriter } from './parquet.ts';

export const exportFormats = ['ndjson', 'parquet'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExportInput {
  readonly format: ExportFormat;
  /** Does not exist, or is an empty folder. */
  readonly folder: string;
  /** Call time, `[from, to)` in microseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  readonly processedField: string;
  /** Written to the manifest. */
  readonly version: string;
}

export interface ExportResult {
  readonly calls: number;
  readonly files: Readonly<Record<string, number>>;
}

const progressEvery = 1_000;

/**
 * Writes into a folder beside the wanted one, which takes its name when everything is on disk.
 * @throws CallsyncError USAGE_FILE when the folder holds something, or cannot be made; DATABASE_…
 */
export const exportCalls = async (
  store: Store,
  input: ExportInput,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (calls: number) => void },
): Promise<ExportResult> => {
  const partial = `${input.folder}.partial-${process.pid}`;
  await prepareFolders(input.folder, partial);
  try {
    const writer =
      input.format === 'ndjson' ? createNdjsonWriter(partial) : createParquetWriter(partial, input.processedField);
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
    await writeFile(join(partial, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    // Replaces an empty folder; a folder with something in it refuses.
    await rename(partial, input.folder);
    return { calls, files };
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
};

const toIso = (micros: number): string => new Date(micros / 1000).toISOString();

const prepareFolders = async (folder: string, partial: string): Promise<void> => {
  const found = await readdir(folder).catch((error: { code?: string }) => error.code ?? 'no access');
  if (found !== 'ENOENT' && (typeof found === 'string' || found.length > 0)) {
    throw terminal('USAGE_FILE', `The folder ${folder} is not empty, or is no folder.`, {
      hint: 'Name one that does not exist: an export replaces nothing.',
    });
  }
  try {
    await mkdir(dirname(folder), { recursive: true });
    await mkdir(partial, { mode: 0o700 });
  } catch (cause) {
    throw terminal('USAGE_FILE', `The folder ${folder} cannot be made (${(cause as { code?: string }).code}).`, {
      hint: 'Name one in a folder that may be written to.',
      cause,
    });
  }
};
