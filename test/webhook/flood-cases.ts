/** One address floods the receiver with connections and bodies; deliveries of another must hardly notice. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useFolder } from '../support/folder.ts';
import type { AttackOptions } from './support/attack-process.ts';
import { compileProgram, compileReceiver, type ReceiverProgram } from './support/child.ts';
import { useInboxDatabase } from './support/inbox-database.ts';
import { deliveryHeaders, exchange, head } from './support/raw-http.ts';

export interface FloodOptions {
  /** Of the attacker: connections that stay open, and senders of bodies of 16 MiB. */
  readonly idle: number;
  readonly bodies: number;
  /** Valid deliveries of 8 MiB. */
  readonly deliveries: number;
  /** From one to the next; undefined = each when the one before is answered, whatever the machine's speed. */
  readonly everyMs: number | undefined;
  readonly answerWithinMs: number;
}

export const describeFlood = ({ idle, bodies, deliveries, everyMs, answerWithinMs }: FloodOptions): void => {
  const database = useInboxDatabase();
  let receiver: ReceiverProgram;
  let attack: Awaited<ReturnType<typeof compileProgram>>;
  const folder = useFolder('flood');
  beforeAll(async () => {
    receiver = await compileReceiver();
    attack = await compileProgram('webhook/support/attack-process');
  });
  afterAll(async () => {
    await receiver?.remove();
    await attack?.remove();
  });

  const startAttack = async (options: AttackOptions) => {
    const child = spawn(process.execPath, [attack.entry, JSON.stringify(options)]);
    child.stderr.pipe(process.stderr);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    await lines.next();
    return async (): Promise<unknown> => {
      child.stdin.end();
      return JSON.parse(String((await lines.next()).value));
    };
  };

  test(
    `answers ${deliveries} deliveries of 8 MiB within ${answerWithinMs / 1_000} s, under ${idle} idle connections and ${bodies} senders of hostile bodies`,
    async () => {
      const config = { port: 0, secrets: [{ name: 'k', secret: 'flood' }], spool: { min_free_bytes: 0 } };
      const child = await receiver.start({ databaseUrl: database.url, spoolDir: join(folder, 'spool'), config });
      const port = Number(new URL(child.address).port);
      const stop = await startAttack({ port, idle, bodies });
      await sleep(1_000);
      const sendOne = async (number: number) => {
        const body = Buffer.from(JSON.stringify({ unique_id: `flood-${number}`, filler: 'x'.repeat(8 * 1024 * 1024) }));
        const headers = { ...deliveryHeaders(body, `flood-${number}`, 'flood'), Connection: 'close' };
        const startedAt = performance.now();
        const { answers } = await exchange(port, [head(headers), body], { deadlineMs: 3 * answerWithinMs });
        return { status: answers[0]?.status ?? 'none', ms: Math.round(performance.now() - startedAt) };
      };
      const under: ReturnType<typeof sendOne>[] = [];
      for (let number = 0; number < deliveries; number += 1) {
        under.push(sendOne(number));
        await (everyMs === undefined ? under.at(-1) : sleep(everyMs));
      }
      const sent = await Promise.all(under);
      const attacker = await stop();
      await child.kill();
      const ms = sent.map((one) => one.ms).sort((left, right) => left - right);
      console.log({ attacker, answers: sent.length, p50: ms[ms.length >> 1], slowest: ms.at(-1) });
      expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
      expect(ms.at(-1)).toBeLessThan(answerWithinMs);
    },
    120_000 + deliveries * 1_000,
  );
};
