/** What a backup of the store holds: a file for each table, and this list of them beside. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { terminal } from '../../errors.ts';

export interface BackupTable {
  readonly name: string;
  /** In the order of the file; generated ones are left out. */
  readonly columns: readonly string[];
  readonly rows: number;
  /** SHA-256 of the file as it is on disk. */
  readonly sha256: string;
}

export interface BackupManifest {
  readonly format: 1;
  readonly made_by: string;
  readonly made_at: string;
  /** The schema of the tables: every migration that the store had. */
  readonly migrations: readonly string[];
  /** In an order in which no row refers to a later table. */
  readonly tables: readonly BackupTable[];
  readonly sequences: Readonly<Record<string, number>>;
}

const manifestName = 'manifest.json';
export const manifestPath = (folder: string): string => join(folder, manifestName);
export const tablePath = (folder: string, table: string): string => join(folder, `${table}.copy.gz`);

/** @throws CallsyncError USAGE_FILE where the folder is no backup */
export const readManifest = async (folder: string): Promise<BackupManifest> => {
  const manifest = await readFile(manifestPath(folder), 'utf8')
    .then((text) => JSON.parse(text) as Partial<BackupManifest>)
    .catch(() => undefined);
  if (manifest?.format !== 1 || !Array.isArray(manifest.tables)) {
    throw terminal('USAGE_FILE', `The folder ${folder} holds no backup of a store.`, {
      hint: 'Name a folder that callsync store backup has written.',
    });
  }
  return manifest as BackupManifest;
};
