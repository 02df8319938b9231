import { randomBytes } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Observation, RejectedRecord } from '../../schemas/observation.ts';
import { emptyRow, fold, prepareObservation } from '../../src/calls/fold.ts';
import { listQuarantine, quarantineRecords, settleQuarantine } from '../../src/store/delivery/quarantine.ts';
import { foldIntoLedger, readHeads } from '../../src/store/ledger/ledger.ts';
import { readExpected } from '../../src/store/ledger/read-ledger.ts';
import { listTextSubjects, purgeNamedTexts } from '../../src/store/persons/texts.ts';
import { aroundStatements, observationOf, untilBlocked, usePipeline } from '../support/pipeline.ts';

const pipeline = usePipeline({ documents: true });

const rules = { processedField: 'qualified', tombstoned: new Set<string>() };
const written = () => pipeline.query('SELECT xmin FROM ledger_documents');
const foldAll = (observations: readonly Observation[], of = pipeline) =>
  of.store.transaction((tx) => foldIntoLedger(tx, observations.map(prepareObservation), rules));

test('a row comes back as it was folded, to the microsecond', async () => {
  const at = 1_701_703_109_123_456;
  const times = { timestamp: '2023-12-04T15:18:29.123456+02:00', qualified: '2023-12-05T00:00:00Z', n: 1 };
  const observations = [
    observationOf('x', at, times, 'webhook'),
    observationOf('x', at + 1, { n: 2, constructor: 'field', 'a\0': null }, 'poll'),
    observationOf('x', at - 1, { old: true }, 'import'),
  ];
  const expected = observations.map(prepareObservation).reduce(fold, { ...emptyRow, callId: 'x' });
  const { changed } = await foldAll(observations);
  expect(changed).toEqual([expected]);
  expect(await pipeline.rowOf('x')).toEqual({ ...expected, document: expected.document?.toJSON() });
  expect(await pipeline.query('SELECT call_timestamp, processed_at FROM ledger')).toEqual([
    { call_timestamp: new Date('2023-12-04T13:18:29.123Z'), processed_at: new Date('2023-12-05T00:00:00Z') },
  ]);
});

test('a row of which nothing changed is not written again: document and revision stay', async () => {
  const one = observationOf('x', 1, { n: 1 });
  await foldAll([one]);
  const before = await written();
  const again = await foldAll([one, observationOf('x', 5, { n: 1 }), observationOf('x', 3, { n: 2 })]);
  expect(again).toMatchObject({ changed: [], unchanged: 1 });
  expect(await written()).toEqual(before);
  const head = (await readHeads(pipeline.store, ['x'])).get('x');
  expect(head).toMatchObject({ revision: 1, lastSeenAt: 5, document: null });
});

test('a record that says all again is noted beside the versions of fields, and counts as each of them', async () => {
  const stored = () =>
    pipeline.query(`SELECT (fields->'n'->>0)::int AS n, (fields->'m'->>0)::int AS m, extract(epoch FROM confirmed_at)::int AS at,
      confirmed_rank = (fields->'n'->>1)::int AS "isOfSource" FROM ledger`);
  await foldAll([observationOf('x', 1, { n: 1, m: 1 })]);
  await foldAll([observationOf('x', 5_000_000, { n: 1, m: 1 })]);
  expect(await stored()).toEqual([{ n: 1, m: 1, at: 5, isOfSource: true }]);
  // Older than what was said again.
  await foldAll([observationOf('x', 4_000_000, { n: 2 }), observationOf('x', 3_000_000, { m: 2 }, 'webhook')]);
  expect((await pipeline.rowOf('x'))?.document).toMatchObject({ n: 1, m: 1 });
  await foldAll([observationOf('x', 6_000_000, { n: 2 })]);
  expect(await stored()).toEqual([{ n: 6_000_000, m: 5_000_000, at: null, isOfSource: null }]);
  expect((await pipeline.rowOf('x'))?.document).toMatchObject({ n: 2, m: 1 });
});

test('what a worker of an earlier build folds behind such a record is newer than the record', async () => {
  await foldAll([observationOf('x', 1, { n: 1, m: 1 })]);
  await foldAll([observationOf('x', 5_000_000, { n: 1, m: 1 })]);
  // That build knows neither column.
  const { versions } = fold({ ...emptyRow, callId: 'x' }, prepareObservation(observationOf('x', 9_000_000, { n: 2 })));
  await pipeline.query(`UPDATE ledger SET revision = revision + 1, fields = fields || '${JSON.stringify(versions)}'`);
  await pipeline.query('UPDATE ledger_documents SET revision = revision + 1');
  await foldAll([observationOf('x', 7_000_000, { n: 3, m: 3 })]);
  expect(await pipeline.rowOf('x')).toMatchObject({ document: { n: 1, m: 3 }, versions: { n: versions.n } });
});

test('calls that nobody knew, met by many at once in any order, do not deadlock', async () => {
  for (let round = 0; round < 3; round += 1) {
    const calls = Array.from({ length: 1_500 }, (_, n) => `new-${round}-${n}`);
    const orders = [calls, [...calls].reverse(), [...calls].sort(), [...calls].sort().reverse()];
    const folded = await Promise.all(orders.map((order) => foldAll(order.map((id) => observationOf(id, 1)))));
    expect(folded.reduce((sum, one) => sum + one.changed.length, 0)).toBe(1_500);
  }
});

test('a row of an unknown call is written once; one that another fold brings meanwhile is kept', async () => {
  const updates = "SELECT n_tup_upd::int FROM pg_stat_xact_user_tables WHERE relname = 'ledger'";
  await pipeline.store.transaction(async (tx) => {
    // The session may still count those of earlier transactions.
    const before = await tx.value(updates);
    const observations = ['a', 'b'].map((id) => prepareObservation(observationOf(id, 1, { n: 1 })));
    expect((await foldIntoLedger(tx, observations, rules)).changed).toHaveLength(2);
    expect(await tx.value(updates)).toBe(before);
  });
  let isFirst = true;
  const store = aroundStatements(pipeline.store, async (sql, run) => {
    const comesSecond = isFirst && sql.startsWith('SAVEPOINT');
    isFirst &&= !comesSecond;
    if (comesSecond) await foldAll([observationOf('x', 3, { second: true })]);
    return await run();
  });
  await foldAll([observationOf('w', 1), observationOf('x', 2, { first: true })], { ...pipeline, store });
  expect(await pipeline.rowOf('w')).toMatchObject({ revision: 1 });
  expect(await pipeline.rowOf('x')).toMatchObject({ revision: 2, document: { first: true, second: true } });
});

test('of two folds of one call at once, neither undoes what the other brought', async () => {
  await foldAll([observationOf('x', 1, { n: 1 })]);
  let second: Promise<unknown> | undefined;
  // The first has read the row, and has not written it yet.
  const store = aroundStatements(pipeline.store, async (sql, run) => {
    if (sql.startsWith('UPDATE ledger l')) {
      second = foldAll([observationOf('x', 3, { second: true })]);
      await untilBlocked(pipeline.store, second);
    }
    return await run();
  });
  await foldAll([observationOf('x', 2, { first: true })], { ...pipeline, store });
  await second;
  const document = { n: 1, first: true, second: true };
  expect(await pipeline.rowOf('x')).toMatchObject({ revision: 3, document });
});

test('documents of any length read as written, also those of earlier builds: deflated, or without a digest', async () => {
  const long = randomBytes(700_000).toString('hex');
  const folded = { short: { n: 1 }, long: { long }, old: { n: 1 } };
  await foldAll(Object.entries(folded).map(([id, fields]) => observationOf(id, 1, fields)));
  const deflated = deflateRawSync('{"n":2}');
  await pipeline.store.query`UPDATE ledger_documents SET body = ${deflated}, digest = NULL WHERE call_id = 'old'`;
  await pipeline.store.query`UPDATE ledger_documents SET digest = NULL WHERE call_id = 'short'`;
  const documents = await Promise.all(Object.keys(folded).map(async (id) => (await pipeline.rowOf(id))?.document));
  expect(documents).toMatchObject([{ n: 1 }, { long }, { n: 2 }]);
  // No block of deflate is of the kind that the byte before Brotli names.
  const first = await pipeline.store.value`SELECT get_byte(body, 0) FROM ledger_documents WHERE call_id = 'long'`;
  expect(() => inflateRawSync(Buffer.from([Number(first)]))).toThrow('invalid block type');
});

test('long documents to compare are in memory a few at a time, each once', async () => {
  const ids = Array.from({ length: 8 }, (_, n) => `c${n}`);
  await foldAll(ids.map((id) => observationOf(id, 1, { text: randomBytes(2_000_000).toString('hex') })));
  const batches: string[][] = [];
  for await (const batch of readExpected(pipeline.store, 'main', ids)) batches.push(batch.map(({ row }) => row.callId));
  expect(Math.max(...batches.map(({ length }) => length))).toBeLessThan(5);
  expect(batches.flat().sort()).toEqual(ids);
});

const receivedAt = new Date(1_700_000_000_000);
const usual = { source: 'poll', origin: 'list:timestamp:a', reason: 'bad', receivedAt } as const;
const refused = (body: string | Buffer, more: Partial<RejectedRecord> = {}): RejectedRecord => ({
  ...{ ...usual, body: Buffer.from(body as string), ...more },
});
const put = (...records: RejectedRecord[]) => quarantineRecords(pipeline.store, records);
const states = async () =>
  (await listQuarantine(pipeline.store)).map((entry) => `${entry.origin} ${entry.state} ${entry.reason}`);

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
  const held: number[] = [];
  const { store } = pipeline;
  const db = aroundStatements(store, async (_, run) => {
    const rows = await run();
    const bytes = rows.flatMap((row) => Object.values(row).filter((cell) => Buffer.isBuffer(cell)));
    held.push(Buffer.concat(bytes).length);
    return rows;
  });
  await listTextSubjects(db);
  const purged = await db.transaction((tx) => purgeNamedTexts(tx, store.index.hashesOf(['named-1'])));
  expect(purged).toEqual({ quarantine: 3, frames: 0 });
  // By itself: together they are longer than 16 MiB.
  expect(Math.max(...held)).toBe(longest);
});
