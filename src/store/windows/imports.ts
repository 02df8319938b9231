/** How far the import of a file has come, so that one that was interrupted goes on. */
import { createHash } from 'node:crypto';
import type { Queryable } from '../../postgres/database.ts';

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

export const readImportState = async (db: Queryable, key: string): Promise<ImportState | undefined> => {
  const [row] = await db.query<{ value: ImportState }>('SELECT value FROM meta WHERE key = $1', [key]);
  return row?.value;
};

export const saveImportState = async (db: Queryable, key: string, state: ImportState): Promise<void> => {
  await db.query(
    `INSERT INTO meta (key, value) VALUES ($1, $2)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = now()`,
    [key, JSON.stringify(state)],
  );
};
