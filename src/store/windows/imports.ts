/** How far the import of a file has come, so that one that was interrupted goes on. */
import { createHash } from 'node:crypto';
import type { Queryable } from '../../postgres/database.ts';
import { readMeta, writeMeta } from '../meta.ts';

export interface ImportState {
  readonly form: 'lines' | 'array';
  /** Plain bytes that are in the ledger. */
  readonly offset: number;
  readonly line: number;
  readonly records: number;
  readonly refused: number;
  readonly changed: number;
  readonly done: boolean;
}

/** Name of a file in the store: hashed, since paths may name persons. */
export const importKey = (file: { readonly path: string; readonly size: number; readonly head: Buffer }): string => {
  const head = createHash('sha256').update(file.head).digest('hex');
  return `import:${createHash('sha256').update(`${file.path}\0${file.size}\0${head}`).digest('hex')}`;
};

/** How far a file was imported; undefined when it was never begun. @param key of `importKey`. */
export const readImportState = (db: Queryable, key: string): Promise<ImportState | undefined> => readMeta(db, key);

/** Replaces the state, after what it tells of is in the ledger. @param key of `importKey`. */
export const saveImportState = (db: Queryable, key: string, state: ImportState): Promise<void> =>
  writeMeta(db, key, state);
