import { mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Delivery } from '../../src/store/delivery/inbox-writer.ts';
import { openSpool, type Spool, type SpoolOptions } from '../../src/webhook/spool/spool.ts';
import { makeDelivery } from './support/deliveries.ts';

let dir: string;
let logged: string[];
beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'callsync-spool-')), 'spool');
  logged = [];
});
afterEach(() => rm(join(dir, '..'), { recursive: true, force: true }));

const note = (_fields: object, message: string) => {
  logged.push(message);
};
const open = (options: Partial<SpoolOptions> = {}) =>
  openSpool({
    dir,
    maxBytes: 10_000_000,
    minFreeBytes: 0,
    segmentBytes: 1_000_000,
    log: { info: note, warn: note, error: note },
    ...options,
  });
/** As a kill leaves it: nothing is closed, the lock is that of a process that is gone. */
const abandon = async () => writeFile(join(dir, 'lock'), JSON.stringify({ pid: 2 ** 30, host: hostname() }));
const segments = async () => (await readdir(dir)).filter((name) => name.endsWith('.spool')).sort();
const drain = async (spool: Spool) => {
  const drained: Delivery[] = [];
  await spool.drain(async (batch) => {
    drained.push(...batch);
  });
  return drained;
};
const ids = (deliveries: readonly Delivery[]) => deliveries.map((one) => one.deliveryId);

test('hands back what it took, whole, in order and once, over many files', async () => {
  const spool = await open({ segmentBytes: 5_000 });
  const deliveries = Array.from({ length: 60 }, (_, index) => makeDelivery(`d-${index}`, 500));
  for (let at = 0; at < 60; at += 3) await spool.append(deliveries.slice(at, at + 3));
  expect(spool.status()).toMatchObject({ records: 60, full: false, oldest: deliveries[0]?.receivedAt });
  expect((await segments()).length).toBeGreaterThan(3);
  expect(await drain(spool)).toEqual(deliveries);
  expect(spool.status()).toMatchObject({ records: 0, bytes: 0, oldest: undefined });
  expect(await segments()).toEqual([]);
  expect(await drain(spool)).toEqual([]);
  await spool.close();
});

test('keeps what is not taken, and goes on there', async () => {
  const spool = await open();
  await spool.append(Array.from({ length: 300 }, (_, index) => makeDelivery(`d-${index}`, 10)));
  const taken: Delivery[] = [];
  const first = spool.drain(async (batch) => {
    if (taken.length > 0) throw new Error('away');
    taken.push(...batch);
  });
  await expect(first).rejects.toThrow('away');
  expect(spool.status().records).toBe(300 - taken.length);
  await spool.append([makeDelivery('later')]);
  taken.push(...(await drain(spool)));
  expect(ids(taken)).toEqual([...Array.from({ length: 300 }, (_, index) => `d-${index}`), 'later']);
  await spool.close();
});

test('takes deliveries while it is drained', async () => {
  const spool = await open({ segmentBytes: 20_000 });
  const drained: Delivery[] = [];
  await spool.append([makeDelivery('0')]);
  let next = 1;
  await spool.drain(async (batch) => {
    drained.push(...batch);
    if (next < 100) await spool.append([makeDelivery(String(next++)), makeDelivery(String(next++))]);
  });
  expect(ids(drained)).toEqual(Array.from({ length: next }, (_, index) => String(index)));
  await spool.close();
});

describe('after a crash', () => {
  test('has everything that was answered, wherever the last write was torn', async () => {
    const spool = await open();
    await spool.append([makeDelivery('a', 20), makeDelivery('b', 20)]);
    const [name = ''] = await segments();
    const answered = (await stat(join(dir, name))).size;
    await spool.append([makeDelivery('c', 20)]);
    const { size } = await stat(join(dir, name));
    const whole = await readFile(join(dir, name));
    for (let cut = answered; cut <= size; cut += cut === answered || cut > size - 4 ? 1 : 7) {
      for (const tail of ['cut', 'zeros'] as const) {
        await rm(dir, { recursive: true });
        const fresh = await open();
        await fresh.close();
        await writeFile(join(dir, name), whole);
        await truncate(join(dir, name), cut);
        if (tail === 'zeros') await truncate(join(dir, name), size);
        await abandon();
        const again = await open();
        expect(again.status().records).toBe(cut === size ? 3 : 2);
        await again.append([makeDelivery('d')]);
        expect(ids(await drain(again))).toEqual(cut === size ? ['a', 'b', 'c', 'd'] : ['a', 'b', 'd']);
        await again.close();
      }
    }
  });

  test('keeps the records behind a damaged one, and the damaged file', async () => {
    const spool = await open();
    for (const id of ['a', 'b', 'c']) await spool.append([makeDelivery(id, 100)]);
    await spool.close();
    const [name = ''] = await segments();
    const bytes = await readFile(join(dir, name));
    const at = bytes.indexOf('"unique_id":"b"');
    bytes[at + 3] = 0;
    await writeFile(join(dir, name), bytes);
    const again = await open();
    expect(logged).toContain('A spool file is damaged; its other records are kept.');
    expect(ids(await drain(again))).toEqual(['a', 'c']);
    expect(await readdir(dir)).toContain(`${name}.damaged`);
    expect(again.status()).toMatchObject({ records: 0, bytes: bytes.length });
    await again.close();
  });

  test('does not hand over again a file that was drained, nor forget one half drained', async () => {
    const spool = await open({ segmentBytes: 3_000 });
    for (let n = 0; n < 10; n += 1) await spool.append([makeDelivery(String(n), 1_000)]);
    const taken: Delivery[] = [];
    await spool
      .drain(async (batch) => {
        if (taken.length >= 4) throw new Error('away');
        taken.push(...batch);
      })
      .catch(() => {});
    await abandon();
    const again = await open();
    expect(ids([...taken, ...(await drain(again))])).toEqual(Array.from({ length: 10 }, (_, n) => String(n)));
    await again.close();
  });
});

describe('refuses', () => {
  test('beyond its size, takes again when there is room, and loses nothing it took', async () => {
    const spool = await open({ maxBytes: 5_000 });
    const taken: string[] = [];
    for (let n = 0; n < 10; n += 1) {
      await spool.append([makeDelivery(String(n), 800)]).then(
        () => taken.push(String(n)),
        (error: unknown) => expect(error).toMatchObject({ code: 'SPOOL_FULL', kind: 'transient' }),
      );
    }
    expect(taken).toEqual(['0', '1', '2', '3']);
    expect(spool.status().full).toBe(true);
    expect(ids(await drain(spool))).toEqual(taken);
    await spool.append([makeDelivery('more')]);
    expect(spool.status().full).toBe(false);
    await spool.close();
  });

  test('before the disk is full', async () => {
    const spool = await open({ minFreeBytes: Number.MAX_SAFE_INTEGER });
    await expect(spool.append([makeDelivery('a')])).rejects.toMatchObject({ code: 'SPOOL_FULL' });
    await spool.close();
  });

  test('when the folder is gone, and takes again when it is back', async () => {
    const spool = await open();
    await rm(dir, { recursive: true });
    await expect(spool.append([makeDelivery('a')])).rejects.toMatchObject({ kind: 'transient' });
    const other = await open();
    await expect(spool.append([makeDelivery('b')])).resolves.toBeUndefined();
    await other.close();
    expect(ids(await drain(spool))).toEqual(['b']);
    await spool.close();
  });

  test('a folder that another receiver uses', async () => {
    const spool = await open();
    await writeFile(join(dir, 'lock'), JSON.stringify({ pid: process.ppid, host: hostname() }));
    await expect(open()).rejects.toMatchObject({ code: 'SPOOL_IN_USE' });
    const past = new Date(Date.now() - 60_000);
    await utimes(join(dir, 'lock'), past, past);
    const taken = await open();
    await taken.close();
    await spool.close();
  });

  test('a folder that cannot be made', async () => {
    await writeFile(dir, 'a file');
    await expect(open({ dir: join(dir, 'below') })).rejects.toMatchObject({ code: 'SPOOL_UNUSABLE' });
  });
});
