/** Ledger row → rows of table `changes`, in its column order: which field changed when, and by what. Never a value. Pure. */
import { type ObservationSource, sourceRank } from '../../schemas/observation.ts';
import { allFields } from '../../schemas/tables.ts';
import type { LedgerRow } from './fold.ts';

type ChangeRow = readonly [string, number | null, string, number, ObservationSource, number];

const sources = Object.keys(sourceRank) as ObservationSource[];
const sourceOf = (rank: number): ObservationSource => sources.find((source) => sourceRank[source] === rank) ?? 'import';

/** Keys of tables fit an index entry, and what a sender writes in a name is not shown to everybody. */
const plainName = /^[\w.-]{1,64}$/;

/**
 * One row for the first revision, and one for the last change of each field that has changed since. Rows of a call are told
 * apart by field, time and source, also those of several fields without a plain name.
 * @param callTimestamp microseconds since the epoch, as the call's other rows have it.
 */
export const flattenChanges = (row: LedgerRow, callTimestamp: number | null): readonly ChangeRow[] => {
  const { callId, firstSeenAt, seenBy } = row;
  const rows = new Map<string, ChangeRow>();
  if (firstSeenAt !== null) {
    const source = sources.findLast((one) => seenBy[one] === firstSeenAt) ?? 'import';
    rows.set(allFields, [callId, callTimestamp, allFields, 1, source, firstSeenAt]);
  }
  for (const [name, [revision, observedAt, rank]] of Object.entries(row.fieldChanges)) {
    const field = plainName.test(name) ? name : 'extra';
    const key = `${field} ${observedAt} ${rank}`;
    if (!rows.has(key)) rows.set(key, [callId, callTimestamp, field, revision, sourceOf(rank), observedAt]);
  }
  return [...rows.values()];
};
