/** Conditions that hold and the messages about them, shared by all processes: each change is told once. */
import type { Database, Transaction } from '../../postgres/database.ts';

export interface WrongCondition {
  readonly condition: string;
  readonly subject: string;
  readonly summary: string;
}

export interface TellingRule {
  readonly condition: string;
  /** Milliseconds for which it must hold before it is told. */
  readonly after: number;
  /** Names. */
  readonly channels: readonly string[];
}

export interface QueuedMessage {
  readonly id: string;
  readonly channel: string;
  readonly condition: string;
  readonly subject: string;
  readonly state: 'firing' | 'resolved';
  readonly summary: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

const vainFor = `interval '1 day'`;

/**
 * Compares what is wrong with what was, and queues a message a channel for each condition that has lasted long enough,
 * and for each told one that is over. One process at a time; another finds nothing left to do.
 */
export const queueMessages = (
  store: Database,
  wrong: readonly WrongCondition[],
  rules: readonly TellingRule[],
): Promise<void> =>
  store.transaction(async (tx) => {
    await tx.query("SELECT pg_advisory_xact_lock(hashtext('callsync.notifications'))");
    const conditions = wrong.map(({ condition }) => condition);
    const subjects = wrong.map(({ subject }) => subject);
    const over = await tx.query<{ condition: string; subject: string; told: boolean }>(
      `DELETE FROM notified_conditions WHERE (condition, subject) NOT IN (SELECT * FROM unnest($1::text[], $2::text[]))
       RETURNING condition, subject, told_at IS NOT NULL AS told`,
      [conditions, subjects],
    );
    await tx.query(
      `INSERT INTO notified_conditions (condition, subject) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING`,
      [conditions, subjects],
    );
    for (const rule of rules) {
      const due = await tx.query<{ subject: string }>(
        `UPDATE notified_conditions SET told_at = now()
          WHERE condition = $1 AND told_at IS NULL AND since <= now() - make_interval(secs => $2) RETURNING subject`,
        [rule.condition, rule.after / 1000],
      );
      for (const { subject } of due) {
        const found = wrong.find((one) => one.condition === rule.condition && one.subject === subject);
        await queue(tx, rule, { subject, state: 'firing', summary: found?.summary ?? rule.condition });
      }
      for (const { condition, subject, told } of over) {
        if (!told || condition !== rule.condition) continue;
        const of = subject === '' ? '' : ` of warehouse ${subject}`;
        await queue(tx, rule, { subject, state: 'resolved', summary: `${condition.replaceAll('_', ' ')}${of}: over.` });
      }
    }
  });

const queue = async (
  tx: Transaction,
  { condition, channels }: TellingRule,
  { subject, state, summary }: Pick<QueuedMessage, 'subject' | 'state' | 'summary'>,
): Promise<void> => {
  await tx.query(
    `INSERT INTO notification_messages (id, channel, condition, subject, state, summary)
     SELECT message.id, channel, $2, $3, $4, $5 FROM (SELECT gen_random_uuid() AS id) AS message, unnest($1::text[]) AS channel`,
    [channels, condition, subject, state, summary],
  );
};

/**
 * Hands each due message to `send`, oldest first; one that was sent is forgotten, another is due again later. A process
 * that ends in between leaves its message to the next, which sends it again under the same id.
 */
export const sendMessages = async (
  store: Database,
  send: (message: QueuedMessage) => Promise<boolean>,
): Promise<void> => {
  await store.query(`DELETE FROM notification_messages WHERE created_at < now() - ${vainFor}`);
  for (;;) {
    const [message] = await store.query<QueuedMessage>(
      `UPDATE notification_messages SET attempts = attempts + 1, next_at = now() + least(interval '1 hour', interval '30 seconds' * 2 ^ attempts)
        WHERE (id, channel) = (SELECT id, channel FROM notification_messages WHERE next_at <= now()
                                ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id, channel, condition, subject, state, summary, (extract(epoch FROM created_at) * 1000)::float8 AS at`,
    );
    if (message === undefined) return;
    if (await send(message)) {
      await store.query('DELETE FROM notification_messages WHERE id = $1 AND channel = $2', [
        message.id,
        message.channel,
      ]);
    }
  }
};
