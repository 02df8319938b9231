/**
 * Digests of the rows of a call, one a table: the SHA-256 of the sorted hashes of its rows, over their canonical texts. Reconcile
 * compares those of the stored rows with those of the ledger. Guards are compared separately.
 */
import { hash } from 'node:crypto';
import { keptTables, type Row } from '../../schemas/tables.ts';
import { partsOf } from '../lib/pages.ts';
import { canonicalRow } from './content-hash.ts';
import type { CallDigest, DigestedName, FlatRows } from './warehouse.ts';

type Hashes = Record<string, string[]>;

/** Calls whose hashes are in memory at once. Each part of them reads every table once. */
const callsAtOnce = 5_000;

const sha256 = (text: string): string => hash('sha256', text, 'base64url');

const digestsOf = (documents: boolean) => {
  const tables = keptTables(documents).map(({ name, columns }) => ({
    name,
    hashOf: (row: Row): string => sha256(canonicalRow(columns, row)),
  }));
  const finish = (callId: string, hashes: Hashes): CallDigest => ({
    callId,
    tables: Object.fromEntries(tables.map(({ name }) => [name, sha256((hashes[name] ?? []).sort().join(' '))])),
  });
  return { tables, finish };
};

/** The digests of the rows that flatten made. Pure. @param documents whether the warehouse keeps whole documents */
export const digestCall = (callId: string, rows: FlatRows, documents: boolean): CallDigest => {
  const { tables, finish } = digestsOf(documents);
  return finish(callId, Object.fromEntries(tables.map(({ name, hashOf }) => [name, rows[name].map(hashOf)])));
};

/** The digests of stored rows, in the order of ids. @param read the rows that some calls have in a table */
export async function* readDigests(
  read: (table: DigestedName, callIds: readonly string[]) => AsyncIterable<Row>,
  callIds: readonly string[],
  documents: boolean,
): AsyncGenerator<CallDigest> {
  const { tables, finish } = digestsOf(documents);
  for (const ids of partsOf([...callIds].sort(), callsAtOnce)) {
    const found = new Map<string, Hashes>();
    for (const { name, hashOf } of tables)
      for await (const row of read(name, ids)) {
        const hashes = found.get(row.call_id as string) ?? {};
        found.set(row.call_id as string, hashes);
        const own = hashes[name] ?? [];
        hashes[name] = own;
        own.push(hashOf(row));
      }
    for (const id of ids) {
      const hashes = found.get(id);
      if (hashes !== undefined) yield finish(id, hashes);
    }
  }
}
