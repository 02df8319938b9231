/** Everything that a store, warehouses and files hold, as text that can be searched. */
import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import type pg from 'pg';

/** Every row of the tables and views of some schemas: bytes as they are, and inflated where they are deflated. */
export async function* readSchemas(pool: pg.Pool, schemas: readonly string[]): AsyncGenerator<string> {
  const tables = await pool.query<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
      WHERE table_schema = ANY($1)`,
    [schemas],
  );
  for (const { name } of tables.rows) {
    const { rows } = await pool.query<{ row: string }>(`SELECT to_jsonb(t)::text AS row FROM ${name} t`);
    for (const { row } of rows) {
      yield row;
      for (const [, hex = ''] of row.matchAll(/\\\\x([0-9a-f]+)/g)) yield readBytes(Buffer.from(hex, 'hex'));
    }
  }
}

const readBytes = (bytes: Buffer): string => {
  try {
    return inflateRawSync(bytes).toString();
  } catch {
    return bytes.toString('latin1');
  }
};

export function* readFiles(files: readonly string[]): Generator<string> {
  for (const file of files) yield readFileSync(file, 'latin1');
}

/** How many of the texts hold one of the values, with the first of them. */
export const search = async (
  texts: AsyncIterable<string> | Iterable<string>,
  sought: ReadonlySet<string>,
  candidatesIn: (text: string) => Iterable<string>,
): Promise<string[]> => {
  const found: string[] = [];
  for await (const text of texts) {
    for (const candidate of candidatesIn(text)) {
      if (!sought.has(candidate)) continue;
      found.push(`${candidate}: ${text.slice(0, 200)}`);
      break;
    }
  }
  return found;
};
