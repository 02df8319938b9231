/** Clients that mean no good; deliveries of others must hardly notice. */
import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { converse, useProgram, useReceiver } from './support/child.ts';
import { deliveryHeaders, drained, exchange, head, openSocket } from './support/raw-http.ts';

const wellFormed = { 'X-Service-Signature': `sha256=${'0'.repeat(64)}`, 'Content-Type': 'application/json' };

/** The bytes of a slow socket: at once, and then again and again. */
const slowKinds: readonly { first: string; drip: string }[] = [
  { first: '', drip: '' },
  { first: 'POST /webhook HTTP/1.1\r\nHost: x\r\n', drip: 'X-Drip: 1\r\n' },
  { first: head({ ...wellFormed, 'Content-Length': '1000000' }), drip: 'x' },
  { first: head({ ...wellFormed, 'Transfer-Encoding': 'chunked' }), drip: '1\r\nx\r\n' },
  { first: `${head({ ...wellFormed, 'Content-Length': '5000000' })}${'\0'.repeat(60_000)}`, drip: '\0'.repeat(1_000) },
];

interface Sent {
  readonly first: string;
  /** Once more, while the socket is not closed. */
  goOn(socket: Socket): Promise<void>;
}

/** Sockets of a client that means no good, one after the other in each lane until nothing is next. */
const attack = (port: number, signal: AbortSignal, lanes: number, next: (lane: number) => Sent | undefined) => {
  const open = new Set<Socket>();
  const runs = Array.from({ length: lanes }, async (_, lane) => {
    for (let sent = next(lane); sent !== undefined && !signal.aborted; sent = next(lane)) {
      const socket = (await openSocket(port)).resume();
      open.add(socket);
      socket.write(sent.first);
      while (!socket.destroyed && !signal.aborted) await sent.goOn(socket);
      socket.destroy();
      open.delete(socket);
    }
  });
  return { open, done: Promise.all(runs) };
};

/** Slow ones that keep coming back. */
const startSlowSockets = (port: number, signal: AbortSignal, count: number) =>
  attack(port, signal, count, (lane) => {
    const { first, drip } = slowKinds[lane % slowKinds.length] as (typeof slowKinds)[0];
    const goOn = async (socket: Socket) => {
      await sleep(300, undefined, { signal }).catch(() => {});
      if (!socket.destroyed && drip !== '') socket.write(drip);
    };
    return { first, goOn };
  });

/** Bodies beyond the limit, half of them announced, the others in chunks without an end; `count` in all. */
const startOversized = (port: number, signal: AbortSignal, count: number) => {
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);
  let number = 0;
  return attack(port, signal, 20, () => {
    if (++number > count) return undefined;
    const framing = number % 2 === 0 ? { 'Content-Length': String(2 ** 31) } : { 'Transfer-Encoding': 'chunked' };
    const goOn = async (socket: Socket) => void (socket.write(chunk) || (await drained(socket)));
    return { first: head({ ...wellFormed, ...framing }), goOn };
  });
};

export interface HostileOptions {
  readonly slow: number;
  readonly oversized: number;
  readonly seconds: number;
  /** Greatest p99 of valid deliveries; undefined where the machine's speed must not decide. */
  readonly p99Ms?: number;
  /** Allowed growth of the receiver's memory. */
  readonly mostMb: number;
}

export const describeHostile = (options: HostileOptions): void => {
  const { slow, oversized, seconds, mostMb, p99Ms = Number.POSITIVE_INFINITY } = options;
  const { start } = useReceiver('hostile');

  const under = `under ${slow} slow sockets and ${oversized} oversized bodies`;
  const title = `takes valid deliveries, p99 under ${p99Ms} ms, and ${mostMb} MB more memory, ${under}`;
  test(title, async () => {
    const child = await start();
    const { port } = child;
    const body = Buffer.from(JSON.stringify({ unique_id: 'valid', filler: 'x'.repeat(40_000) }));
    const latencies: number[] = [];
    const failed: string[] = [];
    let sent = 0;
    /** Four senders of valid deliveries, until the signal. */
    const sendValid = (signal: AbortSignal, pauseMs: number) =>
      Promise.all(
        Array.from({ length: 4 }, async () => {
          while (!signal.aborted) {
            const headers = { ...deliveryHeaders(body, `valid-${sent++}`), Connection: 'close' };
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

    const [attacked, ended] = [new AbortController(), new AbortController()];
    setMaxListeners(0, ended.signal);
    latencies.length = 0;
    const slowSockets = startSlowSockets(port, ended.signal, slow);
    await until('the slow sockets are there', () => slowSockets.open.size >= slow * 0.9);
    const bodies = startOversized(port, ended.signal, oversized);
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
    ended.abort();
    await slowSockets.done;
    await until('nothing is held any more', async () => (await child.status()).inflightBytes === 0);
    await child.kill();

    latencies.sort((left, right) => left - right);
    const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.POSITIVE_INFINITY;
    const grownMb = (peak - before) / 1e6;
    expect(failed).toEqual([]);
    expect(p99).toBeLessThan(p99Ms);
    expect(grownMb).toBeLessThan(mostMb);
  });
};

/** One address floods the receiver with connections and bodies; deliveries of another must hardly notice. */
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
  const { start } = useReceiver('flood');
  const attacker = useProgram('webhook/support/attack-process');

  const hostile = `${idle} idle connections and ${bodies} senders of hostile bodies`;
  const title = `answers ${deliveries} deliveries of 8 MiB within ${answerWithinMs / 1_000} s, under ${hostile}`;
  test(title, async () => {
    const { port, kill } = await start();
    const { ask } = await converse(attacker.entry, [JSON.stringify({ port, idle, bodies })]);
    await sleep(1_000);
    const sendOne = async (number: number) => {
      const body = Buffer.from(JSON.stringify({ unique_id: `flood-${number}`, filler: 'x'.repeat(8 * 1024 * 1024) }));
      const headers = { ...deliveryHeaders(body, `flood-${number}`), Connection: 'close' };
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
    await ask('stop');
    await kill();
    const ms = sent.map((one) => one.ms).sort((left, right) => left - right);
    expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
    expect(ms.at(-1)).toBeLessThan(answerWithinMs);
  });
};
