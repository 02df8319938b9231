/**
 * Makes deliveries durable in groups: in the inbox, or in the spool while the store is away or slow. Then wakes the merge.
 * A delivery waits for a group and is answered after its write. A delivery that is not durable after `limits.answer_within_s`
 * gets an error. The service then sends it again, and the merge recognises it.
 */
import type { WebhookConfig } from '../../../schemas/config/webhook.ts';
import { transient } from '../../lib/errors.ts';
import type { Delivery, InboxWriter } from '../../store/delivery/inbox-writer.ts';
import type { SpoolDrain } from '../spool/drain.ts';
import type { Spool } from '../spool/spool.ts';
import type { BodyReader } from './body.ts';

type StoredIn = 'inbox' | 'spool';

export type GroupCommit = ReturnType<typeof createGroupCommit>;

interface GroupCommitOptions {
  readonly config: WebhookConfig;
  readonly inbox: Pick<InboxWriter, 'insert'>;
  readonly spool: Pick<Spool, 'append'>;
  readonly drain: Pick<SpoolDrain, 'state' | 'trip'>;
  readonly bodies: Pick<BodyReader, 'free'>;
  /** New deliveries are there. */
  readonly onStored: Readonly<Record<StoredIn, () => void>>;
}

interface Entry {
  readonly delivery: Delivery;
  readonly since: number;
  isAnswered: boolean;
  resolve(stored: Promise<StoredIn>): void;
  reject(error: unknown): void;
}

export const createGroupCommit = (options: GroupCommitOptions) => {
  const { drain, bodies, inbox, spool, onStored } = options;
  const { group_commit: config, limits } = options.config;
  /** Oldest first, including `waiting`, which no group has taken yet. Answered ones leave it with those before them. */
  const unanswered: Entry[] = [];
  const waiting: Entry[] = [];
  let delay: NodeJS.Timeout | undefined;
  const writing: Promise<void>[] = [];

  /** The spool has one file, which takes one group after the other. */
  const mayWrite = (): boolean => writing.length < (drain.state.usable ? config.writers : 1);

  const store = async (deliveries: readonly Delivery[]): Promise<StoredIn> => {
    if (drain.state.usable) {
      try {
        await inbox.insert(deliveries);
        onStored.inbox();
        return 'inbox';
      } catch (error) {
        drain.trip(error);
      }
    }
    await spool.append(deliveries);
    onStored.spool();
    return 'spool';
  };
  const write = async (group: readonly Entry[]): Promise<void> => {
    const isLent = drain.state.usable;
    const stored = store(group.map((entry) => entry.delivery));
    // A connection whose write failed may still send the bytes.
    const mayFree = (await stored.catch(() => undefined)) === 'inbox' || !isLent;
    for (const entry of group) {
      if (mayFree) bodies.free(entry.delivery.body);
      if (!entry.isAnswered) entry.resolve(stored);
      entry.isAnswered = true;
    }
    dropAnswered(unanswered);
  };

  const writeGroups = (): void => {
    clearTimeout(delay);
    delay = undefined;
    while (waiting.length > 0 && mayWrite()) {
      const group = takeGroup(waiting, config).filter((entry) => !entry.isAnswered);
      if (group.length === 0) continue;
      const work = write(group).then(() => {
        writing.splice(writing.indexOf(work), 1);
        if (waiting.length > 0) writeGroups();
      });
      writing.push(work);
    }
  };

  const overdue = setInterval(() => refuseOverdue(unanswered, limits.answer_within_s * 1_000), 250).unref();

  return {
    /** Durable when it resolves. Rejects with a transient error when neither store nor spool took it in time. */
    commit: (delivery: Delivery) =>
      new Promise<StoredIn>((resolve, reject) => {
        const entry: Entry = { delivery, since: performance.now(), isAnswered: false, resolve, reject };
        unanswered.push(entry);
        waiting.push(entry);
        if (waiting.length >= config.batch_rows) writeGroups();
        else if (mayWrite()) delay ??= setTimeout(writeGroups, config.max_delay_ms);
      }),
    /** Finishes the accepted deliveries. */
    async close() {
      while (waiting.length > 0 || writing.length > 0) {
        writeGroups();
        await Promise.all(writing);
      }
      clearInterval(overdue);
      clearTimeout(delay);
    },
  };
};

/**
 * The lists of entries are arrays, because a set that changes with every delivery gets new tables all the time. Each old
 * table kept its entries alive: four fifths of the bytes that grew old.
 */
const dropAnswered = (unanswered: Entry[]): void => {
  const first = unanswered.findIndex(({ isAnswered }) => !isAnswered);
  unanswered.splice(0, first === -1 ? unanswered.length : first);
};

/** The oldest entries, up to the limits of a group; one at least. */
const takeGroup = (waiting: Entry[], { batch_rows, batch_bytes }: WebhookConfig['group_commit']): Entry[] => {
  let bytes = 0;
  let count = 0;
  for (const { delivery } of waiting) {
    bytes += delivery.body.length;
    if (count > 0 && (count >= batch_rows || bytes > batch_bytes)) break;
    count += 1;
  }
  return waiting.splice(0, count);
};

const refuseOverdue = (unanswered: Entry[], withinMs: number): void => {
  const now = performance.now();
  for (const entry of unanswered) {
    if (now - entry.since < withinMs) break;
    if (!entry.isAnswered) entry.reject(transient('NOT_DURABLE', 'The delivery could not be stored in time.'));
    entry.isAnswered = true;
  }
  dropAnswered(unanswered);
};
