/** Hears of new deliveries by a notification of the store, so that receivers need no way to Temporal. */
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';

/** Channel of `NOTIFY`; messages carry nothing, because the inbox says which deliveries wait. */
export const inboxChannel = 'callsync_inbox';

/** A connection that is silent for so long is asked for an answer. */
const askAfterMs = 30_000;
const reconnectAfterMs = 1_000;

/**
 * Calls `onDeliveries` for each notification, and at each new connection, because what came before it was not heard.
 * Reconnects until `stop`.
 * @param pool whose one connection is taken for good.
 * @param onFailure told once of attempts that fail one after the other, until one listens again.
 */
export const listenToInbox = (
  pool: pg.Pool,
  onDeliveries: () => void,
  onFailure: (error: unknown) => void,
): { readonly stop: () => Promise<void> } => {
  let failures = 0;
  const stopped = new AbortController();
  const pause = (ms: number): Promise<void> => setTimeout(ms, undefined, stopped).catch(() => undefined);
  const listenOnce = async (): Promise<void> => {
    const client = await pool.connect();
    try {
      const lost = new Promise<never>((_, reject) => client.once('error', reject).once('end', reject));
      lost.catch(() => undefined);
      client.on('notification', onDeliveries);
      await client.query(`LISTEN ${inboxChannel}`);
      failures = 0;
      onDeliveries();
      while (!stopped.signal.aborted) {
        await Promise.race([pause(askAfterMs), lost]);
        await client.query('SELECT 1');
      }
    } finally {
      client.release(true);
    }
  };
  const listening = (async () => {
    while (!stopped.signal.aborted) {
      await listenOnce().catch((error) => {
        failures += 1;
        // The first ends a connection that listened, as every restart of the server does.
        if (failures === 2) onFailure(error);
      });
      await pause(reconnectAfterMs);
    }
  })();
  return {
    stop: () => {
      stopped.abort();
      return listening;
    },
  };
};
