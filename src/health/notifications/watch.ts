/**
 * Notices for all processes together the start and end of each condition. Each change stands in the timeline once,
 * and channels hear of it once.
 */
import { repeatEvery } from '../../lib/timing.ts';
import type { Database, Transaction } from '../../postgres/database.ts';
import { recordEvent } from '../../store/status/events.ts';
import { type Alarm, because, judge, type Readings } from '../conditions.ts';
import { beat } from '../read-health.ts';
import type { Channel, Message } from './channels.ts';

type NoticedCondition = Pick<Alarm, 'subject' | 'summary' | 'isUrgent'> & { readonly condition: string };

/** Failures of the last attempt: the timeline has them as errors, before they last long enough to be conditions. */
const failuresOf = ({ sync, warehouses }: Readings): NoticedCondition[] =>
  [
    { condition: 'sync_failed', subject: '', code: sync?.lastError, what: 'Reading new calls' },
    ...warehouses.map(({ name, lastError }) => ({
      ...{ condition: 'load_failed', subject: name, code: lastError, what: `A load into warehouse ${name}` },
    })),
  ].flatMap(({ condition, subject, code, what }) =>
    code == null ? [] : [{ condition, subject, summary: `${what} failed${because(code)}.`, isUrgent: false }],
  );

interface TellingRule {
  readonly condition: string;
  /** Milliseconds for which the condition must hold before a message goes out. */
  readonly after: number;
  /** Names. */
  readonly channels: readonly string[];
}

type QueuedMessage = Message & { readonly channel: string };

const everyMs = 10_000;
/** Shorter ones are late answers of a busy store. */
const longSilenceMs = 60_000;

/**
 * Compares the conditions with the recorded ones, and records begins and ends. Queues messages, one a channel, for
 * urgent conditions that have lasted long enough and for the ends of reported conditions. One process at a time;
 * another finds nothing left to do.
 */
export const notice = (store: Database, wrong: readonly NoticedCondition[], rules: readonly TellingRule[]) =>
  store.transaction(async (tx) => {
    await tx.query`SELECT pg_advisory_xact_lock(hashtext('callsync.notifications'))`;
    const [names, subjects] = [wrong.map(({ condition }) => condition), wrong.map(({ subject }) => subject)];
    const over = await tx.query<{ condition: string; subject: string; told: boolean }>`
      DELETE FROM notified_conditions
       WHERE (condition, subject) NOT IN (SELECT * FROM unnest(${names}::text[], ${subjects}::text[]))
      RETURNING condition, subject, told_at IS NOT NULL AS told`;
    const begun = await tx.query<{ condition: string; subject: string }>`
      INSERT INTO notified_conditions (condition, subject) SELECT * FROM unnest(${names}::text[], ${subjects}::text[])
      ON CONFLICT DO NOTHING RETURNING condition, subject`;
    for (const one of begun) {
      const kind = one.condition.endsWith('_failed') ? 'error' : 'outage';
      await recordEvent(tx, { kind, what: find(wrong, one)?.summary ?? '', actor: null });
    }
    for (const one of over) await recordEvent(tx, { kind: 'recovery', what: describeEnd(one), actor: null });
    for (const rule of rules) {
      const urgent = wrong.filter(({ condition, isUrgent }) => isUrgent && condition === rule.condition);
      const due = await tx.column<string>`
        UPDATE notified_conditions SET told_at = now()
         WHERE condition = ${rule.condition} AND subject = ANY(${urgent.map(({ subject }) => subject)})
           AND told_at IS NULL AND since <= now() - make_interval(secs => ${rule.after / 1000})
        RETURNING subject`;
      for (const subject of due) {
        const summary = find(urgent, { condition: rule.condition, subject })?.summary ?? rule.condition;
        await queue(tx, rule, { subject, state: 'firing', summary });
      }
      for (const one of over) {
        if (!one.told || one.condition !== rule.condition) continue;
        await queue(tx, rule, { subject: one.subject, state: 'resolved', summary: describeEnd(one) });
      }
    }
  });

const find = (wrong: readonly NoticedCondition[], one: { readonly condition: string; readonly subject: string }) =>
  wrong.find(({ condition, subject }) => condition === one.condition && subject === one.subject);

const describeEnd = ({ condition, subject }: { readonly condition: string; readonly subject: string }): string =>
  `The condition ${condition.replaceAll('_', ' ')}${subject === '' ? '' : ` of warehouse ${subject}`} is over.`;

/** Queues a message for each of the channels, under one id. */
export const queue = async (
  tx: Transaction,
  { condition, channels }: Omit<TellingRule, 'after'>,
  { subject, state, summary }: Pick<QueuedMessage, 'subject' | 'state' | 'summary'>,
): Promise<void> => {
  await tx.query`
    INSERT INTO notification_messages (id, channel, condition, subject, state, summary)
    SELECT message.id, channel, ${condition}, ${subject}, ${state}, ${summary}
      FROM (SELECT gen_random_uuid() AS id) AS message, unnest(${channels}::text[]) AS channel`;
};

/**
 * Oldest first, gives each due message to `send`, oldest first; one that was sent is forgotten, another is due again
 * later. A process that ends in between leaves its message to the next, which sends it again under the same id.
 */
export const sendMessages = async (store: Database, send: (message: QueuedMessage) => Promise<boolean>) => {
  // A message that nobody took for a day is no news any more.
  await store.query`DELETE FROM notification_messages WHERE created_at < now() - interval '1 day'`;
  for (;;) {
    const message = await store.row<QueuedMessage | undefined>`
      UPDATE notification_messages SET attempts = attempts + 1, next_at = now() + least(interval '1 hour', interval '30 seconds' * 2 ^ attempts)
       WHERE (id, channel) = (SELECT id, channel FROM notification_messages WHERE next_at <= now()
                               ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING id, channel, condition, subject, state, summary, (extract(epoch FROM created_at) * 1000)::float8 AS at`;
    if (message === undefined) return;
    if (await send(message))
      await store.query`DELETE FROM notification_messages WHERE id = ${message.id} AND channel = ${message.channel}`;
  }
};

/**
 * Looks six times a minute and leaves a sign that a worker lives. The look comes before the sign, so that a returning
 * worker notices how long there was none. The timeline also shows the return of the store.
 * Runs until the returned function is called.
 * @param input.read undefined = the store does not answer.
 */
export const watchHealth = (input: {
  readonly store: Database;
  readonly read: () => Promise<Readings | undefined>;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly rules: readonly TellingRule[];
  /** Queues messages that no condition causes. */
  readonly queueMore: () => Promise<void>;
  readonly log: (message: string, facts: Readonly<Record<string, unknown>>) => void;
}): (() => Promise<void>) => {
  const { store, channels, log } = input;
  let silentSince: number | undefined;
  const send = async ({ channel: name, ...message }: QueuedMessage): Promise<boolean> => {
    const channel = channels.get(name);
    // A channel that is no longer configured gets no more messages.
    if (channel === undefined) return true;
    return await channel.send(message).then(
      () => true,
      (error: unknown) => {
        log('a notification was not sent', { channel: name, error });
        return false;
      },
    );
  };
  const look = async (): Promise<void> => {
    const readings = await input.read();
    if (readings === undefined) {
      silentSince ??= Date.now();
      return;
    }
    await notice(store, [...judge(readings), ...failuresOf(readings)], input.rules);
    await beat(store);
    if (silentSince !== undefined && Date.now() - silentSince > longSilenceMs) {
      const what = `The store did not answer from ${new Date(silentSince).toISOString()} on`;
      await recordEvent(store, { kind: 'recovery', what, actor: null });
    }
    silentSince = undefined;
    await sendMessages(store, send);
    // Last: its failure holds back no message.
    await input.queueMore();
  };
  return repeatEvery(everyMs, () => look().catch((error: unknown) => log('the state could not be watched', { error })));
};
