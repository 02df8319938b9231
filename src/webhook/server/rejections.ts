/** Records rejected deliveries, few enough that nobody can fill the disk with them. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RejectedDelivery } from '../../store/delivery/inbox-writer.ts';

const gatherMs = 250;
const minuteMs = 60_000;

/**
 * Writes at most `perMinute` rows a minute, and one more with the count of the rest. While the store is away,
 * rejections count as unrecorded.
 */
export const createRejections = (options: {
  perMinute: number;
  record: (rejected: readonly RejectedDelivery[]) => Promise<unknown>;
  onUnrecorded: (count: number) => void;
  minuteMs?: number;
}) => {
  const { perMinute, record, onUnrecorded } = options;
  const stop = new AbortController();
  let gathered: RejectedDelivery[] = [];
  let noted = 0;
  let surplus = 0;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    while (gathered.length > 0) {
      await sleep(gatherMs, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
      const rows = gathered;
      gathered = [];
      await record(rows).catch(() => onUnrecorded(rows.length));
    }
    writing = undefined;
  };
  const gather = (rejected: RejectedDelivery): void => {
    gathered.push(rejected);
    writing ??= write();
  };

  const turn = (): void => {
    if (surplus > 0) {
      const receivedAt = new Date();
      const reason = `${surplus} more rejected deliveries, without a row each`;
      const nobody = { deliveryId: null, hookId: null, agent: null };
      gather({ arrivalId: randomUUID(), ...nobody, receivedAt, reason });
    }
    noted = 0;
    surplus = 0;
  };

  const minute = setInterval(turn, options.minuteMs ?? minuteMs).unref();
  return {
    note(rejected: RejectedDelivery) {
      // `gathered` is bounded too, for the time that a write hangs.
      if (noted >= perMinute || gathered.length > perMinute) {
        surplus += 1;
        onUnrecorded(1);
        return;
      }
      noted += 1;
      gather(rejected);
    },
    async close() {
      clearInterval(minute);
      turn();
      stop.abort();
      await writing;
    },
  };
};
