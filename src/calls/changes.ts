/** Ledger row → rows of table `changes`: which field changed when, and by what. Never a value. Pure. */
import { type ObservationSource, sourceRank } from '../../schemas/observation.ts';
import { allFields, type Row } from '../../schemas/tables.ts';
import type { LedgerRow } from './fold.ts';

const sources = Object.keys(sourceRank) as ObservationSource[];
const sourceOf = (rank: number): ObservationSource => sources.find((source) => sourceRank[source] === rank) ?? 'import';

/** Keys of tables fit an index entry, and what a sender writes in a name is not shown to everybody. */
const plainName = /^[\w.-]{1,64}$/;

/**
 * One row for the first revision, and one for the last change of each field that has changed since. Rows of a call are told
 * apart by field, time and source, also those of several fields without a plain name.
 * @param callTimestamp microseconds since the epoch, as the call's other rows have it.
 */
export const flattenChanges = (row: LedgerRow, callTimestamp: number | null): readonly Row[] => {
  const { callId, firstSeenAt, seenBy } = row;
  const keys = { call_id: callId, call_timestamp: callTimestamp };
  const rows = new Map<string, Row>();
  if (firstSeenAt !== null) {
    const source = sources.findLast((one) => seenBy[one] === firstSeenAt) ?? 'import';
    rows.set(allFields, { ...keys, field: allFields, revision: 1, source, observed_at: firstSeenAt });
  }
  for (const [name, [revision, observedAt, rank]] of Object.entries(row.fieldChanges)) {
    const field = plainName.test(name) ? name : 'extra';
    const key = `${field} ${observedAt} ${rank}`;
    if (!rows.has(key)) rows.set(key, { ...keys, field, revision, source: sourceOf(rank), observed_at: observedAt });
  }
  return [...rows.values()];
};
