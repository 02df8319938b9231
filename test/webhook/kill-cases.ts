import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sendWebhook } from '../../src/lib/send-webhook.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { randomStream } from '../../src/simulator/calls/random.ts';
import { until } from '../support/until.ts';
import { useReceiver } from './support/child.ts';
import { keepSending, testSecret } from './support/receiver.ts';

const seed = Number(process.env.CALLSYNC_SEED ?? Math.floor(Math.random() * 2 ** 31));

export const describeKills = ({ kills }: { kills: number }): void => {
  const { database, start } = useReceiver('kill');

  test(`loses and doubles nothing that was answered, over ${kills} kills (seed ${seed})`, async () => {
    const random = randomStream(seed);
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}/webhook`;
    const config = { port, group_commit: { deadline_s: 0.2 }, spool: { segment_bytes: 200_000 } };
    const results = new Map<string, Awaited<ReturnType<typeof sendWebhook>>>();
    let answered = 0;
    const answeredMore = (count: number, goal = answered + count) => until('more answers', () => answered >= goal);

    let child = await start(config);
    const stop = keepSending([...'abcdefgh'], async (id) => {
      const body = JSON.stringify({ unique_id: id, filler: 'x'.repeat(20_000) });
      const result = await sendWebhook({ url, body, secret: testSecret, deliveryId: id });
      results.set(id, result);
      if (result.delivered) answered += 1;
      else await sleep(20);
    });
    for (let kill = 0; kill < kills; kill += 1) {
      const release = kill % 2 === 1 ? await database.hold() : undefined;
      await answeredMore(10 + Math.floor(random() * 60));
      // Every other time close behind an answer: what it promised must hold already.
      if (kill % 4 >= 2) await sleep(random() * 900);
      await child.kill();
      child = await start(config);
      await release?.();
    }
    await answeredMore(10);
    await stop();
    await until('the spool is drained', async () => (await child.status()).spool.records === 0);
    await child.kill();

    const counts = new Map<string, number>();
    for (const { delivery_id: id } of await database.rows()) counts.set(id ?? '', (counts.get(id ?? '') ?? 0) + 1);
    const all = [...results];
    const lost = all.filter(([id, { delivered }]) => delivered && !counts.has(id)).map(([id]) => id);
    // A delivery whose first attempt was cut off may have been stored by it too: the merge tells the two from each other.
    const doubled = all.filter(([id, { attempts }]) => (counts.get(id) ?? 0) > attempts.length).map(([id]) => id);
    expect({ lost, doubled }).toEqual({ lost: [], doubled: [] });
    expect(all.filter(([, { delivered }]) => delivered).length).toBeGreaterThan(kills * 10);
    expect(await spooledRows()).toBeGreaterThan(0);
  });

  const spooledRows = async () => (await database.store.query('SELECT FROM inbox WHERE spooled')).length;
};
