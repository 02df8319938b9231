/** Tells the configured channels what stays wrong, and when it is right again. */

import { findConditions } from '../../notifications/find-conditions.ts';
import { requestLimitRules } from '../../source/source.ts';
import { readStoreGauges, readVerdictGauges } from '../../store/status/gauges.ts';
import { queueMessages, sendMessages } from '../../store/status/notifications.ts';
import { channelsOf } from '../notify.ts';
import type { Parts } from './open-parts.ts';
import { limitSpanMs } from './open-source.ts';
import type { Services } from './services.ts';
import { readUsages, verdictDays } from './watch-parts.ts';

const everyMs = 30_000;

/** Looks twice a minute, until the services are closed. Without channels it does nothing. */
export const openNotifications = (services: Services, { store, targets }: Pick<Parts, 'store' | 'targets'>): void => {
  const { notifications, source } = services.config;
  const channels = channelsOf(notifications);
  if (channels.size === 0) return;
  const rules = notifications.rules.map(({ when, after, channels: named }) => ({
    condition: when,
    after,
    channels: named ?? [...channels.keys()],
  }));
  const warehouses = targets.map(({ warehouse }) => warehouse.name);
  const look = async (): Promise<void> => {
    const wrong = findConditions({
      store: await readStoreGauges(store, { warehouses, limitSpanMs: limitSpanMs(requestLimitRules(source)) }),
      verdicts: await readVerdictGauges(store, { warehouses, days: verdictDays }),
      usages: await readUsages(targets),
    });
    await queueMessages(store, wrong, rules);
    await sendMessages(store, async (message) => {
      const channel = channels.get(message.channel);
      // A channel that is no longer configured is told nothing more.
      if (channel === undefined) return true;
      return await channel.send(message).then(
        () => true,
        (error: unknown) => {
          services.log('a notification was not sent', { channel: message.channel, error });
          return false;
        },
      );
    });
  };
  let looking: Promise<void> | undefined;
  const timer = setInterval(() => {
    looking ??= look()
      .catch((error: unknown) => services.log('notifications could not be worked out', { error }))
      .finally(() => {
        looking = undefined;
      });
  }, everyMs).unref();
  services.defer(async () => {
    clearInterval(timer);
    await looking;
  });
};
