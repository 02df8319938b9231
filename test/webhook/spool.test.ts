import { chmod, cp, mkdir, readdir, readFile, rename, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Delivery } from '../../src/store/delivery/inbox-writer.ts';
import { openSpool } from '../../src/webhook/spool/spool.ts';
import { useFolder } from '../support/folder.ts';
import { drain, makeDelivery } from './support/deliveries.ts';

const root = useFolder('spool');
let spools = 0;
let dir: string;
let logged: string[];
beforeEach(() => {
  dir = join(root, String(spools++));
  logged = [];
});

const note = (_fields: object, message: string) => void logged.push(message);
const log = { info: note, warn: note, error: note };
/** Closed at the end of the test at the latest. */
const open = async (config: Partial<Parameters<typeof openSpool>[0]['config']> = {}, at = dir) => {
  const usual = { max_bytes: 10_000_000, min_free_bytes: 0, segment_bytes: 1_000_000, damaged_retention: 86_400_000 };
  const spool = await openSpool({ dir: at, config: { ...usual, ...config }, lockWaitMs: 0, log });
  onTestFinished(spool.close);
  return spool;
};
/** The folder as a kill leaves it, copied: nothing of it was closed. */
const crash = () => cp(dir, `${dir}-crashed`, { recursive: true }).then(() => `${dir}-crashed`);
const segments = async () => (await readdir(dir)).filter((name) => name.endsWith('.spool')).sort();
const ids = (deliveries: readonly Delivery[]) => deliveries.map((one) => one.deliveryId);

test('hands back what it took, whole, in order and once, over many files', async () => {
  const spool = await open({ segment_bytes: 5_000 });
  const deliveries = Array.from({ length: 60 }, (_, index) => ({
    ...makeDelivery(`d-${index}`, 500),
    ...(index % 2 === 0 ? { privacyVersion: 'c0ffee' } : {}),
  }));
  for (let at = 0; at < 60; at += 3) await spool.append(deliveries.slice(at, at + 3));
  expect(spool.status()).toMatchObject({ records: 60, full: false, oldest: deliveries[0]?.receivedAt });
  expect((await segments()).length).toBeGreaterThan(3);
  expect(await drain(spool)).toEqual(deliveries);
  expect(spool.status()).toMatchObject({ records: 0, bytes: 0, oldest: undefined });
  expect([await segments(), await drain(spool)]).toEqual([[], []]);
});

test('after a crash, it has everything that was answered, wherever the last write was torn', async () => {
  const spool = await open();
  await spool.append([makeDelivery('a', 20), makeDelivery('b', 20)]);
  const [name = ''] = await segments();
  const answered = (await stat(join(dir, name))).size;
  await spool.append([makeDelivery('c', 20)]);
  const { size } = await stat(join(dir, name));
  const whole = await readFile(join(dir, name));
  for (let cut = answered; cut <= size; cut += cut === answered || cut > size - 4 ? 1 : 17) {
    for (const tail of ['cut', 'zeros'] as const) {
      await rm(dir, { recursive: true });
      await (await open()).close();
      await writeFile(join(dir, name), whole);
      await truncate(join(dir, name), cut);
      if (tail === 'zeros') await truncate(join(dir, name), size);
      const again = await open();
      expect(again.status().records).toBe(cut === size ? 3 : 2);
      await again.append([makeDelivery('d')]);
      expect(ids(await drain(again))).toEqual(cut === size ? ['a', 'b', 'c', 'd'] : ['a', 'b', 'd']);
      await again.close();
    }
  }
});

test.each([
  ['after a crash', 'a', ['b', 'c']],
  ['after a crash', 'b', ['a', 'c']],
  ['after a crash', 'c', ['a', 'b']],
  ['while it runs', 'b', ['a', 'c']],
  ['while it runs', 'c', ['a', 'b']],
])('%s, it keeps the records beside the damaged %s, and the damaged file', async (when, damaged, others) => {
  const spool = await open();
  for (const id of ['a', 'b', 'c']) await spool.append([makeDelivery(id, 100)]);
  if (when === 'after a crash') await spool.close();
  const [name = ''] = await segments();
  const bytes = await readFile(join(dir, name));
  bytes[bytes.indexOf(`"unique_id":"${damaged}"`) + 3] = 0;
  await writeFile(join(dir, name), bytes);
  const again = when === 'after a crash' ? await open() : spool;
  expect(ids(await drain(again))).toEqual(others);
  expect(logged).toContain('A spool file is damaged; its other records are kept.');
  expect((await readdir(dir)).filter((one) => one.endsWith('.spool.damaged'))).toHaveLength(1);
  expect(again.status()).toMatchObject({ records: 0, bytes: bytes.length });
});

test('after a crash, it does not hand over again a file that was drained, nor forget one half drained', async () => {
  const spool = await open({ segment_bytes: 3_000 });
  for (let n = 0; n < 10; n += 1) await spool.append([makeDelivery(String(n), 1_000)]);
  const taken: Delivery[] = [];
  while (taken.length < 4) {
    taken.push(...(await spool.read(3)));
    await spool.advance();
  }
  const again = await open({}, await crash());
  expect(ids([...taken, ...(await drain(again))])).toEqual(Array.from({ length: 10 }, (_, n) => String(n)));
});

test('refuses before the disk is full, and beyond its size; takes again, and loses nothing', async () => {
  const before = await open({ min_free_bytes: Number.MAX_SAFE_INTEGER }, `${dir}-before`);
  await expect(before.append([makeDelivery('a')])).rejects.toMatchObject({ code: 'SPOOL_FULL' });
  const spool = await open({ max_bytes: 5_000 });
  const taken: string[] = [];
  for (let n = 0; n < 10; n += 1)
    await spool.append([makeDelivery(String(n), 800)]).then(
      () => taken.push(String(n)),
      (error: unknown) => expect(error).toMatchObject({ code: 'SPOOL_FULL', kind: 'transient' }),
    );
  expect(taken).toEqual(['0', '1', '2', '3']);
  expect(spool.status().full).toBe(true);
  expect(ids(await drain(spool))).toEqual(taken);
  await spool.append([makeDelivery('more')]);
  expect(spool.status().full).toBe(false);
});

test('refuses to write once another receiver has the folder', async () => {
  const spool = await open();
  await spool.append([makeDelivery('a')]);
  // As after somebody cleared up, or where the file system holds no locks.
  await rm(join(dir, 'lock'));
  const other = await open();
  await expect(spool.append([makeDelivery('lost')])).rejects.toMatchObject({ code: 'SPOOL_FAILED' });
  expect(ids(await drain(other))).toEqual(['a']);
  await other.close();
  await spool.append([makeDelivery('again')]);
  expect(ids(await drain(spool))).toEqual(['again']);
});

test('refuses to count what was written to a file that was taken over, or is gone', async () => {
  const spool = await open();
  for (const removed of [rm, (path: string) => rename(path, `${path}.elsewhere`)]) {
    await spool.append([makeDelivery('before')]);
    const [name = ''] = await segments();
    await removed(join(dir, name));
    await expect(spool.append([makeDelivery('lost')])).rejects.toMatchObject({ kind: 'transient' });
    await spool.append([makeDelivery('kept')]);
    expect(ids(await drain(spool))).toEqual(['kept']);
    expect(logged).toContain('A spool file is missing, so its deliveries are lost.');
  }
});

test('refuses nothing for good when its folder is removed', async () => {
  const spool = await open();
  await spool.append([makeDelivery('a')]);
  await rm(dir, { recursive: true });
  await spool.append([makeDelivery('b')]);
  expect(ids(await drain(spool))).toEqual(['b']);
});

test.each(['', 'below/lock'])('refuses a folder that cannot be opened: %j is in its way', async (path) => {
  await (path === '' ? writeFile(dir, 'a file') : mkdir(join(dir, path), { recursive: true }));
  await expect(open({}, join(dir, 'below'))).rejects.toMatchObject({ code: 'SPOOL_UNUSABLE' });
});

test('parks a delivery under its reason, and tries it again after everything else of the next start', async () => {
  const spool = await open();
  await spool.append([makeDelivery('poison'), makeDelivery('good')]);
  await spool.read(1);
  await spool.park('23514');
  expect(spool.status()).toMatchObject({ records: 1, parked: 1 });
  const [parked = ''] = (await readdir(dir)).filter((name) => name.endsWith('.parked'));
  expect(await readFile(join(dir, parked), 'latin1')).toContain('"23514"]');
  const again = await open({}, await crash());
  expect(again.status()).toMatchObject({ records: 3, parked: 0 });
  expect(ids(await drain(again))).toEqual(['poison', 'good', 'poison']);
  expect(ids(await drain(spool))).toEqual(['good']);
});

test('keeps others out of a folder that was there before, and deletes damaged files in time', async () => {
  await mkdir(dir, { recursive: true });
  await chmod(dir, 0o755);
  const old = new Date(Date.now() - 2 * 86_400_000);
  for (const name of ['000000000001.spool.damaged', '000000000002.spool.damaged'])
    await writeFile(join(dir, name), 'x');
  await utimes(join(dir, '000000000001.spool.damaged'), old, old);
  const spool = await open();
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
  expect((await readdir(dir)).filter((name) => name.endsWith('.damaged'))).toEqual(['000000000002.spool.damaged']);
  expect(spool.status().bytes).toBe(1);
  await spool.append([makeDelivery('a')]);
  expect(await segments()).toEqual(['000000000003.spool']);
});
