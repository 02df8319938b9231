/** Everything that schemas hold, as text that can be searched. */
import type pg from 'pg';
import { unpackDocument } from '../../../src/store/ledger/ledger.ts';

/** Every row of the tables and views of some schemas: bytes as they are, and unpacked where they are documents. */
export async function* readSchemas(pool: pg.Pool, schemas: readonly string[]): AsyncGenerator<string> {
  const named = "SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables";
  const tables = await pool.query<{ name: string }>(`${named} WHERE table_schema = ANY($1)`, [schemas]);
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
    return unpackDocument(bytes).toString();
  } catch {
    return bytes.toString('latin1');
  }
};
