/** Records rejected deliveries, few enough that nobody can fill the disk with them. */
import { randomUUID } from 'node:crypto';
import type { RejectedDelivery } from '../../store/delivery/inbox-writer.ts';

const gatherMs = 250;
const minuteMs = 60_000;

/**
 * Writes at most `perMinute` rows a minute, and one more with the count of the rest. While the store is away,
 * rejections count as unrecorded.
 */
export const createRejections = (options: {
  perMinute: number;
  record: (rejected: readonly RejectedDelivery[]) => Promise<void>;
  onUnrecorded: (count: number) => void;
  minuteMs?: number;
}) => {
  const { perMinute, record, onUnrecorded } = options;
  let gathered: RejectedDelivery[] = [];
  let noted = 0;
  let surplus = 0;
  let writing: Promise<void> | undefined;

  const write = (): void => {
    if (gathered.length === 0 || writing !== undefined) return;
    const rows = gathered;
    gathered = [];
    writing = record(rows)
      .catch(() => onUnrecorded(rows.length))
      .finally(() => {
        writing = undefined;
      });
  };

  const turn = (): void => {
    if (surplus > 0) {
      const receivedAt = new Date();
      const reason = `${surplus} more rejected deliveries, without a row each`;
      const nobody = { deliveryId: null, hookId: null, agent: null };
      gathered.push({ arrivalId: randomUUID(), ...nobody, receivedAt, reason });
    }
    noted = 0;
    surplus = 0;
  };

  const writer = setInterval(write, gatherMs).unref();
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
      gathered.push(rejected);
    },
    async close() {
      clearInterval(writer);
      clearInterval(minute);
      turn();
      await writing;
      write();
      await writing;
    },
  };
};
