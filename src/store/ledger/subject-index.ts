/** Calls by the keyed hashes of what their documents name. */
import type { Database, Queryable } from '../../postgres/database.ts';
import type { SubjectIndex } from '../store.ts';
import { readDocuments, type StoredDocument } from './ledger.ts';

/** In three ranges, which the index on the column answers by the rows that are found. */
const isOther = '(subjects_version < $1 OR subjects_version > $1 OR subjects_version IS NULL)';
const hashesPerStatement = 500;
/** Documents in memory at once. */
const rowsAtOnce = 200;

export interface IndexedCall extends StoredDocument {
  /** Of what the document names, as the index has them. */
  readonly hashes: readonly string[];
}

/** Reads the calls of which the index does not know, and notes what they name: page by page, with their documents. */
export async function* indexOthers(store: Database, index: SubjectIndex): AsyncGenerator<readonly IndexedCall[]> {
  for await (const page of readUnindexed(store, index.version)) {
    const read = page.map((call) => ({ ...call, hashes: index.hashesOf(call.document) }));
    await noteSubjects(store, index, read);
    yield read;
  }
}

/** Ids of the calls whose documents may name one of some subjects; short hashes may be those of others too. */
export const findIndexed = async (
  db: Queryable,
  { hashOf }: SubjectIndex,
  subjects: readonly string[],
): Promise<string[]> => {
  const found = new Set<string>();
  for (let start = 0; start < subjects.length; start += hashesPerStatement) {
    const rows = await db.query<{ id: string }>(
      'SELECT call_id AS id FROM ledger_documents WHERE subjects && $1::bytea[]',
      [arrayText(subjects.slice(start, start + hashesPerStatement).map(hashOf))],
    );
    for (const { id } of rows) found.add(id);
  }
  return [...found];
};

/** In key order; those that are noted meanwhile are left out. */
async function* readUnindexed(db: Queryable, version: number): AsyncGenerator<readonly StoredDocument[]> {
  for (let after = ''; ; ) {
    const page = await readDocuments(db, `call_id > $2 AND ${isOther} ORDER BY call_id LIMIT $3`, [
      version,
      after,
      rowsAtOnce,
    ]);
    if (page.length > 0) yield page;
    if (page.length < rowsAtOnce) return;
    after = page.at(-1)?.callId ?? after;
  }
}

/** Unless they have changed since they were read. */
const noteSubjects = async (
  store: Database,
  { version }: SubjectIndex,
  read: readonly IndexedCall[],
): Promise<void> => {
  if (read.length === 0) return;
  const ids = read.map(({ callId }) => callId);
  await store.transaction(async (tx) => {
    // In the order of folds, which write documents under these locks.
    await tx.query('SELECT 1 FROM ledger WHERE call_id = ANY($1) ORDER BY call_id FOR UPDATE', [ids]);
    await tx.query(
      `UPDATE ledger_documents d SET subjects = u.subjects::bytea[], subjects_version = $4
         FROM unnest($1::text[], $2::int[], $3::text[]) AS u(id, revision, subjects)
        WHERE d.call_id = u.id AND d.revision = u.revision`,
      [ids, read.map(({ revision }) => revision), read.map(({ hashes }) => arrayText(hashes)), version],
    );
  });
};

const arrayText = (hashes: readonly string[]): string => `{${hashes.map((one) => `"\\\\x${one}"`).join(',')}}`;
