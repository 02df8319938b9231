/** Reads quarantined records again, after a fix or with a time that was missing. */
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { observeDelivery } from '../../calls/fold.ts';
import { readRecord } from '../../lib/json-record.ts';
import { isSealed, sealedReason } from '../../lib/sealed.ts';
import type { Transaction } from '../../postgres/database.ts';
import { observeRecord } from '../../source/list/observe.ts';
import { settleReplayed } from '../../store/delivery/inbox.ts';
import { lockOpen, type QuarantinedRecord, readOpenBatch, settleQuarantine } from '../../store/delivery/quarantine.ts';
import { readNoted } from '../../store/gate.ts';
import { lockCalls } from '../../store/ledger/ledger.ts';
import type { IngestDeps } from '../deps.ts';
import { ingest } from '../load/ingest.ts';
import { alteredReason } from '../load/merge-inbox.ts';
import { readImported } from './import-file.ts';

interface ReplayInput {
  /** Entries to replay; all open ones by default. */
  readonly ids?: readonly number[];
  /** Fields for which null or empty in the list is content (`source.list.authoritative_fields`). */
  readonly carries: ReadonlySet<string>;
  /** observed_at of imported records, in microseconds; else each record's own time is taken. */
  readonly observedAt?: number;
  /** Opens bytes that were sealed on arrival; undefined = sealed for another key. */
  readonly open?: ((sealed: Buffer) => Buffer | undefined) | undefined;
  readonly signal?: AbortSignal;
}

const batchRecords = 200;

/**
 * Folds quarantined records with their original source and time of receipt. Records that are refused again stay open
 * with the new reason. Can be interrupted and run again.
 * `changed` = calls whose document changed.
 */
export const replayQuarantine = async (deps: IngestDeps, input: ReplayInput) => {
  const result = { replayed: 0, refused: 0, changed: 0 };
  for (let after = 0; ; ) {
    input.signal?.throwIfAborted();
    const batch = await readOpenBatch(deps.store, { after, ids: input.ids, limit: batchRecords });
    const last = batch.at(-1);
    if (last === undefined) return result;
    after = last.id;
    const done = await replayBatch(deps, input, batch);
    result.replayed += done.replayed;
    result.refused += done.refused;
    result.changed += done.changed;
  }
};

const replayBatch = async (deps: IngestDeps, input: ReplayInput, batch: readonly QuarantinedRecord[]) => {
  const read = batch.map((entry): ReadEntry => ({ entry, ...readAgain(entry, { ...input, ...deps }) }));
  const observed = new Map<Observation, QuarantinedRecord>();
  const folded = await ingest(deps, async (tx) => {
    const rejected: RejectedRecord[] = [];
    for (const one of await lockEntries(tx, read))
      if ('reason' in one) rejected.push({ ...one.entry.record, reason: one.reason });
      else observed.set(one.observation, one.entry);
    return { observations: [...observed.keys()], rejected, origin: 'replay' };
  });
  await folded.load();
  const delivered = [...observed].filter(([, { record }]) => record.source === 'webhook');
  const replayed = delivered.map(([{ callId }, { record }]) => ({ bodyHash: record.bodyHash, callId }));
  await settleReplayed(deps.store, replayed, deps.store.keyOf);
  const ids = [...observed.values()].map((entry) => entry.id);
  await settleQuarantine(deps.store, ids, 'replayed');
  return { replayed: ids.length, refused: folded.rejected, changed: folded.changed.length };
};

/**
 * Locks the entries that still exist in the order of erasures: calls before texts. Other entries get no row, because
 * they may have been erased under a value that no ledger knows.
 */
const lockEntries = async (tx: Transaction, read: readonly ReadEntry[]): Promise<readonly ReadEntry[]> => {
  // Take this lock before the rows that holders of the shared lock have locked.
  await readNoted(tx, { joins: true });
  for (let left = read; ; ) {
    await tx.query('SAVEPOINT entries');
    const callIds = left.flatMap((one) => ('observation' in one ? one.observation.callId : []));
    await lockCalls(tx, callIds);
    const ids = left.map(({ entry }) => entry.id);
    const open = new Set(await lockOpen(tx, ids));
    if (open.size === left.length) {
      await tx.query('RELEASE SAVEPOINT entries');
      return left;
    }
    await tx.query('ROLLBACK TO SAVEPOINT entries');
    left = left.filter(({ entry }) => open.has(entry.id));
  }
};

type ReadEntry = Read & { readonly entry: QuarantinedRecord };

type Read = { readonly observation: Observation } | { readonly reason: string };

const readAgain = (
  { record, deliveryId }: QuarantinedRecord,
  rules: Pick<ReplayInput, 'carries' | 'observedAt' | 'open'> & Pick<IngestDeps, 'processedField' | 'clockSkew'>,
): Read => {
  const now = record.receivedAt.getTime() * 1000;
  const { observedAt: given, processedField, clockSkew } = rules;
  if (record.reason === alteredReason) return record;
  const body = isSealed(record.body) ? rules.open?.(record.body) : record.body;
  if (body === undefined) return { reason: rules.open === undefined ? sealedReason : 'sealed for another key' };
  if (record.source === 'import') return readImported(body, { now, given, processedField, clockSkew });
  const parsed = readRecord(body).value;
  if (parsed === undefined) return { reason: 'not JSON' };
  if (record.source === 'poll') {
    const observed = observeRecord(parsed, { observedAt: now, carries: rules.carries });
    return observed.kind === 'observation' ? { observation: observed.observation } : { reason: observed.reason };
  }
  return observeDelivery(parsed, deliveryId, now, clockSkew);
};
