/** Legal holds: neither erasures nor ages take what they name, also of later calls and after a restore. */
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallDocument } from '../../../schemas/call.ts';
import type { RejectedRecord } from '../../../schemas/observation.ts';
import { createAges } from '../../../src/calls/age.ts';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { eraseRequest, findCalls } from '../../../src/pipeline/erase/erase-request.ts';
import { purgeMeantTexts } from '../../../src/pipeline/erase/erase-texts.ts';
import { addHold, type HoldReceipt, removeHold } from '../../../src/pipeline/erase/hold-calls.ts';
import type { ErasureRequest } from '../../../src/pipeline/erase/match-calls.ts';
import { replayQuarantine } from '../../../src/pipeline/import/replay-quarantine.ts';
import { type AgedCounts, applyAges } from '../../../src/pipeline/load/apply-ages.ts';
import { createLedgerCheck } from '../../../src/pipeline/load/check-ledger.ts';
import { ingest, loadFolded } from '../../../src/pipeline/load/ingest.ts';
import { mergeInbox } from '../../../src/pipeline/load/merge-inbox.ts';
import type { Queryable } from '../../../src/postgres/database.ts';
import { compareValues } from '../../../src/privacy/compare-values.ts';
import { subjectOf } from '../../../src/privacy/subjects.ts';
import { quarantineRecords } from '../../../src/store/delivery/quarantine.ts';
import { sealQuarantine } from '../../../src/store/delivery/resanitize.ts';
import { eraseCalls, eraseKnown, expireCalls } from '../../../src/store/erasure/erase.ts';
import { notePersons } from '../../../src/store/ledger/erased-keys.ts';
import { joinDeletions, withoutDeletions } from '../../../src/store/ledger/hold-lock.ts';
import { addHoldKeys, listHolds } from '../../../src/store/ledger/holds.ts';
import { readRows } from '../../../src/store/ledger/ledger.ts';
import { createLease } from '../../../src/store/loads/lease.ts';
import { listEvents } from '../../../src/store/status/events.ts';
import { summarizeStore } from '../../../src/store/status/summary.ts';
import type { Store } from '../../../src/store/store.ts';
import { createProofKeys } from '../../../src/store/windows/proof-keys.ts';
import { verifyReceipts } from '../../../src/store/windows/receipts.ts';
import { backUp } from '../../support/backup.ts';
import { deliver, observationOf, openPipeline, type Pipeline } from '../../support/pipeline.ts';

const day = 86_400_000;
const proof = {
  keys: createProofKeys(Buffer.from('a key of the proof chain')),
  headsFile: join(tmpdir(), `callsync-heads-${randomUUID()}.json`),
};
const means = {
  comparison: compareValues(['FR'], () => []),
  personOf: (kind: 'phone' | 'metadata', value: string) => subjectOf(kind, value, ['FR']),
  proof,
};
const clerk = { reason: 'case 17', actor: 'clerk', proof };

let pipeline: Pipeline;
beforeAll(async () => {
  pipeline = await openPipeline({ documents: true });
});
afterAll(async () => {
  rmSync(proof.headsFile, { force: true });
  await pipeline.close();
});

const hold = (request: ErasureRequest, store = pipeline.store) => addHold(store, request, { ...means, ...clerk });
const removeAllHolds = async (): Promise<void> => {
  for (const { id } of await listHolds(pipeline.store)) await removeHold(pipeline.store, id, clerk);
};
const merge = async (deps: IngestDeps = pipeline.deps): Promise<void> => {
  for (let more = true; more; ) ({ more } = await mergeInbox(deps));
};
interface EraseMore {
  readonly exceptHeld?: boolean;
  readonly keepOut?: boolean;
  readonly store?: Store;
  readonly onMerge?: () => void;
}
const erase = (request: ErasureRequest, { store = pipeline.store, onMerge, ...more }: EraseMore = {}) =>
  eraseRequest({ store, targets: [pipeline.target] }, request, {
    ...{ dryRun: false, keepOut: false, exceptHeld: false, ...more },
    ...means,
    merge: async () => {
      await merge();
      onMerge?.();
    },
    load: async () => void (await pipeline.drain()),
  });
const send = async (bodies: readonly object[], deps?: IngestDeps): Promise<void> => {
  await deliver(
    pipeline.store,
    bodies.map((body) => ({ body: JSON.stringify(body), deliveryId: randomUUID() })),
  );
  await merge(deps);
};
/** Of these calls the ones whose documents are kept. */
const listKept = async (ids: readonly string[]): Promise<string[]> =>
  [...(await readRows(pipeline.store, ids)).values()]
    .filter(({ tombstone }) => !tombstone)
    .map(({ callId }) => callId)
    .sort();

test('an erasure refuses what is held, later calls too, until the hold is taken off; a restored store has it again', async () => {
  const { store } = pipeline;
  const timestamp = '2025-03-01T10:00:00Z';
  const theirs = { timestamp, in: { data: '0611223344' } };
  await send([
    { unique_id: 'held-1', ...theirs },
    { unique_id: 'held-2', timestamp, note: 'rappeler le 06 11 22 33 44' },
    { unique_id: 'free-1', timestamp },
    { unique_id: 'free-2', timestamp },
  ]);
  const before = await backUp(store.pool, 'callsync');
  const check = createLedgerCheck({
    store,
    warehouses: [pipeline.warehouse],
    lease: createLease(store),
    say: () => undefined,
  });

  const phone = { kind: 'phone', values: ['+33 6 11 22 33 44'] } as const;
  const put = await hold(phone);
  expect(put).toMatchObject({ calls: 2, gone: 0 });
  await send([{ unique_id: 'held-3', ...theirs }]);
  const all = ['held-1', 'held-2', 'held-3', 'free-1', 'free-2'];
  await expect(erase(phone)).rejects.toMatchObject({
    code: 'ERASURE_HELD',
    message: expect.stringMatching(/^3 of the 3 /),
  });
  await expect(erase({ kind: 'call', values: ['held-3', 'free-1'] })).rejects.toMatchObject({ code: 'ERASURE_HELD' });
  expect((await store.erasures.log.read()).selectors).toEqual([]);
  expect(await listKept(all)).toHaveLength(5);

  // The others go on demand; a record that cannot be read, and names the person, is held as well.
  await deliver(store, [{ body: '{"phone": "06 11 22 33 44"' }]);
  const some = await erase({ kind: 'call', values: ['held-3', 'free-1'] }, { exceptHeld: true });
  expect(some).toMatchObject({ calls: 2, known: 2, erasedBefore: 0, erased: 1, held: 1 });
  const again = await erase({ kind: 'call', values: ['held-3', 'free-1', 'never-seen'] }, { exceptHeld: true });
  expect(again).toMatchObject({ calls: 3, known: 1, erasedBefore: 1, erased: 1, held: 1 });
  expect(await erase(phone, { exceptHeld: true, keepOut: true })).toMatchObject({ calls: 3, erased: 0, held: 3 });
  await send([{ unique_id: 'held-4', ...theirs }]);
  expect(await listKept([...all, 'held-4'])).toEqual(['free-2', 'held-1', 'held-2', 'held-3', 'held-4']);
  const { rows: quarantined } = await store.pool.query(`SELECT 1 FROM quarantine WHERE octet_length(body) > 0`);
  expect(quarantined).toHaveLength(1);

  const events = (await listEvents(store, 50)).filter(({ kind }) => kind === 'hold');
  expect(events).toMatchObject([{ what: `Hold ${put.hold.id} put on 2 calls, by phone`, actor: 'clerk' }]);
  expect((await summarizeStore(store)).holds).toBe(1);
  const told = [put, events, await listHolds(store), readFileSync(pipeline.erasureLog, 'utf8')];
  expect(JSON.stringify(told)).not.toMatch(/1.?1.?22.?33.?44|held-\d/);

  await before();
  expect(await listHolds(store)).toEqual([]);
  await check.run();
  expect(await listHolds(store)).toMatchObject([{ id: put.hold.id, reason: 'case 17', actor: 'clerk', calls: 2 }]);
  await send([{ unique_id: 'held-3', ...theirs }]);
  await expect(erase(phone)).rejects.toMatchObject({ message: expect.stringMatching(/^3 of the 3 /) });

  await expect(removeHold(store, 'nothing', clerk)).rejects.toMatchObject({ code: 'USAGE_HOLD' });
  expect(await removeHold(store, put.hold.id, clerk)).toMatchObject({ calls: 3, hold: { action: 'taken off' } });
  expect(await erase(phone)).toMatchObject({ erased: 3, held: 0 });
  await before();
  await check.run();
  expect(await listHolds(store)).toEqual([]);
  expect(await listKept(all)).toEqual(['free-2']);
  expect(await verifyReceipts(store, proof)).toMatchObject({ verdicts: 6, broken: [], cut: [] });
}, 60_000);

test('ages take nothing of what is held, however it comes, until the hold is taken off', async () => {
  await pipeline.clear();
  const now = Date.UTC(2025, 0, 1);
  const ages = createAges({ words: 10 * day, calls: 30 * day }, () => now);
  const deps: IngestDeps = { ...pipeline.deps, ages };
  const recordOf = (unique_id: string, age: number, client: number) => ({
    unique_id,
    timestamp: new Date(now - age * day).toISOString(),
    status: 'qualified',
    metadata: { ClientID: client },
    transcript_json: {
      callData: [{ from: 'in', content: 'bonjour', words: [{ value: 'bonjour', start: 0, length: 1, score: 1 }] }],
      callUniqueId: '',
      meta: { lang: 'fr' },
    },
  });
  const poll = async (
    records: readonly ReturnType<typeof recordOf>[],
    observedAt: number,
    by = deps,
  ): Promise<void> => {
    const observations = records.map(({ unique_id, ...fields }) => observationOf(unique_id, observedAt, fields));
    await loadFolded(by, await ingest(by, { observations, origin: 'test' }));
  };
  const ids = ['old-held', 'old-free', 'worn-held', 'worn-free', 'late-held', 'late-free'];
  const stored = [
    recordOf('old-held', 40, 1),
    recordOf('old-free', 40, 2),
    recordOf('worn-held', 20, 1),
    recordOf('worn-free', 20, 2),
  ];
  await poll(stored, 1_700_000_000_000_000, pipeline.deps);
  const put = await hold({ kind: 'metadata', key: 'ClientID', values: ['1'] });
  expect(put.calls).toBe(2);

  const worded = async (): Promise<string[]> => {
    await pipeline.drain();
    const rows = await pipeline.warehouse.query('SELECT DISTINCT call_id AS id FROM words ORDER BY 1');
    return rows.map(({ id }) => id as string);
  };
  expect(await applyAges(deps, ages, { dryRun: true })).toMatchObject({ calls: 1, words: 2 });
  expect(await applyAges(deps, ages, { dryRun: false })).toMatchObject({ calls: 1, words: 1 });
  expect(await applyAges(deps, ages, { dryRun: true })).toMatchObject({ calls: 0, words: 0 });
  // Read again and delivered, known or not: of what is held nothing is cut.
  await poll(stored, 1_740_000_000_000_000);
  await send([recordOf('late-held', 50, 1), recordOf('late-free', 50, 2)], deps);
  await applyAges(deps, ages, { dryRun: false });
  expect(await worded()).toEqual(['late-held', 'old-held', 'worn-held']);
  expect(await listKept(ids)).toEqual(['late-held', 'old-held', 'worn-free', 'worn-held']);
  const { rows: bodies } = await pipeline.store.pool.query('SELECT call_id FROM inbox WHERE body IS NOT NULL');
  expect(bodies).toEqual([{ call_id: 'late-held' }]);

  await removeHold(pipeline.store, put.hold.id, clerk);
  expect(await applyAges(deps, ages, { dryRun: false })).toMatchObject({ calls: 2, words: 1 });
  expect(await worded()).toEqual([]);
  expect(await listKept(ids)).toEqual(['worn-free', 'worn-held']);
}, 60_000);

test('a reason that holds a value is refused: it is stored and shown', async () => {
  const request = { kind: 'call', values: ['call-17'] } as const;
  await expect(addHold(pipeline.store, request, { ...means, ...clerk, reason: 'see call-17' })).rejects.toMatchObject({
    code: 'USAGE_HOLD',
  });
  expect(await listHolds(pipeline.store)).toEqual([]);
});

test('a delivery that is nested too deeply is refused by itself while something is held, and holds up no other', async () => {
  await hold({ kind: 'phone', values: ['06 99 88 77 66'] });
  const depth = 5_000;
  const deep = `{"unique_id":"deep-1","metadata":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`;
  const beside = JSON.stringify({ unique_id: 'beside-1', metadata: { ANI: '33699887766' } });
  await deliver(
    pipeline.store,
    [deep, beside].map((body) => ({ body, deliveryId: randomUUID() })),
  );
  await merge();
  expect(await listKept(['deep-1', 'beside-1'])).toEqual(['beside-1']);
  await expect(erase({ kind: 'call', values: ['beside-1'] })).rejects.toMatchObject({ code: 'ERASURE_HELD' });
});

/** The store, but that `before` ends before each transaction begins. */
const interrupted = (before: () => Promise<void>): Store => ({
  ...pipeline.store,
  transaction: async (work) => {
    await before();
    return await pipeline.store.transaction(work);
  },
});
/** The store, but that `after` ends after each erasure of calls is in the log. */
const logging = (after: () => Promise<void>): Store => {
  const { erasures } = pipeline.store;
  const append: typeof erasures.log.append = async (kind, keys) => {
    await erasures.log.append(kind, keys);
    if (kind === 'call') await after();
  };
  return { ...pipeline.store, erasures: { ...erasures, log: { ...erasures.log, append } } };
};
/** Whether a transaction waits for a lock that a hold or a deletion has. */
const isSomeoneWaiting = async (): Promise<boolean> => {
  const waiting = await pipeline.store.query(
    `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return waiting.length > 0;
};
const timestamp = '2025-03-01T10:00:00Z';

test('a hold that is put on when an erasure has looked, and not yet begun to take, keeps what it names', async () => {
  await pipeline.clear();
  const theirs = { timestamp, in: { data: '0622334455' } };
  await send([
    { unique_id: 'beside-1', ...theirs },
    { unique_id: 'beside-2', timestamp },
    { unique_id: 'beside-3', ...theirs },
  ]);
  await deliver(pipeline.store, [{ body: '{"phone": "06 22 33 44 55"' }]);
  await merge();
  const eraseBeside = async (request: ErasureRequest, held: ErasureRequest) => {
    let isLooking = false;
    let put: HoldReceipt | undefined;
    const store = interrupted(async () => {
      if (isLooking) put ??= await hold(held);
    });
    const receipt = await erase(request, {
      ...{ store, exceptHeld: true },
      onMerge: () => {
        isLooking = true;
      },
    });
    return { put, receipt };
  };
  const byCall = await eraseBeside(
    { kind: 'call', values: ['beside-1', 'beside-2'] },
    { kind: 'call', values: ['beside-1'] },
  );
  expect(byCall).toMatchObject({ put: { calls: 1, gone: 0 }, receipt: { calls: 2, erased: 1, held: 1 } });
  expect(await listKept(['beside-1', 'beside-2', 'beside-3'])).toEqual(['beside-1', 'beside-3']);
  // Calls, and a text that belongs to none.
  const phone: ErasureRequest = { kind: 'phone', values: ['+33622334455'] };
  // So that the look itself notes nothing.
  await findCalls(pipeline.store, phone, means.comparison);
  const byPhone = await eraseBeside(phone, phone);
  expect(byPhone).toMatchObject({ put: { calls: 2, gone: 0 }, receipt: { erased: 0, held: 2 } });
  expect(byPhone.receipt.purged?.quarantine).toBe(0);
  const { rows } = await pipeline.store.pool.query('SELECT 1 FROM quarantine WHERE octet_length(body) > 0');
  expect(rows).toHaveLength(1);
}, 60_000);

test('a hold that comes while an erasure takes its calls waits for it, and says what it found erased', async () => {
  await pipeline.clear();
  const theirs = { timestamp, in: { data: '0633445566' } };
  await send(['gone-1', 'gone-2'].map((unique_id) => ({ unique_id, ...theirs })));
  const first: ErasureRequest = { kind: 'call', values: ['gone-1'] };
  let putting: Promise<HoldReceipt> | undefined;
  let isPut = false;
  const beside = logging(async () => {
    putting ??= hold({ kind: 'call', values: ['gone-1', 'never-seen'] }).finally(() => {
      isPut = true;
    });
    while (!isPut && !(await isSomeoneWaiting()));
  });
  expect(await erase(first, { store: beside })).toMatchObject({ erased: 1, held: 0 });
  expect(await putting).toMatchObject({ calls: 1, gone: 1, persons: 0 });
  expect(await listKept(['gone-1', 'gone-2'])).toEqual(['gone-2']);

  // One that failed when the log had it is carried out by the next check of the ledger: nothing can be held of it.
  const second: ErasureRequest = { kind: 'call', values: ['gone-2'] };
  const failing = logging(() => Promise.reject(new Error('cut off')));
  await expect(erase(second, { store: failing })).rejects.toThrow('cut off');
  await expect(hold(second)).rejects.toMatchObject({
    code: 'USAGE_HOLD',
    message: expect.stringMatching(/erased before/),
  });

  // By its values nothing is left to be found.
  const phone: ErasureRequest = { kind: 'phone', values: ['0633445566'] };
  await removeAllHolds();
  await erase(phone);
  expect(await hold(phone)).toMatchObject({ calls: 0, gone: 0, persons: 1 });
}, 60_000);

test('what a hold may name stays while it searches, and is held then', async () => {
  await pipeline.clear();
  // Named in a text only: nothing but the search finds that the hold means it.
  await send([{ unique_id: 'sought-1', timestamp, note: 'rappeler le 06 44 55 66 77' }]);
  let erasing: ReturnType<typeof erase> | undefined;
  let isErased = false;
  const searching: Store = {
    ...pipeline.store,
    transaction: async (work) => {
      const done = await pipeline.store.transaction(work);
      erasing ??= erase({ kind: 'call', values: ['sought-1'] }, { exceptHeld: true }).finally(() => {
        isErased = true;
      });
      while (!isErased && !(await isSomeoneWaiting()));
      return done;
    },
  };
  expect(await hold({ kind: 'phone', values: ['0644556677'] }, searching)).toMatchObject({ calls: 1, gone: 0 });
  expect(await erasing).toMatchObject({ erased: 0, held: 1 });
  expect(await listKept(['sought-1'])).toEqual(['sought-1']);
  const { store } = pipeline;
  const deletion = (): Promise<unknown> => store.transaction((tx) => joinDeletions(tx, '20ms'));
  await expect(withoutDeletions(store, deletion)).rejects.toMatchObject({ code: 'HOLD_UNDER_WAY', kind: 'transient' });
  expect(await deletion()).toMatchObject({ held: true });
}, 60_000);

test('a hold that is put on when an age has looked keeps calls, words and bodies', async () => {
  await pipeline.clear();
  // Ages go on from where the test above left them.
  const now = Date.UTC(2025, 5, 1);
  const recordOf = (unique_id: string, age: number) => ({
    unique_id,
    timestamp: new Date(now - age * day).toISOString(),
    transcript_json: { callData: [{ from: 'in', content: 'oui', words: [{ value: 'oui', start: 0, length: 1 }] }] },
  });
  await send([recordOf('aged-1', 40), recordOf('worn-1', 20)]);
  const ageBeside = async (limits: Parameters<typeof createAges>[0], id: string): Promise<AgedCounts> => {
    let put: HoldReceipt | undefined;
    const store = interrupted(async () => {
      put ??= await hold({ kind: 'call', values: [id] });
    });
    const counts = await applyAges(
      { ...pipeline.deps, store },
      createAges(limits, () => now),
      { dryRun: false },
    );
    expect(put).toMatchObject({ calls: 1, gone: 0 });
    return counts;
  };
  const none = { words: 0, transcripts: 0, freeFields: 0, calls: 0, bodies: 0 };
  expect(await ageBeside({ calls: 30 * day }, 'aged-1')).toEqual(none);
  expect(await ageBeside({ words: 10 * day }, 'worn-1')).toEqual(none);
  // Behind the time that was looked at only the body is left to be taken.
  await send([recordOf('worn-2', 20)]);
  expect(await ageBeside({ words: 10 * day }, 'worn-2')).toEqual(none);
  const rows = await readRows(pipeline.store, ['aged-1', 'worn-1']);
  expect([...rows.values()].map(({ document }) => JSON.stringify(document).includes('"words":[{'))).toEqual([
    true,
    true,
  ]);
  const bodies = await pipeline.store.query('SELECT 1 FROM inbox WHERE body IS NOT NULL');
  expect(bodies).toHaveLength(3);
}, 60_000);

/** The store, whose transactions tell of each statement that has ended. */
const watchStatements = (onEnd: (sql: string, rows: readonly object[]) => Promise<void> | void): Store => ({
  ...pipeline.store,
  transaction: (work) =>
    pipeline.store.transaction((tx) =>
      work({
        ...tx,
        query: async <R extends object>(sql: string, values?: readonly unknown[]) => {
          const rows = await tx.query<R>(sql, values);
          await onEnd(sql, rows);
          return rows;
        },
      }),
    ),
});

/** Begins `act` after a statement of the fold of a call; the fold goes on when something waits for it, or `act` has ended. */
const actInFold = async <T>(
  isAfter: (sql: string) => boolean,
  [id, fields]: readonly [string, CallDocument],
  act: () => Promise<T>,
  rejected: readonly RejectedRecord[] = [],
): Promise<T> => {
  let acting: Promise<T> | undefined;
  let isDone = false;
  const isAwaited = async (): Promise<boolean> => {
    const waiting = await pipeline.store.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length > 0;
  };
  const actBeside = async (): Promise<void> => {
    acting ??= act().finally(() => {
      isDone = true;
    });
    while (!isDone && !(await isAwaited()));
  };
  const store = watchStatements(async (sql) => {
    if (isAfter(sql)) await actBeside();
  });
  await ingest(
    { ...pipeline.deps, store },
    { observations: [observationOf(id, Date.UTC(2026, 0, 1) * 1_000, fields)], rejected, origin: 'test' },
  );
  expect(acting).toBeDefined();
  return (await acting) as T;
};

test.each([
  ['has noted that it is held', 'INSERT INTO held_keys'],
  ['has its row', 'UPDATE ledger'],
])(
  'a call is neither erased nor aged beside a fold that %s',
  async (_, statement) => {
    const actBesideFold = <T>(id: string, fields: CallDocument, act: () => Promise<T>): Promise<T> =>
      actInFold((sql) => sql.startsWith(statement), [id, fields], act);
    await pipeline.clear();
    await hold({ kind: 'phone', values: ['0611223344'] });
    const now = Date.UTC(2025, 5, 1);
    const words = [{ value: 'oui', start: 0, length: 1 }];
    const record = {
      timestamp: new Date(now - 40 * day).toISOString(),
      transcript_json: { callData: [{ from: 'in', content: 'oui', words }] },
    };
    await send(['known-1', 'old-1', 'worn-1'].map((unique_id) => ({ unique_id, ...record })));
    const theirs = { ...record, in: { data: '0611223344' } };
    for (const id of ['unknown-1', 'known-1']) {
      const erasing = () => erase({ kind: 'call', values: [id] }, { exceptHeld: true });
      expect(await actBesideFold(id, theirs, erasing)).toMatchObject({ erased: 0, held: 1 });
    }
    const age = (limits: Parameters<typeof createAges>[0]) => () =>
      applyAges(
        pipeline.deps,
        createAges(limits, () => now),
        { dryRun: false },
      );
    await actBesideFold('worn-1', theirs, age({ words: 30 * day }));
    await actBesideFold('old-1', theirs, age({ calls: 30 * day }));
    const ids = ['known-1', 'old-1', 'unknown-1', 'worn-1'];
    expect(await listKept(ids)).toEqual(ids);
    const worn = (await readRows(pipeline.store, ['worn-1'])).get('worn-1');
    expect(JSON.stringify(worn?.document)).toContain(JSON.stringify(words));
  },
  60_000,
);

test('a fold and an erasure that meet in a call and in a text do not wait for each other', async () => {
  await pipeline.clear();
  await removeAllHolds();
  const text: RejectedRecord = {
    ...{ reason: 'bad', source: 'poll', origin: 'test', receivedAt: new Date() },
    body: Buffer.from('{"unique_id": "both-1", broken'),
  };
  await quarantineRecords(pipeline.store, [text]);
  const isAfter = (sql: string): boolean => sql.startsWith('INSERT INTO quarantine');
  const erasing = () => erase({ kind: 'call', values: ['both-1'] });
  const receipt = await actInFold(isAfter, ['both-1', { timestamp }], erasing, [text]);
  expect(receipt).toMatchObject({ erased: 1, purged: { quarantine: 1 }, found: { quarantine: 0 } });
  expect(await listKept(['both-1'])).toEqual([]);
}, 60_000);

test('an erasure by call waits for no fold of other calls, but for texts that one keeps', async () => {
  await pipeline.clear();
  await removeAllHolds();
  await send(['its-own-1', 'its-own-2'].map((unique_id) => ({ unique_id, timestamp })));
  const eraseBeside = (id: string, rejected: readonly RejectedRecord[]) =>
    actInFold(
      (sql) => sql.startsWith(rejected.length === 0 ? 'UPDATE ledger' : 'INSERT INTO quarantine'),
      [`beside-${id}`, { timestamp }],
      async () => {
        const receipt = await erase({ kind: 'call', values: [id] });
        return { receipt, folded: await listKept([`beside-${id}`]) };
      },
      rejected,
    );
  expect(await eraseBeside('its-own-1', [])).toMatchObject({ receipt: { erased: 1 }, folded: [] });
  const text: RejectedRecord = {
    ...{ reason: 'bad', source: 'poll', origin: 'test', receivedAt: new Date() },
    body: Buffer.from('{"unique_id": "its-own-2", broken'),
  };
  const { receipt } = await eraseBeside('its-own-2', [text]);
  expect(receipt).toMatchObject({ erased: 1, purged: { quarantine: 1 }, found: { quarantine: 0 } });
}, 60_000);

test('a deletion, which may search long texts, holds up neither folds nor who waits for folds', async () => {
  await pipeline.clear();
  await send([{ unique_id: 'slow-1', timestamp }]);
  const store = logging(async () => {
    await notePersons(pipeline.store, ['somebody'], { objects: false });
    await ingest(pipeline.deps, {
      observations: [observationOf('beside-1', Date.UTC(2026, 0, 1) * 1_000, { timestamp })],
      origin: 'test',
    });
  });
  expect(await erase({ kind: 'call', values: ['slow-1'] }, { store })).toMatchObject({ erased: 1 });
  expect(await listKept(['beside-1', 'slow-1'])).toEqual(['beside-1']);
}, 60_000);

test('a hold claims neither calls that are gone nor erasures that took nothing', async () => {
  await pipeline.clear();
  await removeAllHolds();
  await send([
    { unique_id: 'gone-1', timestamp },
    { unique_id: 'ticket-1', timestamp, metadata: { Ticket: '12345678' } },
  ]);
  const gone: ErasureRequest = { kind: 'call', values: ['gone-1'] };
  await erase(gone);
  await expect(hold(gone)).rejects.toMatchObject({ code: 'USAGE_HOLD' });
  expect(await listHolds(pipeline.store)).toEqual([]);
  expect(await erase(gone)).toMatchObject({ known: 0, erasedBefore: 1, erased: 0, held: 0 });
  // Of a value of metadata it is not known under which key it was erased.
  await erase({ kind: 'metadata', key: 'ClientID', values: ['12345678'] });
  expect(await hold({ kind: 'metadata', key: 'Ticket', values: ['12345678'] })).toMatchObject({ calls: 1, persons: 0 });
}, 60_000);

test('a hold counts the calls that it keeps, and none that is gone and named again', async () => {
  await pipeline.clear();
  await removeAllHolds();
  const counts = async () => (await listHolds(pipeline.store)).map(({ calls }) => calls);
  const ids = ['named-1', 'named-2', 'named-3'];
  await send(ids.map((unique_id) => ({ unique_id, timestamp })));
  await erase({ kind: 'call', values: ['named-1'] });
  await expireCalls(pipeline.store, ['named-2'], ['main']);
  await hold({ kind: 'phone', values: ['0655443322'] });
  expect(await counts()).toEqual([0]);
  await send(ids.map((unique_id) => ({ unique_id, timestamp, in: { data: '0655443322' } })));
  expect(await counts()).toEqual([1]);
  // As the log or a warehouse says that it was erased before: no hold brings it back.
  await eraseKnown(pipeline.store, ['named-3'], ['main']);
  expect(await counts()).toEqual([0]);
});

/** The store, with a count of the statements of a kind. */
const counting = (kind: RegExp): { readonly store: Store; readonly count: () => number } => {
  let count = 0;
  const counted =
    (db: Queryable): Queryable['query'] =>
    async (sql, params) => {
      if (kind.test(sql)) count += 1;
      return await db.query(sql, params);
    };
  const store: Store = {
    ...pipeline.store,
    query: counted(pipeline.store),
    transaction: (work) => pipeline.store.transaction((tx) => work({ ...tx, query: counted(tx) })),
  };
  return { store, count: () => count };
};

test('an erasure of many calls searches what belongs to no call as often as one of a single call', async () => {
  await pipeline.clear();
  await removeAllHolds();
  const countSearches = async (values: readonly string[]): Promise<number> => {
    const { store, count } = counting(/\bquarantine\b.*\bbody\b/s);
    expect(await erase({ kind: 'call', values }, { store })).toMatchObject({ erased: values.length });
    return count();
  };
  const one = await countSearches(['single-1']);
  expect(await countSearches(Array.from({ length: 401 }, (_, n) => `many-${n}`))).toBe(one);
}, 60_000);

test('an age takes many calls in steps that hold up few of them, and searches what belongs to no call once', async () => {
  await pipeline.clear();
  await removeAllHolds();
  const ids = Array.from({ length: 401 }, (_, n) => `step-${String(n).padStart(3, '0')}`);
  await ingest(pipeline.deps, {
    observations: ids.map((id) => observationOf(id, Date.UTC(2026, 0, 1) * 1_000, { timestamp })),
    rejected: ['step-000', 'step-400'].map((id) => ({
      ...{ reason: 'bad', source: 'poll', origin: 'test', receivedAt: new Date() },
      body: Buffer.from(`{"unique_id": "${id}", broken`),
    })),
    origin: 'test',
  });
  const searches = counting(/\bquarantine\s+WHERE id > /);
  const taken: number[] = [];
  const store: Store = {
    ...searches.store,
    transaction: (work) =>
      searches.store.transaction(async (tx) => {
        const done = await work(tx);
        const rows = await tx.query('SELECT FROM ledger WHERE tombstone AND xmin = pg_current_xact_id()::xid');
        taken.push(rows.length);
        return done;
      }),
  };
  expect(await expireCalls(store, ids, ['main'])).toBe(401);
  expect(taken).toEqual([200, 200, 1]);
  expect(await pipeline.store.query('SELECT FROM quarantine WHERE octet_length(body) > 0')).toEqual([]);
  // A page, and the look behind it.
  expect(searches.count()).toBe(2);
}, 60_000);

test('an erasure reads what is held as often for many texts that name its calls as for one', async () => {
  await pipeline.clear();
  await removeAllHolds();
  await hold({ kind: 'phone', values: ['0611223344'] });
  // More keys than one statement reads, of which the last is named.
  await pipeline.store.query(
    `INSERT INTO held_keys SELECT 'f' || to_char(n, 'FM00000'), 'many', true FROM generate_series(1, 10000) AS n`,
  );
  await pipeline.store.query(`INSERT INTO held_keys VALUES ('g', 'many', true)`);
  const keyOf = (subject: string): string => (subject === 'last-held' ? 'g' : pipeline.store.keyOf(subject));
  const countReads = async (callId: string, texts: number): Promise<number> => {
    await quarantineRecords(
      pipeline.store,
      ['last-held', ...Array.from({ length: texts }, (_, n) => `other-${n}`)].map((other) => ({
        ...{ reason: 'bad', source: 'poll', origin: 'test', receivedAt: new Date() },
        body: Buffer.from(JSON.stringify([{ unique_id: callId }, other])),
      })),
    );
    const { store, count } = counting(/\bheld_keys\b/);
    const taken = await eraseCalls({ ...store, keyOf }, [callId], ['main']);
    expect(taken).toMatchObject({ calls: 1, quarantine: texts });
    return count();
  };
  const one = await countReads('read-1', 1);
  expect(await countReads('read-2', 20)).toBe(one);
}, 60_000);

test('an erasure beside a hold reads the texts that name its calls before it locks them, also those that are sealed meanwhile', async () => {
  await pipeline.clear();
  await removeAllHolds();
  const refuse = (...others: readonly string[]) =>
    quarantineRecords(
      pipeline.store,
      others.map((other) => ({
        ...{ reason: 'bad', source: 'poll', origin: 'test', receivedAt: new Date() },
        body: Buffer.from(JSON.stringify([{ unique_id: 'before-1' }, other])),
      })),
    );
  const keep = (id: string) =>
    addHoldKeys(pipeline.store, {
      ...{ id, kind: 'call', reason: 'r', actor: 'a', at: new Date().toISOString(), subjects: [] },
      calls: [pipeline.store.keyOf(id)],
    });
  const readsAfter = async (meanwhile: () => Promise<unknown>): Promise<readonly [number, string[]]> => {
    let reads = 0;
    let begun: Promise<unknown> | undefined;
    const store: Store = {
      ...pipeline.store,
      transaction: async (work) => {
        begun ??= meanwhile();
        await begun;
        return await pipeline.store.transaction((tx) =>
          work({
            ...tx,
            query: async <R extends object>(sql: string, params?: readonly unknown[]) => {
              const rows = await tx.query<R>(sql, params);
              if (rows.some((row) => Buffer.isBuffer((row as { body?: unknown }).body))) reads += 1;
              return rows;
            },
          }),
        );
      },
    };
    await eraseCalls(store, ['before-1'], ['main']);
    const rows = await pipeline.store.query<{ reason: string }>(
      `SELECT convert_from(body, 'UTF8') AS reason FROM quarantine WHERE octet_length(body) > 0 ORDER BY 1`,
    );
    return [reads, rows.map(({ reason }) => reason)];
  };
  const textOf = (other: string): string => JSON.stringify([{ unique_id: 'before-1' }, other]);
  await keep('held-before');
  await refuse('free', 'held-before', 'held-meanwhile');
  expect(await readsAfter(() => keep('held-meanwhile'))).toEqual([0, ['held-before', 'held-meanwhile'].map(textOf)]);
  // Sealed between the search and the transaction: what it names is known from before.
  const sealed = 'CSX1'.padEnd(200, '.');
  const seal = () => sealQuarantine(pipeline.store, () => Buffer.from(sealed));
  expect(await readsAfter(seal)).toEqual([0, [sealed, sealed]]);
  // Without a hold nothing is noted of texts: those that are sealed before one is on stay.
  await pipeline.clear();
  await removeAllHolds();
  await refuse('free', 'held-late', 'sealed');
  const sealSome = async () => {
    await keep('held-late');
    await sealQuarantine(pipeline.store, (body) => (body.includes('sealed') ? Buffer.from(sealed) : body));
  };
  expect(await readsAfter(sealSome)).toEqual([1, [sealed, textOf('held-late')]]);
}, 60_000);

test('texts that belong to no call are asked for what they name, not for all that is held', async () => {
  await pipeline.clear();
  await removeAllHolds();
  await pipeline.store.query(
    `INSERT INTO held_keys SELECT 'f' || to_char(n, 'FM00000'), 'many', true FROM generate_series(1, 10001) AS n`,
  );
  await pipeline.store.query(`INSERT INTO held_keys VALUES ($1, 'many', true)`, [pipeline.store.keyOf('kept-1')]);
  await quarantineRecords(
    pipeline.store,
    ['free', 'kept-1'].map((other) => ({
      ...{ reason: 'bad', source: 'poll', origin: 'test', receivedAt: new Date() },
      body: Buffer.from(JSON.stringify(['asked-1', other])),
    })),
  );
  let most = 0;
  const store = watchStatements((sql, rows) => {
    if (/\bheld_keys\b/.test(sql)) most = Math.max(most, rows.length);
  });
  expect(await purgeMeantTexts(store, { isMeant: undefined, callIds: ['asked-1'] })).toMatchObject({ quarantine: 1 });
  expect(most).toBe(1);
});

test('an erasure of a person finds the call that a replay made of a text while it erased', async () => {
  await pipeline.clear();
  await removeAllHolds();
  const { store } = pipeline;
  const refuse = () =>
    quarantineRecords(store, [
      {
        ...{ reason: 'since mended', source: 'webhook', origin: 'inbox:1', receivedAt: new Date() },
        body: Buffer.from('{"unique_id":"replayed-1","in":{"data":"0677665544"}}'),
      },
    ]);
  const request: ErasureRequest = { kind: 'phone', values: ['0677665544'] };
  const replay = (replaying: Store = store) =>
    replayQuarantine({ ...pipeline.deps, store: replaying }, { carries: new Set() });
  // Between the last search for calls and the purge of texts.
  await refuse();
  let isReplayed = false;
  const replayed: Store = {
    ...store,
    transaction: async (work) => {
      const keys = await store.query('SELECT FROM erased_keys WHERE call_key = $1', [
        store.keyOf(subjectOf('phone', '0677665544', ['FR'])),
      ]);
      if (keys.length > 0 && !isReplayed) {
        isReplayed = true;
        await replay();
      }
      return await store.transaction(work);
    },
  };
  expect(await erase(request, { store: replayed })).toMatchObject({ calls: 1, erased: 1, found: { quarantine: 0 } });
  expect(isReplayed).toBe(true);
  expect(await listKept(['replayed-1'])).toEqual([]);
  // Read before the erasure, folded after it.
  await pipeline.clear();
  await refuse();
  let erased: Promise<unknown> | undefined;
  const beside: Store = {
    ...store,
    transaction: async (work) => {
      erased ??= erase(request);
      await erased;
      return await store.transaction(work);
    },
  };
  expect(await replay(beside)).toEqual({ replayed: 0, refused: 0, changed: 0 });
  expect(await store.query('SELECT call_id FROM ledger')).toEqual([]);
}, 60_000);

test('a text that names several calls is counted once, also by erasures that go on at once', async () => {
  await pipeline.clear();
  await removeAllHolds();
  const refuse = (ids: readonly string[]) =>
    quarantineRecords(pipeline.store, [
      {
        ...{ reason: 'bad', source: 'poll', origin: 'test', receivedAt: new Date() },
        body: Buffer.from(ids.map((unique_id) => JSON.stringify({ unique_id })).join()),
      },
    ]);
  const values = Array.from({ length: 401 }, (_, n) => `page-${String(n).padStart(3, '0')}`);
  await refuse(['page-000', 'page-250', 'page-400']);
  expect(await erase({ kind: 'call', values })).toMatchObject({ purged: { quarantine: 1 }, found: { quarantine: 0 } });
  await refuse(['once-1', 'once-2']);
  const both = await Promise.all(['once-1', 'once-2'].map((id) => eraseCalls(pipeline.store, [id], ['main'])));
  expect(both.map(({ quarantine }) => quarantine).sort()).toEqual([0, 1]);
}, 60_000);

test.each(['deep-call-1', 'd-1'])(
  'of a call of the list that is nested too deeply the id is found, and is not kept again (%s)',
  async (id) => {
    await pipeline.clear();
    await removeAllHolds();
    let deep: CallDocument[string] = [];
    for (let depth = 0; depth < 5_000; depth += 1) deep = [deep];
    const observation = observationOf(id, Date.UTC(2026, 0, 1) * 1_000, { deep });
    const kept = async (): Promise<number> => {
      await ingest(pipeline.deps, { observations: [observation], origin: 'test' });
      return (await pipeline.store.query('SELECT 1 FROM quarantine WHERE octet_length(body) > 0')).length;
    };
    expect(await kept()).toBe(1);
    const receipt = await erase({ kind: 'call', values: [id] });
    expect(receipt).toMatchObject({ purged: { quarantine: 1 }, found: { quarantine: 0 } });
    expect(await kept()).toBe(0);
  },
);

test('a text that names an erased call and what is held stays, and goes when the hold was taken off', async () => {
  await pipeline.clear();
  await removeAllHolds();
  await hold({ kind: 'phone', values: ['0666778899'] });
  await deliver(
    pipeline.store,
    ['erased-1', 'aged-1', 'known-1'].flatMap((id) => [
      { body: `{"unique_id":"${id}","in":{"data":"0666778899"}, broken` },
      { body: `{"unique_id":"${id}", broken` },
    ]),
  );
  await merge();
  const listTexts = async (): Promise<string[]> => {
    const rows = await pipeline.store.query<{ text: string }>(
      `SELECT substring(convert_from(body, 'UTF8') FROM '"([a-z]+-1)"') AS text FROM quarantine WHERE octet_length(body) > 0`,
    );
    return rows.map(({ text }) => text).sort();
  };
  const request: ErasureRequest = { kind: 'call', values: ['erased-1'] };
  expect(await erase(request)).toMatchObject({ erased: 1, purged: { quarantine: 1 }, found: { quarantine: 0 } });
  await expireCalls(pipeline.store, ['aged-1'], ['main']);
  expect(await listTexts()).toEqual(['aged-1', 'erased-1', 'known-1', 'known-1']);
  // As the log or a warehouse says that it was erased before: no hold brings it back.
  await eraseKnown(pipeline.store, ['known-1'], ['main']);
  expect(await listTexts()).toEqual(['aged-1', 'erased-1', 'known-1']);
  await removeAllHolds();
  expect(await erase(request)).toMatchObject({ purged: { quarantine: 1 } });
  await eraseKnown(pipeline.store, ['known-1'], ['main']);
  expect(await listTexts()).toEqual(['aged-1']);
}, 60_000);

test('what comes of a call while it is erased goes too', async () => {
  await pipeline.clear();
  await removeAllHolds();
  const record = { unique_id: 'race-call-1', timestamp };
  await send([record]);
  let isErasing = false;
  let isSent = false;
  const logged = logging(async () => {
    isErasing = true;
  });
  const store: Store = {
    ...logged,
    transaction: (work) =>
      pipeline.store.transaction(async (tx) => {
        const done = await work(tx);
        if (isSent || !isErasing) return done;
        isSent = true;
        const bodies = [JSON.stringify(record), '{"unique_id": "race-call-1", broken'];
        await deliver(
          pipeline.store,
          bodies.map((body) => ({ body, deliveryId: randomUUID() })),
        );
        await merge();
        return done;
      }),
  };
  await erase({ kind: 'call', values: ['race-call-1'] }, { store });
  expect(await pipeline.store.query(`SELECT outcome FROM inbox WHERE call_id = 'race-call-1'`)).toEqual([]);
  expect(await pipeline.store.query('SELECT reason FROM quarantine WHERE octet_length(body) > 0')).toEqual([]);
}, 60_000);

test('a check of the ledger does not wait for the search of a hold that is being put on', async () => {
  await pipeline.clear();
  await removeAllHolds();
  const check = createLedgerCheck({
    store: pipeline.store,
    warehouses: [pipeline.warehouse],
    lease: createLease(pipeline.store),
    say: () => undefined,
  });
  // What the tests above left in the log.
  await check.run();
  await send([{ unique_id: 'sought-2', timestamp, note: 'rappeler le 06 55 66 77 88' }]);
  let checked: Promise<unknown> | undefined;
  const searching: Store = {
    ...pipeline.store,
    transaction: async (work) => {
      const done = await pipeline.store.transaction(work);
      checked ??= check.run();
      await checked;
      return done;
    },
  };
  expect(await hold({ kind: 'phone', values: ['0655667788'] }, searching)).toMatchObject({ calls: 1 });
}, 60_000);

test('a hold of which the session that kept deletions away was lost is to be put on again', async () => {
  const losing = withoutDeletions(pipeline.store, async () => {
    await pipeline.store.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
  });
  await expect(losing).rejects.toMatchObject({ code: 'HOLD_UNDER_WAY', hint: 'Put it on again.' });
}, 60_000);
