/** Drains verified deliveries into the ledger and on to the warehouses. */
import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Observation, RejectedRecord } from '../../../schemas/observation.ts';
import { holdsValues, observeDelivery } from '../../calls/fold.ts';
import { readRecord } from '../../lib/json-record.ts';
import { isSealed, sealedReason } from '../../lib/sealed.ts';
import type { Transaction } from '../../postgres/database.ts';
import type { EarlierBodies, PendingDelivery, SettledDelivery } from '../../store/delivery/inbox.ts';
import { lockPendingDeliveries, requestRereads, settleDeliveries } from '../../store/delivery/inbox.ts';
import { findHeldCalls, prepare } from '../../store/gate.ts';
import { readRows } from '../../store/ledger/ledger.ts';
import type { IngestDeps } from '../deps.ts';
import { createPipeline, ingest } from './ingest.ts';

/** Deliveries of one transaction. */
const deliveriesPerBatch = 200;
/** Longest run, so that a deploy does not wait for it. */
const maxMs = 30_000;
/** After a batch that was not full, more come together while it loads: fewer commits, and no new start through Temporal. */
const gatherMs = 20;

/**
 * Drains the inbox batch by batch and loads immediate warehouses.
 * `more`: time ran out before the inbox was empty. `repeats`: deliveries whose call must be read again, because their
 * body is known or needs confirmation.
 */
export const mergeInbox = async (deps: IngestDeps) => {
  const until = performance.now() + maxMs;
  const pipeline = createPipeline(deps);
  let deliveries = 0;
  let repeats = 0;
  let more = true;
  while (more && performance.now() < until) {
    const merged = await mergeBatch(deps, deliveriesPerBatch, pipeline.take);
    more = merged !== undefined;
    deliveries += merged?.deliveries ?? 0;
    repeats += (merged?.outcomes.repeat ?? 0) + (merged?.doubted ?? 0);
    if (merged !== undefined && merged.deliveries < deliveriesPerBatch) await delay(gatherMs);
  }
  await pipeline.finish();
  return { deliveries, repeats, more };
};

/**
 * Folds the oldest waiting deliveries in one transaction and records the outcome of each. Outcomes: accepted,
 * quarantined with its bytes, duplicate (a retry or known values), or repeat (a known body under another id). The
 * signature does not cover the id, so callsync asks the API about repeats. callsync also asks after a late delivery, or
 * after every delivery (`confirmWebhooks`). Returns undefined if nothing waits.
 * `outcomes` = deliveries by outcome.
 * `doubted` = accepted ones after which the API is asked.
 */
export const mergeBatch = async (
  deps: IngestDeps,
  limit: number,
  take: ReturnType<typeof createPipeline>['take'] = (incoming) => ingest(deps, incoming),
) => {
  let settled: readonly SettledDelivery[] = [];
  let doubted = 0;
  const folded = await take(async (tx) => {
    const { deliveries, earlier } = await lockPendingDeliveries(tx, limit);
    if (deliveries.length === 0) return undefined;
    const sorted = sortDeliveries(deps, deliveries, earlier);
    return {
      observations: sorted.fresh.map(({ observation }) => observation),
      rejected: sorted.rejected,
      origin: 'inbox',
      settle: async (_tx, changed) => {
        const repeated = await settleRepeated(deps, tx, sorted.repeated);
        settled = [...sorted.settled, ...sorted.fresh.map(accept), ...repeated];
        if (sorted.doubted.length > 0) await requestRereads(tx, sorted.doubted, 'key');
        const doubtful = sorted.fresh.filter(({ isLate }) => isLate || deps.confirmWebhooks === true);
        doubted = doubtful.length;
        if (doubted > 0) await requestRereads(tx, doubtful.map(callIdOf), 'confirm');
        await settleDeliveries(tx, settled, changed, deps.store.keyOf);
      },
    };
  });
  if (settled.length === 0) return undefined;
  const outcomes: Record<string, number> = {};
  for (const { outcome } of settled) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  return { folded, deliveries: settled.length, outcomes, doubted };
};

type ReadDelivery = { readonly delivery: PendingDelivery; readonly observation: Observation; readonly isLate: boolean };

const callIdOf = ({ observation }: ReadDelivery): string => observation.callId;

const accept = ({ delivery: { seq }, observation: { callId }, isLate }: ReadDelivery): SettledDelivery => {
  const reason = isLate ? 'older than any delay explains: asked the API too' : null;
  return { seq, outcome: 'accepted', callId, reason };
};

const foreignReason = 'the receiver had another key of tokens: its file of privacy.key_file differs';
/** Such a body is never read again: the service was asked for its call. */
export const alteredReason = 'somebody altered the body after the receiver had verified its signature';

/** Why a readable delivery goes to quarantine. Rules change a body, whose hash is then one of the bytes that came. */
const doubtOf = ({ sanitize, isForeign }: IngestDeps, { body, bodyHash, privacyVersion }: PendingDelivery) => {
  if (privacyVersion !== null) return isForeign?.(privacyVersion) === true ? foreignReason : undefined;
  return sanitize || hash('sha256', body, 'buffer').equals(bodyHash) ? undefined : alteredReason;
};

/**
 * `fresh` = bodies that came for the first time.
 * `repeated` = known bodies under another delivery id, or without one.
 * `doubted` = calls whose tokens another key of the same name made, or whose body was altered.
 * `settled` = outcomes without a fold: retries and unreadable deliveries.
 */
const sortDeliveries = (deps: IngestDeps, deliveries: readonly PendingDelivery[], earlier: EarlierBodies) => {
  const doubted: string[] = [];
  const fresh: ReadDelivery[] = [];
  const repeated: ReadDelivery[] = [];
  const rejected: RejectedRecord[] = [];
  const settled: SettledDelivery[] = [];
  const inBatch = new Map<string, string | null>();
  for (const delivery of deliveries) {
    const { seq, deliveryId } = delivery;
    const read = readDelivery(deps, delivery);
    if ('reason' in read) {
      const { reason, callId = null } = read;
      if (callId !== null) doubted.push(callId);
      rejected.push(rejectedOf(delivery, reason));
      settled.push({ seq, outcome: 'quarantined', callId, reason });
      continue;
    }
    const { callId } = read.observation;
    const bodyHash = delivery.bodyHash.toString('hex');
    // Without an id, a retry and a change back look the same, so callsync asks the API.
    const isRetry = deliveryId !== null && (earlier.retries.has(seq) || inBatch.get(bodyHash) === deliveryId);
    if (isRetry) settled.push({ seq, outcome: 'duplicate', callId, reason: 'retry of the same delivery' });
    else if (earlier.hashes.has(bodyHash) || inBatch.has(bodyHash)) repeated.push({ delivery, ...read });
    else {
      inBatch.set(bodyHash, deliveryId);
      fresh.push({ delivery, ...read });
    }
  }
  return { fresh, repeated, rejected, doubted, settled };
};

const readDelivery = (
  deps: IngestDeps,
  delivery: PendingDelivery,
): Omit<ReadDelivery, 'delivery'> | { readonly reason: string; readonly callId?: string } => {
  const { body, bodyHash: rawHash, deliveryId, privacyVersion, receivedAt } = delivery;
  const { value } = readRecord(body);
  if (value === undefined) return { reason: isSealed(body) ? sealedReason : 'the body is not JSON' };
  const read = observeDelivery(value, deliveryId, receivedAt, deps.clockSkew);
  if ('reason' in read) return read;
  const { observation, isLate } = read;
  const doubt = doubtOf(deps, delivery);
  if (doubt !== undefined) return { reason: doubt, callId: observation.callId };
  return { observation: { ...observation, rawHash, ...(privacyVersion === null ? {} : { privacyVersion }) }, isLate };
};

const rejectedOf = ({ body, bodyHash, seq, receivedAt }: PendingDelivery, reason: string): RejectedRecord => ({
  reason,
  body,
  bodyHash,
  source: 'webhook',
  origin: `inbox:${seq}`,
  receivedAt: new Date(receivedAt / 1000),
});

/** A repeated body changes nothing where the ledger holds its values; otherwise the API's answer decides. */
const settleRepeated = async (deps: IngestDeps, tx: Transaction, repeated: readonly ReadDelivery[]) => {
  if (repeated.length === 0) return [];
  const rows = await readRows(tx, repeated.map(callIdOf));
  const held = await findHeldCalls(tx, [...rows.keys()], deps.store.keyOf);
  const settled = repeated.map(({ delivery: { seq }, observation }): SettledDelivery => {
    const { callId } = observation;
    const row = rows.get(callId);
    const isKnown = row !== undefined && (row.tombstone || holdsValues(row, prepare(deps, observation, held)));
    return isKnown
      ? { seq, outcome: 'duplicate', callId, reason: 'known body, and the ledger holds its values' }
      : { seq, outcome: 'repeat', callId, reason: 'known body under another delivery id: asked the API again' };
  });
  const doubtful = settled.filter(({ outcome }) => outcome === 'repeat').flatMap(({ callId }) => callId ?? []);
  await requestRereads(tx, doubtful, 'repeat');
  return settled;
};
