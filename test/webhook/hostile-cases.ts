import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { useReceiver } from './support/child.ts';
import { startOversized, startSlowSockets } from './support/hostile.ts';
import { deliveryHeaders, exchange, head } from './support/raw-http.ts';

export interface HostileOptions {
  readonly slow: number;
  readonly oversized: number;
  readonly seconds: number;
  /** Highest 99th percentile of a valid delivery's answer, in milliseconds. */
  /** Greatest p99 of valid deliveries; undefined where the machine's speed must not decide. */
  readonly p99Ms?: number;
  /** Allowed growth of the receiver's memory. */
  readonly mostMb: number;
}

export const describeHostile = (options: HostileOptions): void => {
  const { slow, oversized, seconds, mostMb, p99Ms = Number.POSITIVE_INFINITY } = options;
  const { database, spoolDir, program } = useReceiver('hostile');

  test(
    `takes valid deliveries, p99 under ${p99Ms} ms, and ${mostMb} MB more memory, under ${slow} slow sockets and ${oversized} oversized bodies`,
    async () => {
      const config = { port: 0, secrets: [{ name: 'k', secret: 'hostile' }], spool: { min_free_bytes: 0 } };
      const child = await program.start({ databaseUrl: database.url, spoolDir, config });
      const port = Number(new URL(child.address).port);
      const body = Buffer.from(JSON.stringify({ unique_id: 'valid', filler: 'x'.repeat(40_000) }));
      const latencies: number[] = [];
      const failed: string[] = [];
      let sent = 0;
      /** Four senders of valid deliveries, until the signal. */
      const sendValid = (signal: AbortSignal, pauseMs: number) =>
        Promise.all(
          Array.from({ length: 4 }, async () => {
            while (!signal.aborted) {
              const headers = { ...deliveryHeaders(body, `valid-${sent++}`, 'hostile'), Connection: 'close' };
              const startedAt = performance.now();
              const { answers } = await exchange(port, [head(headers), body]);
              latencies.push(performance.now() - startedAt);
              if (answers[0]?.status !== 200) failed.push(String(answers[0]?.status ?? 'no answer'));
              if (pauseMs > 0) await sleep(pauseMs);
            }
          }),
        );

      // Memory that usual work takes until its first collections is not growth under attack.
      await sendValid(AbortSignal.timeout(3_000), 0);
      const before = (await child.status()).rss;

      const attacked = new AbortController();
      latencies.length = 0;
      const slowSockets = startSlowSockets(port, slow);
      await until('the slow sockets are there', () => slowSockets.open() >= slow * 0.9);
      const bodies = startOversized(port, oversized, 20);
      let peak = before;
      const watch = (async () => {
        while (!attacked.signal.aborted) {
          peak = Math.max(peak, (await child.status()).rss);
          await sleep(100);
        }
      })();
      const valid = sendValid(attacked.signal, 20);
      await Promise.all([bodies.done, sleep(seconds * 1_000)]);
      attacked.abort();
      await Promise.all([valid, watch]);
      const held = (await child.status()).inflightBytes;
      await Promise.all([slowSockets.stop(), bodies.stop()]);
      await until('nothing is held any more', async () => (await child.status()).inflightBytes === 0);
      await child.kill();

      latencies.sort((left, right) => left - right);
      const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.POSITIVE_INFINITY;
      const grownMb = (peak - before) / 1e6;
      const p50 = latencies[latencies.length >> 1];
      console.log({ slow, oversized, valid: latencies.length, p50, p99, grownMb, held });
      expect(failed).toEqual([]);
      expect(p99).toBeLessThan(p99Ms);
      expect(grownMb).toBeLessThan(mostMb);
    },
    60_000 + seconds * 2_000,
  );
};
