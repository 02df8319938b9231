/** Compares a warehouse with the simulator's calls, row by row. */
import { type CallDocument, callFields } from '../../../schemas/call.ts';
import { type CallTableName, type Row, tableOf } from '../../../schemas/tables.ts';
import { flattenCall } from '../../calls/flatten.ts';
import { canonicalRow } from '../../warehouse/content-hash.ts';
import type { CallDigest, Warehouse } from '../../warehouse/warehouse.ts';
import type { TruthEntry } from '../calls/truth.ts';
import type { SimulatorControl } from '../control/local-control.ts';

export type TruthReport = Awaited<ReturnType<typeof checkTruth>>;

const children: readonly CallTableName[] = ['utterances', 'tags', 'metadata', 'udfs', 'contacts'];
/** Columns about the time of observation, not about the call. */
const ours = new Set(['first_seen_at', 'last_seen_at', 'source_deleted_at']);

/** Fault of a call in a warehouse. */
export type Wrong = 'lost' | 'stale' | 'mismatched';

/**
 * The content of a calls row without fields that the truth cannot know: the list omits them, and an earlier run may
 * have delivered them.
 */
const contentOf = (row: Row, document: CallDocument): string =>
  canonicalRow(
    tableOf('calls').columns.filter(({ name }) => !ours.has(name) && (!callFields.has(name) || name in document)),
    row,
  );

/** The rows of table calls, and whether all of a call is as flatten makes it of a document. */
const readWarehouse = async ({ proof }: Warehouse) => {
  const found = new Map<string, Row>();
  let duplicated = 0;
  for await (const row of proof.rowsOf('calls')) {
    if (found.has(row.call_id as string)) duplicated += 1;
    found.set(row.call_id as string, row);
  }
  const digests = new Map<string, CallDigest['tables']>();
  for await (const { callId, tables } of proof.digestCalls([...found.keys()])) digests.set(callId, tables);
  const isSame = (callId: string, document: CallDocument): boolean => {
    const { rows } = flattenCall({ callId, document, firstSeenAt: null, changedAt: null, sourceDeletedAt: null });
    const expected = proof.digestOf(callId, rows).tables;
    return (
      contentOf(found.get(callId) as Row, document) === contentOf(rows.calls[0] as Row, document) &&
      children.every((name) => digests.get(callId)?.[name] === expected[name])
    );
  };
  return { found, duplicated, isSame };
};

interface Aids {
  /** Erased calls among some calls; none by default. */
  readonly findErased?: (callIds: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Called for each wrong call. */
  readonly tell?: (entry: TruthEntry, wrong: Wrong) => void;
}

/**
 * Lost: known to the service, neither here nor erased here. Duplicated: more than one row in calls. Stale: an earlier version of the
 * call. Mismatched: no version of it.
 * @param wanted which calls of the truth count, such as those whose status the list filter lets through
 */
export const checkTruth = async (
  control: SimulatorControl,
  warehouse: Warehouse,
  wanted: (entry: TruthEntry) => boolean,
  { findErased = async () => new Set(), tell = () => undefined }: Aids = {},
) => {
  const { found, duplicated, isSame } = await readWarehouse(warehouse);
  const report = { calls: 0, lost: 0, stale: 0, mismatched: 0 };
  const absent: TruthEntry[] = [];
  const count = (entry: TruthEntry, wrong: Wrong): void => {
    report[wrong] += 1;
    tell(entry, wrong);
  };
  for await (const entry of control.truth({ knowable: true })) {
    if (entry.document === null || !wanted(entry)) continue;
    report.calls += 1;
    if (!found.has(entry.callId)) {
      absent.push(entry);
      continue;
    }
    if (isSame(entry.callId, entry.document)) continue;
    let earlier = false;
    for (let version = entry.version - 1; version >= 1 && !earlier; version -= 1) {
      const document = await control.documentAt(entry.callId, version);
      earlier = document !== undefined && isSame(entry.callId, document);
    }
    count(entry, earlier ? 'stale' : 'mismatched');
  }
  const erased = await findErased(absent.map(({ callId }) => callId));
  for (const entry of absent) if (!erased.has(entry.callId)) count(entry, 'lost');
  return { ...report, erased: erased.size, duplicated };
};
