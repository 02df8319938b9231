import { describe, expect, test } from 'vitest';
import { createMemoryLimit, type MemoryLimit, type Place } from '../../src/source/read/memory-limit.ts';

const quiet = new AbortController().signal;

/** A room of 100 bytes in which a page of `bytes` was read before. */
const roomAfter = async (bytes: number): Promise<MemoryLimit> => {
  const room = createMemoryLimit(100);
  const place = await room.take('whole', quiet);
  place.fill(bytes);
  place.release();
  return room;
};

/** Asks for a place and says what became of it so far. */
const ask = (room: MemoryLimit, signal = quiet): { place: Place | undefined; settled: Promise<void> } => {
  const asked: { place: Place | undefined; settled: Promise<void> } = { place: undefined, settled: Promise.resolve() };
  asked.settled = room.take('whole', signal).then((place) => {
    asked.place = place;
  });
  return asked;
};

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the room for pages', () => {
  test('holds the first page alone until its size is known', async () => {
    const room = createMemoryLimit(100);
    const first = await room.take('whole', quiet);
    const second = ask(room);
    await settle();
    expect(second.place).toBeUndefined();
    expect(room.tryTake('light')).toBeUndefined();
    first.fill(30);
    await second.settled;
    expect(second.place).toBeDefined();
  });

  test('holds a page larger than itself alone, also after a small last page of another window', async () => {
    const room = await roomAfter(500);
    const last = await room.take('whole', quiet);
    last.fill(1);
    last.release();
    const one = await room.take('whole', quiet);
    one.fill(500);
    const other = ask(room);
    await settle();
    expect(other.place).toBeUndefined();
    one.release();
    one.release();
    await other.settled;
    expect(room.tryTake('whole')).toBeUndefined();
  });

  test('holds as many small pages as fit, and serves those who wait in turn', async () => {
    const room = await roomAfter(40);
    const held = [await room.take('whole', quiet), await room.take('whole', quiet)];
    const waiting = [ask(room), ask(room)];
    await settle();
    expect(waiting.map(({ place }) => place)).toEqual([undefined, undefined]);
    // Nobody passes those who wait, not even a page that would fit.
    held[0]?.fill(5);
    expect(room.tryTake('whole')).toBeUndefined();
    held[0]?.release();
    await waiting[0]?.settled;
    expect(waiting[1]?.place).toBeUndefined();
    held[1]?.release();
    await waiting[1]?.settled;
  });

  test('forgets who stops waiting, and gives back what a failed page took', async () => {
    const room = await roomAfter(80);
    const failed = await room.take('whole', quiet);
    const stop = new AbortController();
    const stopped = ask(room, stop.signal);
    const patient = ask(room);
    stop.abort(new Error('enough'));
    await expect(stopped.settled).rejects.toThrow('enough');
    await expect(room.take('whole', stop.signal)).rejects.toThrow('enough');
    failed.release();
    await patient.settled;
  });
});
