/** Whether a warehouse holds a call as the ledger has it: pure. */
import type { CallGuard } from '../../warehouse/warehouse.ts';

/** `equal`, `missing` (no row) or `different` (another guard or content hash, or another number of child rows). */
export type LoadedState = 'equal' | 'missing' | 'different';

export interface Expected {
  readonly epoch: number;
  readonly revision: number;
  readonly flattenVersion: number;
  /** Rows per child table that the ledger's document makes; undefined when it was flattened by another version. */
  readonly childRows: Readonly<Record<string, number>> | undefined;
  /** Hash of the rows that the ledger's document makes; undefined as above. */
  readonly contentHash: string | undefined;
}

export const compareCall = (expected: Expected, guard: CallGuard | undefined): LoadedState => {
  if (guard === undefined) return 'missing';
  const sameGuard =
    guard.epoch === expected.epoch &&
    guard.revision === expected.revision &&
    guard.flattenVersion === expected.flattenVersion;
  if (!sameGuard) return 'different';
  const { childRows, contentHash } = expected;
  // Rows written before hashes were stored have none.
  if (contentHash !== undefined && guard.contentHash !== null && guard.contentHash !== contentHash) return 'different';
  const sameChildren =
    childRows === undefined ||
    Object.entries(guard.childRows).every(
      ([table, rows]) => childRows[table] === undefined || childRows[table] === rows,
    );
  return sameChildren ? 'equal' : 'different';
};
