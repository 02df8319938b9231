import { setImmediate as settle } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createMemoryLimit } from '../../src/source/list/list-client.ts';
import { openMemoryList } from './memory-list.ts';

type MemoryLimit = ReturnType<typeof createMemoryLimit>;
type Permit = Awaited<ReturnType<MemoryLimit['acquire']>>;

const quiet = new AbortController().signal;

/** A limit of 100 bytes in which a page of `bytes` was read before. */
const limitAfter = async (bytes: number): Promise<MemoryLimit> => {
  const limit = createMemoryLimit(100);
  const permit = await limit.acquire('whole', quiet);
  permit.fill(bytes);
  permit.release();
  return limit;
};

/** Asks for a permit and says what became of it so far. */
const ask = (limit: MemoryLimit, signal = quiet) => {
  const asked = { permit: undefined as Permit | undefined, settled: limit.acquire('whole', signal) };
  asked.settled.then((permit) => (asked.permit = permit)).catch(() => undefined);
  return asked;
};

test('the memory limit of pages holds the first page alone until its size is known', async () => {
  const limit = createMemoryLimit(100);
  const first = await limit.acquire('whole', quiet);
  const second = ask(limit);
  await settle();
  expect(second.permit).toBeUndefined();
  expect(limit.tryAcquire('summary')).toBeUndefined();
  first.fill(30);
  await second.settled;
  expect(second.permit).toBeDefined();
});

test('the memory limit of pages holds as many small pages as fit, and serves those who wait in turn', async () => {
  const limit = await limitAfter(40);
  const held = [await limit.acquire('whole', quiet), await limit.acquire('whole', quiet)];
  const waiting = [ask(limit), ask(limit)];
  await settle();
  expect(waiting.map(({ permit }) => permit)).toEqual([undefined, undefined]);
  // Nobody passes those who wait, not even a page that would fit.
  held[0]?.fill(5);
  expect(limit.tryAcquire('whole')).toBeUndefined();
  held[0]?.release();
  await waiting[0]?.settled;
  expect(waiting[1]?.permit).toBeUndefined();
  held[1]?.release();
  await waiting[1]?.settled;
});

test('the memory limit of pages forgets who stops waiting, and gives back what a failed page took', async () => {
  const limit = await limitAfter(80);
  const failed = await limit.acquire('whole', quiet);
  const stop = new AbortController();
  const stopped = ask(limit, stop.signal);
  const patient = ask(limit);
  stop.abort(new Error('enough'));
  await expect(stopped.settled).rejects.toThrow('enough');
  await expect(limit.acquire('whole', stop.signal)).rejects.toThrow('enough');
  failed.release();
  await patient.settled;
});

test('the memory limit holds a page that its consumer keeps until it is unread, any other until the next', async () => {
  let asked = 0;
  const list = openMemoryList({ list: { records: 'data', pagination: { style: 'page', size: 1 } } }, () => {
    asked += 1;
    return [200, { data: [{ unique_id: `call-${asked}`, notes: 'x'.repeat(6 * 1024 * 1024) }] }];
  });
  const pages = list.readPages({});
  const kept = async () => (await pages.next()).value?.keep?.();
  const done = [await kept(), await kept(), await kept()];
  const fourth = pages.next();
  await settle();
  expect(asked).toBe(3);
  done[1]?.(true);
  await fourth;
  expect(asked).toBe(4);
  await pages.next();
  expect(asked).toBe(5);
  await pages.return();
});
