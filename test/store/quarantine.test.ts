import { expect, test } from 'vitest';
import type { RejectedRecord } from '../../schemas/observation.ts';
import {
  listQuarantine,
  quarantineRecords,
  readQuarantine,
  settleQuarantine,
} from '../../src/store/delivery/quarantine.ts';
import { listTextSubjects, purgeNamedTexts } from '../../src/store/persons/texts.ts';
import { aroundStatements, usePipeline } from '../support/pipeline.ts';

const pipeline = usePipeline();

const usual = {
  source: 'poll',
  origin: 'list:timestamp:a',
  reason: 'bad',
  receivedAt: new Date(1_700_000_000_000),
} as const;
const refused = (body: string | Buffer, more: Partial<RejectedRecord> = {}): RejectedRecord => ({
  ...{ ...usual, body: Buffer.from(body as string), ...more },
});
const put = (...records: RejectedRecord[]) => quarantineRecords(pipeline.store, records);
const states = async () =>
  (await listQuarantine(pipeline.store)).map((entry) => `${entry.origin} ${entry.state} ${entry.reason}`);

test('bytes come back as they were', async () => {
  const body = Buffer.from([0, 0xff, 0x7b, 0x5c]);
  await put(refused(body), refused(''));
  const entries = await listQuarantine(pipeline.store);
  const entry = entries.find(({ bytes }) => bytes === 4);
  expect(entry).toEqual({ ...usual, id: entry?.id, bytes: 4, state: 'open' });
  expect((await readQuarantine(pipeline.store, entry?.id ?? 0))?.body).toEqual(body);
  expect(entries.map(({ bytes }) => bytes).sort()).toEqual([0, 4]);
  expect(await readQuarantine(pipeline.store, -1)).toBeUndefined();
});

test('the same record twice in a page, and again in every window, is one entry', async () => {
  await put(refused('null'), refused('null'), refused('null', { origin: 'list:timestamp:b' }));
  await put(refused('null', { origin: 'list:timestamp:c', reason: 'worse' }));
  expect(await states()).toEqual(['list:timestamp:a open worse']);
  await put(refused('null', { source: 'webhook', origin: 'inbox:1' }));
  expect(await states()).toHaveLength(2);
});

test('what was dropped stays dropped; what was replayed and is refused again is open again', async () => {
  await put(refused('a'), refused('b'));
  const [b, a] = await listQuarantine(pipeline.store);
  expect(await settleQuarantine(pipeline.store, [a?.id ?? 0], 'dropped')).toBe(1);
  expect(await settleQuarantine(pipeline.store, [b?.id ?? 0, a?.id ?? 0], 'replayed')).toBe(1);
  await put(refused('a'), refused('b'));
  expect((await listQuarantine(pipeline.store)).map((entry) => entry.state)).toEqual(['open', 'dropped']);
});

test('a search holds few bytes at once, however long the texts are, and misses none behind them', async () => {
  const longest = 17_000_000;
  const [first, ...others] = [5_000_000, longest, 5_000_001].map((bytes) =>
    refused(Buffer.alloc(bytes, '"named-1"'.padEnd(1_000))),
  );
  await put(first as RejectedRecord);
  await put(...Array.from({ length: 102 }, (_, n) => refused(`short ${n}`)));
  for (const other of others) await put(other);
  let most = 0;
  const { store } = pipeline;
  const db = aroundStatements(store, async (_, run) => {
    const rows = await run();
    const sizes = rows.flatMap((row) => Object.values(row).map((cell) => (Buffer.isBuffer(cell) ? cell.length : 0)));
    most = Math.max(
      most,
      sizes.reduce((a, b) => a + b, 0),
    );
    return rows;
  });
  await listTextSubjects(db);
  const purged = await db.transaction((tx) => purgeNamedTexts(tx, store.index.hashesOf(['named-1'])));
  expect(purged).toEqual({ quarantine: 3, frames: 0 });
  // By itself: together they are longer than 16 MiB.
  expect(most).toBe(longest);
});
