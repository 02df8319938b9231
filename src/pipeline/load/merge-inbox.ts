/** Drains verified deliveries into the ledger and on to the warehouses. */
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { holdsValues, type PreparedObservation } from '../../calls/fold.ts';
import { identifyRecord } from '../../calls/identify.ts';
import { webhookObservedAt } from '../../calls/observed-at.ts';
import type { Transaction } from '../../postgres/database.ts';
import {
  findEarlierBodies,
  lockPendingDeliveries,
  type PendingDelivery,
  requestRereads,
  type SettledDelivery,
  settleDeliveries,
} from '../../store/delivery/inbox.ts';
import { quarantineRecords } from '../../store/delivery/quarantine.ts';
import { recordLateChanges } from '../../store/ledger/late-changes.ts';
import { foldIntoLedger, readRows } from '../../store/ledger/ledger.ts';
import { type FoldedBatch, type IngestDeps, planAfterFold, tooDeep, tryPrepare } from './ingest.ts';

export interface MergedBatch {
  readonly folded: FoldedBatch;
  readonly deliveries: number;
  readonly outcomes: Readonly<Record<string, number>>;
}

type Read =
  | { readonly delivery: PendingDelivery; readonly observation: Observation }
  | { readonly delivery: PendingDelivery; readonly reason: string };

const readDelivery = (delivery: PendingDelivery): Read => {
  let record: unknown;
  try {
    record = JSON.parse(delivery.body.toString('utf8'));
  } catch {
    return { delivery, reason: 'the body is not JSON' };
  }
  const identified = identifyRecord(record);
  if ('reason' in identified) return { delivery, reason: identified.reason };
  const observedAt = webhookObservedAt(delivery.deliveryId, delivery.receivedAt);
  return {
    delivery,
    observation: { callId: identified.callId, source: 'webhook', observedAt, fields: identified.record },
  };
};

const rejectedOf = (delivery: PendingDelivery, reason: string): RejectedRecord => ({
  reason,
  body: delivery.body,
  source: 'webhook',
  origin: `inbox:${delivery.seq}`,
  receivedAt: new Date(delivery.receivedAt / 1000),
});

const origin = 'inbox';

/**
 * Folds the oldest waiting deliveries in one transaction and records the outcome of each:
 * accepted; quarantined (its bytes stay); duplicate (the retry of a delivery, or a body whose values the ledger
 * holds); repeat (a known body under another delivery id, which the signature does not cover: the API is asked again).
 * Returns undefined when nothing waits.
 */
export const mergeBatch = async (deps: IngestDeps, limit: number): Promise<MergedBatch | undefined> => {
  const seen: Observation[] = [];
  const merged = await deps.store.transaction((tx) => mergeLocked(deps, tx, limit, seen));
  await deps.drift?.see(seen);
  return merged;
};

const mergeLocked = async (
  deps: IngestDeps,
  tx: Transaction,
  limit: number,
  seen: Observation[],
): Promise<MergedBatch | undefined> => {
  const deliveries = await lockPendingDeliveries(tx, limit);
  if (deliveries.length === 0) return undefined;
  const earlier = await findEarlierBodies(
    tx,
    deliveries.map((delivery) => delivery.bodyHash),
  );
  const settled: SettledDelivery[] = [];
  const rejected: RejectedRecord[] = [];
  const fresh: { delivery: PendingDelivery; observation: Observation }[] = [];
  const repeated: { delivery: PendingDelivery; observation: Observation }[] = [];
  const inBatch = new Map<string, string | null>();
  for (const read of deliveries.map(readDelivery)) {
    const { delivery } = read;
    if ('reason' in read) {
      rejected.push(rejectedOf(delivery, read.reason));
      settled.push({ seq: delivery.seq, outcome: 'quarantined', callId: null, reason: read.reason });
      continue;
    }
    const hash = delivery.bodyHash.toString('hex');
    const known = earlier.get(hash);
    // Without an id nothing tells a retry from a change back, so the API is asked.
    const isRetry =
      delivery.deliveryId !== null &&
      (known?.has(delivery.deliveryId) === true || inBatch.get(hash) === delivery.deliveryId);
    if (isRetry) {
      settled.push({
        seq: delivery.seq,
        outcome: 'duplicate',
        callId: read.observation.callId,
        reason: 'retry of the same delivery',
      });
    } else if (known !== undefined || inBatch.has(hash)) {
      repeated.push(read);
    } else {
      inBatch.set(hash, delivery.deliveryId);
      fresh.push(read);
    }
  }

  const prepared: PreparedObservation[] = [];
  for (const { delivery, observation } of fresh) {
    const one = tryPrepare(observation, deps.sanitize);
    seen.push(observation);
    if (one === undefined) rejected.push(rejectedOf(delivery, tooDeep));
    else prepared.push(one);
    settled.push(
      one === undefined
        ? { seq: delivery.seq, outcome: 'quarantined', callId: null, reason: tooDeep }
        : { seq: delivery.seq, outcome: 'accepted', callId: one.callId, reason: null },
    );
  }
  const { changed, replaced, unchanged } = await foldIntoLedger(tx, prepared, deps.processedField);
  await recordLateChanges(tx, { changed, replaced, processedField: deps.processedField });

  const rows = await readRows(
    tx,
    repeated.map((read) => read.observation.callId),
  );
  const doubtful: string[] = [];
  for (const { delivery, observation } of repeated) {
    const held = isHeld(rows.get(observation.callId), tryPrepare(observation, deps.sanitize));
    if (!held) doubtful.push(observation.callId);
    settled.push({
      seq: delivery.seq,
      outcome: held ? 'duplicate' : 'repeat',
      callId: observation.callId,
      reason: held
        ? 'known body, and the ledger holds its values'
        : 'known body under another delivery id: asked the API again',
    });
  }
  await requestRereads(tx, doubtful, 'repeat');
  await quarantineRecords(tx, rejected);
  await settleDeliveries(
    tx,
    settled,
    deps.targets.map((target) => target.warehouse.name),
  );
  const loads = await planAfterFold(deps, tx, changed, origin);
  const outcomes: Record<string, number> = {};
  for (const one of settled) outcomes[one.outcome] = (outcomes[one.outcome] ?? 0) + 1;
  return {
    folded: { changed, unchanged, rejected: rejected.length, loads },
    deliveries: deliveries.length,
    outcomes,
  };
};

const isHeld = (
  row: Parameters<typeof holdsValues>[0] | undefined,
  observation: PreparedObservation | undefined,
): boolean => row !== undefined && observation !== undefined && (row.tombstone || holdsValues(row, observation));
