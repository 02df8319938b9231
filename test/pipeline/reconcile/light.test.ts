import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { compareListing } from '../../../src/pipeline/read/compare-listing.ts';
import { readChanged } from '../../../src/pipeline/read/read-changed.ts';
import { column } from '../../support/rows.ts';
import { type Installation, openInstallation } from './installation.ts';

const options = { signal: new AbortController().signal, alive: () => undefined };
let here: Installation;
beforeAll(async () => {
  const to = new Date(Date.now() - 20 * 86_400_000).toISOString();
  const from = new Date(Date.parse(to) - 86_400_000).toISOString();
  here = await openInstallation({
    simulator: { calls: { count: 1_000, utterances: 12, otherShare: 0, density: 'even', from, to } },
  });
  await here.backfill();
});
afterAll(() => here?.close());

const read = (level: Parameters<typeof compareListing>[1]['level'] = 'fields') =>
  readChanged(here.deps, { axis: 'timestamp', range: here.range, level, confirm: 'later', origin: 'test' }, options);
const bodies = () => column(here.store, `SELECT call_id || ':' || revision FROM ledger ORDER BY call_id`);
const isTrue = async (callId: string): Promise<boolean> => {
  const truth = await here.simulator.truthOf(callId);
  const [row] = await here.warehouse.query(
    `SELECT (SELECT string_agg(value, ' ' ORDER BY key) FROM metadata m WHERE m.call_id = c.call_id) AS metadata,
            (SELECT count(*)::int FROM tags t WHERE t.call_id = c.call_id) AS tags FROM calls c WHERE call_id = '${callId}'`,
  );
  const document = truth?.document ?? {};
  const { metadata, tags } = document as { metadata: Record<string, string>; tags: unknown[] };
  const values = Object.entries(metadata)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, value]) => value);
  return row?.metadata === values.join(' ') && row?.tags === tags.length;
};

describe('light reading', () => {
  test('fetches nothing where nothing changed, for a small share of the bytes', async () => {
    const before = await bodies();
    const { counts } = here.deps.source.list;
    const start = counts.bodyBytes;
    const light = await read();
    const lightBytes = counts.bodyBytes - start;
    const full = await read('records');
    const fullBytes = counts.bodyBytes - start - lightBytes;
    expect(light).toMatchObject({ listed: 1_000, fetched: 0, unfetched: [] });
    expect(full).toMatchObject({ listed: 1_000, fetched: 0 });
    expect(await bodies()).toEqual(before);
    // Five full pages, and one that is empty.
    expect(light.requests).toBe(6);
    console.log(
      `1,000 unchanged calls: light ${lightBytes} bytes, full ${fullBytes} bytes in ${full.requests} requests`,
    );
    expect(lightBytes * 4).toBeLessThan(fullBytes);
  });

  test('fetches whole only what is new or changed: a few by id', async () => {
    const edited = await here.simulator.edit({ random: 4, seed: 3, kinds: ['metadata', 'tags'], requalify: false });
    const added = await here.simulator.insert({ count: 1, timestamp: here.simulator.range.from, status: 'qualified' });
    const light = await read();
    expect([...light.changed].sort()).toEqual(edited.map((call) => call.callId).sort());
    expect([...light.fresh]).toEqual(added.map((call) => call.callId));
    expect(light).toMatchObject({ fetched: 5, unfetched: [], listed: 1_001 });
    expect(light.requests).toBeLessThanOrEqual(6 + 5);
    for (const { callId } of [...edited, ...added]) expect(await isTrue(callId)).toBe(true);
    expect(await read()).toMatchObject({ fetched: 0 });
  });

  test('and many by the windows that hold them', async () => {
    const edited = await here.simulator.edit({ random: 400, seed: 5, kinds: ['metadata'], requalify: false });
    const light = await read();
    expect(light.changed.size).toBe(400);
    expect(light).toMatchObject({ fetched: 400, unfetched: [] });
    console.log(`400 of 1,001 calls changed: ${light.requests} requests`);
    expect(light.requests).toBeLessThan(6 + 60);
    for (const { callId } of edited.slice(0, 20)) expect(await isTrue(callId)).toBe(true);
    expect(await read()).toMatchObject({ fetched: 0 });
  });

  test('does not take another order of keys for a change', async () => {
    await here.query(
      `UPDATE ledger SET fields = jsonb_set(fields, '{metadata,2}', '"another hash"') WHERE call_id = (SELECT min(call_id) FROM ledger)`,
    );
    const before = await bodies();
    expect(await read()).toMatchObject({ fetched: 0 });
    expect(await bodies()).toEqual(before);
    expect(await here.query(`SELECT 1 FROM ledger WHERE fields->'metadata'->>2 = 'another hash'`)).toEqual([]);
  });

  test('compares ids alone when asked to', async () => {
    await here.simulator.edit({ random: 3, seed: 9, kinds: ['metadata'], requalify: false });
    expect(await read('ids')).toMatchObject({ fetched: 0 });
    expect(await read()).toMatchObject({ fetched: 3 });
  });
});
