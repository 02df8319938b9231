/** Makes deliveries durable in groups: in the inbox, or in the spool while the store is away or slow. */
import { transient } from '../../errors.ts';
import type { Delivery, InboxWriter } from '../../store/delivery/inbox-writer.ts';
import { createCircuitBreaker } from '../spool/circuit-breaker.ts';
import type { Spool } from '../spool/spool.ts';
import type { ReceiverLog } from './receiver-log.ts';

export type LandedIn = 'inbox' | 'spool';

export interface GroupCommit {
  /** Durable when it resolves. Rejects with a transient error when neither store nor spool took it in time. */
  land(delivery: Delivery): Promise<LandedIn>;
  storeUsable(): boolean;
  /** Finishes what was given to it. */
  close(): Promise<void>;
}

export interface GroupCommitOptions {
  readonly inbox: InboxWriter;
  readonly spool: Spool;
  readonly writers: number;
  readonly maxDelayMs: number;
  readonly batchRows: number;
  readonly batchBytes: number;
  /** Longest that a group commit may take. */
  readonly deadlineMs: number;
  /** Longest that a delivery may wait in all. */
  readonly answerWithinMs: number;
  readonly log: ReceiverLog;
  /** Deliveries are in the inbox now. */
  readonly onStored: () => void;
  readonly onDrained: (deliveries: number) => void;
}

interface Entry {
  readonly delivery: Delivery;
  readonly since: number;
  resolve(landed: LandedIn): void;
  reject(error: unknown): void;
}

export const createGroupCommit = (options: GroupCommitOptions): GroupCommit => {
  const { inbox, spool, writers, maxDelayMs, batchRows, batchBytes, deadlineMs, answerWithinMs, log, onStored } =
    options;
  const gate = createCircuitBreaker({
    inbox,
    spool,
    deadlineMs,
    log,
    onDrained(deliveries) {
      options.onDrained(deliveries);
      onStored();
    },
  });
  /** All that wait for an answer, oldest first; those not yet in a group are in `pending` too. */
  const unanswered = new Set<Entry>();
  let pending: Entry[] = [];
  let writing = 0;
  let linger: NodeJS.Timeout | undefined;
  const underWay = new Set<Promise<void>>();

  const takeGroup = (): Entry[] => {
    let bytes = 0;
    let count = 0;
    for (const entry of pending) {
      bytes += entry.delivery.body.length;
      if (count > 0 && (count >= batchRows || bytes > batchBytes)) break;
      count += 1;
    }
    const group = pending.slice(0, count);
    pending = pending.slice(count);
    return group.filter((entry) => unanswered.has(entry));
  };

  const write = async (group: readonly Entry[]): Promise<void> => {
    const deliveries = group.map((entry) => entry.delivery);
    try {
      if (gate.usable()) {
        try {
          await inbox.insert(deliveries, { deadlineMs });
          settle(group, (entry) => entry.resolve('inbox'));
          onStored();
          return;
        } catch (error) {
          gate.shut(error);
        }
      }
      await spool.append(deliveries);
      gate.spooled();
      settle(group, (entry) => entry.resolve('spool'));
    } catch (error) {
      settle(group, (entry) => entry.reject(error));
    }
  };

  const settle = (group: readonly Entry[], answer: (entry: Entry) => void): void => {
    for (const entry of group) if (unanswered.delete(entry)) answer(entry);
  };

  const flush = (): void => {
    clearTimeout(linger);
    linger = undefined;
    // While the store is away nothing is gained by holding back: the spool groups by itself.
    while (pending.length > 0 && (writing < writers || !gate.usable())) {
      const group = takeGroup();
      if (group.length === 0) continue;
      writing += 1;
      const work = write(group).finally(() => {
        writing -= 1;
        underWay.delete(work);
        if (pending.length > 0) flush();
      });
      underWay.add(work);
    }
  };

  const overdue = setInterval(() => {
    const now = performance.now();
    for (const entry of unanswered) {
      if (now - entry.since < answerWithinMs) break;
      unanswered.delete(entry);
      entry.reject(transient('NOT_DURABLE', 'The delivery could not be made durable in time.'));
    }
  }, 250);
  overdue.unref();

  return {
    land: (delivery) =>
      new Promise((resolve, reject) => {
        const entry: Entry = { delivery, since: performance.now(), resolve, reject };
        unanswered.add(entry);
        pending.push(entry);
        if (pending.length >= batchRows) flush();
        else if (writing < writers || !gate.usable()) linger ??= setTimeout(flush, maxDelayMs);
      }),
    storeUsable: () => gate.usable(),
    async close() {
      while (pending.length > 0 || underWay.size > 0) {
        flush();
        await Promise.all(underWay);
      }
      clearInterval(overdue);
      clearTimeout(linger);
      await gate.close();
    },
  };
};
