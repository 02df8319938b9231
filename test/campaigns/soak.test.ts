/**
 * Two hours of sync, webhooks, backfills and reconcile behind toxiproxy, which slows, resets and cuts the connections
 * to store, Temporal and service. Afterwards nothing is lost or stale. It writes memory, descriptors and bytes of tables
 * a call to soak.json. After 30 minutes, their least values grow by at most 10 % an hour. About 125 minutes;
 * CALLSYNC_MINUTES=70 for less, CALLSYNC_SEED for other moments.
 */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { flatShare, slopesOf, soak } from '../e2e/soak-cases.ts';

const minutes = Number(process.env.CALLSYNC_MINUTES ?? 120);
test('after hours of faults nothing is wrong, and nothing grows', { timeout: (minutes + 30) * 60_000 }, async () => {
  const seed = Number(process.env.CALLSYNC_SEED ?? 1);
  const { samples, ...figures } = await soak(minutes, { seed, fault: 30, pause: 30, sample: 15, sync: 5 });
  const slopes = slopesOf(samples);
  await writeFile('soak.json', JSON.stringify(samples));
  process.stdout.write(`${JSON.stringify({ ...figures, samples: samples.length, slopes }, null, 2)}\nsoak.json\n`);
  expect(figures).toMatchObject({ ended: [], truth: { lost: 0, stale: 0, mismatched: 0, duplicated: 0 } });
  expect(Object.entries(slopes).filter(([, slope]) => slope > flatShare)).toEqual([]);
});
