import { readFileSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import type { CallDocument } from '../../../schemas/call.ts';
import { createAges } from '../../../src/calls/age.ts';
import { readHealth } from '../../../src/health/read-health.ts';
import type { PersonRequest } from '../../../src/persons/request.ts';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { replayQuarantine } from '../../../src/pipeline/import/replay-quarantine.ts';
import { applyAges } from '../../../src/pipeline/load/apply-ages.ts';
import { createLedgerCheck } from '../../../src/pipeline/load/check-ledger.ts';
import { beginErasure, finishErasure } from '../../../src/pipeline/persons/erase.ts';
import { addHold, removeHold } from '../../../src/pipeline/persons/hold.ts';
import { quarantineRecords, sealQuarantine } from '../../../src/store/delivery/quarantine.ts';
import { eraseKnown, expireCalls } from '../../../src/store/persons/calls.ts';
import { listHolds } from '../../../src/store/persons/keys.ts';
import { verifyReceipts } from '../../../src/store/persons/receipts.ts';
import { listTextSubjects, purgeTexts } from '../../../src/store/persons/texts.ts';
import { listEvents } from '../../../src/store/status/events.ts';
import type { Store } from '../../../src/store/store.ts';
import { backUp } from '../../support/backup.ts';
import { asUsual, type EraseInput, erase as eraseBy, mean } from '../../support/persons.ts';
import {
  aroundStatements,
  deliver,
  interrupted,
  observationOf,
  untilBlocked,
  usePipeline,
} from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';

type HoldReceipt = Awaited<ReturnType<typeof addHold>>;

const day = 86_400_000;
const timestamp = '2025-03-01T10:00:00Z';
const clerk = { reason: 'case 17', actor: 'clerk' };

const pipeline = usePipeline({ documents: true }, { keep: true });
beforeEach(async () => {
  await pipeline.clear();
  await takeOff();
});

const hold = (request: PersonRequest, store = pipeline.store) => addHold(store, mean(request), clerk);
type EraseMore = EraseInput & { readonly store?: Store };
const erase = (request: PersonRequest, { store = pipeline.store, ...more }: EraseMore = {}) =>
  eraseBy({ ...pipeline.deps, store }, request, more);
const refuse = (...bodies: readonly string[]): Promise<void> => {
  const record = { reason: 'bad', source: 'webhook', origin: 'inbox:1', receivedAt: new Date() } as const;
  const records = bodies.map((body) => ({ ...record, body: Buffer.from(body) }));
  return quarantineRecords(pipeline.store, records);
};
const texts = `SELECT convert_from(body, 'UTF8') FROM quarantine WHERE octet_length(body) > 0 ORDER BY 1`;
const listTexts = () => column<string>(pipeline.store, texts);
const takeOff = async () => {
  for (const { id } of await listHolds(pipeline.store)) await removeHold(pipeline.store, id, clerk);
};
/** Delivers calls, named by their ids. */
const send = (calls: Readonly<Record<string, object>>): Promise<void> =>
  pipeline.send(Object.entries(calls).map(([unique_id, fields]) => ({ unique_id, ...fields })));
const age = (ages: ReturnType<typeof createAges>, deps = pipeline.deps, dryRun = false) =>
  applyAges(deps, ages, { dryRun });
const phone = (value: string): PersonRequest => ({ kind: 'phone', values: [value] });
const call = (...values: string[]): PersonRequest => ({ kind: 'call', values });

test('an erasure refuses held and later calls until the hold is taken off; a restored store has it again', async () => {
  const { store } = pipeline;
  const theirs = { timestamp, in: { data: '0611223344' } };
  const noted = { timestamp, note: 'rappeler le 06 11 22 33 44' };
  await send({ 'held-1': theirs, 'held-2': noted, 'free-1': { timestamp }, 'free-2': { timestamp } });
  const before = await backUp(store.pool, 'callsync');
  const check = createLedgerCheck({ store, warehouses: [pipeline.warehouse], say: () => undefined });

  const request = phone('+33 6 11 22 33 44');
  const put = await hold(request);
  expect(put).toMatchObject({ calls: 2, gone: 0 });
  await send({ 'held-3': theirs });
  const all = ['held-1', 'held-2', 'held-3', 'free-1', 'free-2'];
  const threeHeld = { code: 'ERASURE_HELD', message: expect.stringMatching(/^3 of the 3 /) };
  await expect(erase(request)).rejects.toMatchObject(threeHeld);
  await expect(erase(call('held-3', 'free-1'))).rejects.toMatchObject({ code: 'ERASURE_HELD' });
  expect((await store.erasures.log.read()).selectors).toEqual([]);
  expect(await pipeline.listKept(all)).toHaveLength(5);

  // The others go on demand; a record that cannot be read, and names the person, is held as well.
  await deliver(store, [{ body: '{"phone": "06 11 22 33 44"' }]);
  const some = await erase(call('held-3', 'free-1'), { exceptHeld: true });
  expect(some).toMatchObject({ calls: 2, known: 2, erasedBefore: 0, erased: 1, held: 1 });
  const again = await erase(call('held-3', 'free-1', 'never-seen'), { exceptHeld: true });
  expect(again).toMatchObject({ calls: 3, known: 1, erasedBefore: 1, erased: 1, held: 1 });
  expect(await erase(request, { exceptHeld: true, suppress: true })).toMatchObject({ calls: 3, erased: 0, held: 3 });
  await send({ 'held-4': theirs });
  expect(await pipeline.listKept([...all, 'held-4'])).toEqual(['free-2', 'held-1', 'held-2', 'held-3', 'held-4']);
  expect(await listTexts()).toHaveLength(1);

  const events = (await listEvents(store, 50)).filter(({ kind }) => kind === 'hold');
  expect(events).toMatchObject([{ what: `Placed hold ${put.hold.id} on 2 calls, by phone`, actor: 'clerk' }]);
  expect((await readHealth(store)).holds).toBe(1);
  const told = [put, events, await listHolds(store), readFileSync(pipeline.erasureLog, 'utf8')];
  expect(JSON.stringify(told)).not.toMatch(/1.?1.?22.?33.?44|held-\d/);

  await before();
  expect(await listHolds(store)).toEqual([]);
  await check.run();
  expect(await listHolds(store)).toMatchObject([{ id: put.hold.id, reason: 'case 17', actor: 'clerk', calls: 2 }]);
  await send({ 'held-3': theirs });
  await expect(erase(request)).rejects.toMatchObject(threeHeld);

  await expect(removeHold(store, 'nothing', clerk)).rejects.toMatchObject({ code: 'USAGE_HOLD' });
  expect(await removeHold(store, put.hold.id, clerk)).toMatchObject({ calls: 3, hold: { action: 'taken off' } });
  expect(await erase(request)).toMatchObject({ erased: 3, held: 0 });
  await before();
  await check.run();
  expect(await listHolds(store)).toEqual([]);
  expect(await pipeline.listKept(all)).toEqual(['free-2']);
  expect(await verifyReceipts(store)).toMatchObject({ verdicts: 6, broken: [], cut: [] });
});

test('ages take nothing of what is held, however it comes, until the hold is taken off', async () => {
  const now = Date.UTC(2025, 0, 1);
  const ages = createAges({ words: 10 * day, calls: 30 * day }, () => now);
  const deps: IngestDeps = { ...pipeline.deps, ages };
  const words = [{ value: 'bonjour', start: 0, length: 1, score: 1 }];
  const recordOf = (unique_id: string, age: number, client: number) => ({
    unique_id,
    timestamp: new Date(now - age * day).toISOString(),
    status: 'qualified',
    metadata: { ClientID: client },
    transcript_json: { callData: [{ from: 'in', content: 'bonjour', words }] },
  });
  const names = ['old-held', 'old-free', 'worn-held', 'worn-free'];
  const stored = names.map((id, at) => recordOf(id, at < 2 ? 40 : 20, 1 + (at % 2)));
  const ids = [...names, 'late-held', 'late-free'];
  const poll = (observedAt: number, by = deps) => {
    const observations = stored.map(({ unique_id, ...fields }) => observationOf(unique_id, observedAt, fields));
    return pipeline.observe(observations, by);
  };
  await poll(1_700_000_000_000_000, pipeline.deps);
  const put = await hold({ kind: 'metadata', key: 'ClientID', values: ['1'] });
  expect(put.calls).toBe(2);

  const worded = async () => {
    await pipeline.drain();
    return await column(pipeline.warehouse, 'SELECT DISTINCT call_id FROM words ORDER BY 1');
  };
  expect(await age(ages, deps, true)).toMatchObject({ calls: 1, words: 2 });
  expect(await age(ages, deps)).toMatchObject({ calls: 1, words: 1 });
  expect(await age(ages, deps, true)).toMatchObject({ calls: 0, words: 0 });
  // Read again and delivered, known or not: of what is held nothing is cut.
  await poll(1_740_000_000_000_000);
  await pipeline.send([recordOf('late-held', 50, 1), recordOf('late-free', 50, 2)], deps);
  await age(ages, deps);
  expect(await worded()).toEqual(['late-held', 'old-held', 'worn-held']);
  expect(await pipeline.listKept(ids)).toEqual(['late-held', 'old-held', 'worn-free', 'worn-held']);
  expect(await column(pipeline.store, 'SELECT call_id FROM inbox WHERE body IS NOT NULL')).toEqual(['late-held']);

  await removeHold(pipeline.store, put.hold.id, clerk);
  expect(await age(ages, deps)).toMatchObject({ calls: 2, words: 1 });
  expect(await worded()).toEqual([]);
  expect(await pipeline.listKept(ids)).toEqual(['worn-free', 'worn-held']);
});

test('a reason that holds a value is refused: it is stored and shown', async () => {
  const adding = addHold(pipeline.store, mean(call('call-17')), { ...clerk, reason: 'see call-17' });
  await expect(adding).rejects.toMatchObject({ code: 'USAGE_HOLD' });
  expect(await listHolds(pipeline.store)).toEqual([]);
});

/** The store, but that `after` ends after each erasure of calls, or what it is told, is in the log. */
const logging = (after: () => Promise<unknown>, of = 'call'): Store => {
  const { erasures } = pipeline.store;
  const append: typeof erasures.log.append = async (db, entries) => {
    await erasures.log.append(db, entries);
    if (entries.some((entry) => of in entry)) await after();
  };
  return { ...pipeline.store, erasures: { ...erasures, log: { ...erasures.log, append } } };
};
test('a hold that is put on between the look of an erasure and its work keeps what it names', async () => {
  const now = Date.UTC(2025, 5, 1);
  const theirs = { timestamp: new Date(now - 20 * day).toISOString(), in: { data: '0622334455' } };
  const old = { timestamp: new Date(now - 40 * day).toISOString() };
  await send({ 'beside-1': theirs, 'beside-2': { ...theirs, in: null }, 'aged-1': old });
  await refuse('{"phone": "06 22 33 44 55"');
  const request = phone('+33622334455');
  let put: Promise<HoldReceipt> | undefined;
  const afterLog = logging(() => (put ??= hold(request)), 'person');
  expect(await erase(request, { store: afterLog, exceptHeld: true })).toMatchObject({ erased: 0, held: 1 });
  expect(await put).toMatchObject({ calls: 1, gone: 0 });
  expect(await listTexts()).toEqual(['{"phone": "06 22 33 44 55"']);

  let putting: Promise<HoldReceipt> | undefined;
  const store = interrupted(pipeline.store, () => (putting ??= hold(call('aged-1', 'beside-2'))));
  const none = { words: 0, transcripts: 0, freeFields: 0, calls: 0, bodies: 0 };
  const ages = createAges({ calls: 30 * day }, () => now);
  expect(await age(ages, { ...pipeline.deps, store })).toEqual(none);
  expect(await erase(call('beside-2'), { exceptHeld: true })).toMatchObject({ erased: 0, held: 1 });
  expect(await pipeline.listKept(['beside-1', 'beside-2', 'aged-1'])).toEqual(['aged-1', 'beside-1', 'beside-2']);
});

test('a hold that comes while an erasure takes its calls waits for it, and says what it found erased', async () => {
  const theirs = { timestamp, in: { data: '0633445566' } };
  await send({ 'gone-1': theirs, 'gone-2': theirs });
  let putting: Promise<HoldReceipt> | undefined;
  const beside = logging(() => {
    putting ??= hold(call('gone-1', 'never-seen'));
    return untilBlocked(pipeline.store, putting);
  });
  expect(await erase(call('gone-1'), { store: beside })).toMatchObject({ erased: 1, held: 0 });
  expect(await putting).toMatchObject({ calls: 1, gone: 1, persons: 0 });
  expect(await pipeline.listKept(['gone-1', 'gone-2'])).toEqual(['gone-2']);

  // One that failed when the log had it is carried out by the next check of the ledger: nothing can be held of it.
  const second = call('gone-2');
  const failing = logging(() => Promise.reject(new Error('cut off')));
  await expect(erase(second, { store: failing })).rejects.toThrow('cut off');
  const known = { code: 'USAGE_HOLD', message: expect.stringMatching(/erased before/) };
  await expect(hold(second)).rejects.toMatchObject(known);

  // By its values nothing is left to be found.
  await takeOff();
  await erase(phone('0633445566'));
  expect(await hold(phone('0633445566'))).toMatchObject({ calls: 0, gone: 0, persons: 1 });
});

/** Begins `act` after a statement of the fold of a call; the fold goes on when something waits for it, or `act` has ended. */
const actInFold = async <T>(
  isAfter: (sql: string) => boolean,
  [id, fields]: readonly [string, CallDocument],
  act: () => Promise<T>,
): Promise<T> => {
  let acting: Promise<T> | undefined;
  const store = aroundStatements(pipeline.store, async (sql, run) => {
    const rows = await run();
    if (!isAfter(sql)) return rows;
    acting ??= act();
    await untilBlocked(pipeline.store, acting);
    return rows;
  });
  await pipeline.fold([observationOf(id, Date.UTC(2026, 0, 1) * 1_000, fields)], { ...pipeline.deps, store });
  expect(acting).toBeDefined();
  return (await acting) as T;
};

test.each([
  ['has noted that it is held', 'INSERT INTO held_keys'],
  ['has its row', 'UPDATE ledger'],
])('a call is neither erased nor aged beside a fold that %s, and a hold waits for the call', async (_, statement) => {
  const actBesideFold = <T>(id: string, fields: CallDocument, act: () => Promise<T>): Promise<T> =>
    actInFold((sql) => sql.startsWith(statement), [id, fields], act);
  await hold(phone('0611223344'));
  const now = Date.UTC(2025, 5, 1);
  const words = [{ value: 'oui', start: 0, length: 1 }];
  const record = {
    timestamp: new Date(now - 40 * day).toISOString(),
    transcript_json: { callData: [{ from: 'in', content: 'oui', words }] },
  };
  await pipeline.send(['known-1', 'old-1', 'worn-1'].map((unique_id) => ({ unique_id, ...record })));
  const theirs = { ...record, in: { data: '0611223344' } };
  for (const id of ['unknown-1', 'known-1']) {
    const erased = actBesideFold(id, theirs, () => erase(call(id), { exceptHeld: true }));
    expect(await erased).toMatchObject({ erased: 0, held: 1 });
  }
  for (const [id, limit] of [['worn-1', 'words'] as const, ['old-1', 'calls'] as const])
    await actBesideFold(id, theirs, () => age(createAges({ [limit]: 30 * day }, () => now)));
  const ids = ['known-1', 'old-1', 'unknown-1', 'worn-1'];
  expect(await pipeline.listKept(ids)).toEqual(ids);
  // A hold that is put on beside the fold waits for it, and finds its call.
  const other = { ...record, in: { data: '0655443322' } };
  const isNoted = (sql: string): boolean => sql.startsWith('SELECT EXISTS (SELECT FROM erased_keys)');
  expect(await actInFold(isNoted, ['late-1', other], () => hold(phone('0655443322')))).toMatchObject({ calls: 1 });
  expect(JSON.stringify((await pipeline.rowOf('worn-1'))?.document)).toContain(JSON.stringify(words));
});

test('a hold spares calls by what they say, and those of which it is not known what they say', async () => {
  const said = 'mon numéro est le zéro six onze vingt-deux trente-trois quarante-quatre';
  await hold(phone('0611223344'));
  await send({ 'said-1': { timestamp, transcript_json: { callData: [{ from: 'in', content: said }] } } });
  expect(await erase(call('said-1'), { exceptHeld: true })).toMatchObject({ erased: 0, held: 1 });
  // It was not noted when it came: what it says alone spares it.
  await pipeline.store.query('DELETE FROM held_keys WHERE of_call');
  expect(await erase(call('said-1'), { exceptHeld: true })).toMatchObject({ erased: 0, held: 1 });
  expect(await pipeline.listKept(['said-1'])).toEqual(['said-1']);
});

test('a hold claims neither calls that are gone nor erasures that took nothing', async () => {
  await send({ 'gone-1': { timestamp }, 'ticket-1': { timestamp, metadata: { Ticket: '12345678' } } });
  const gone = call('gone-1');
  await erase(gone);
  await expect(hold(gone)).rejects.toMatchObject({ code: 'USAGE_HOLD' });
  expect(await listHolds(pipeline.store)).toEqual([]);
  expect(await erase(gone)).toMatchObject({ known: 0, erasedBefore: 1, erased: 0, held: 0 });
  // Of a value of metadata it is not known under which key it was erased.
  await erase({ kind: 'metadata', key: 'ClientID', values: ['12345678'] });
  expect(await hold({ kind: 'metadata', key: 'Ticket', values: ['12345678'] })).toMatchObject({ calls: 1, persons: 0 });
});

test('a hold counts the calls that it keeps, and none that is gone and named again', async () => {
  const counts = async () => (await listHolds(pipeline.store)).map(({ calls }) => calls);
  const ids = ['named-1', 'named-2', 'named-3'];
  await pipeline.send(ids.map((unique_id) => ({ unique_id, timestamp })));
  await erase(call('named-1'));
  await expireCalls(pipeline.store, ['named-2']);
  await hold(phone('0655443322'));
  expect(await counts()).toEqual([0]);
  await pipeline.send(ids.map((unique_id) => ({ unique_id, timestamp, in: { data: '0655443322' } })));
  expect(await counts()).toEqual([1]);
  // As the log or a warehouse says that it was erased before: no hold brings it back.
  await eraseKnown(pipeline.store, ['named-3']);
  expect(await counts()).toEqual([0]);
});

test('an erasure of a person finds the call that a replay made of a text while it erased', async () => {
  const { deps, store } = pipeline;
  const theirs = '{"unique_id":"replayed-1","in":{"data":"0677665544"}}';
  const request = phone('0677665544');
  const replay = (replaying: Store = store) => replayQuarantine({ ...deps, store: replaying }, { carries: new Set() });
  // Between the search for calls and the purge of texts.
  await refuse(theirs);
  const requestId = await beginErasure(deps, mean(request), asUsual);
  expect(await replay()).toMatchObject({ replayed: 1 });
  expect(await pipeline.listKept(['replayed-1'])).toEqual(['replayed-1']);
  const { receipt } = await finishErasure(deps, requestId, { load: true });
  expect(receipt).toMatchObject({ calls: 1, erased: 1, found: { calls: 0, quarantine: 0 } });
  expect(await pipeline.listKept(['replayed-1'])).toEqual([]);
  // Read before the erasure, folded after it.
  await pipeline.clear();
  await refuse(theirs);
  let erased: Promise<unknown> | undefined;
  const beside = interrupted(store, () => (erased ??= erase(request)));
  expect(await replay(beside)).toEqual({ replayed: 0, refused: 0, changed: 0 });
  expect(await store.query('SELECT call_id FROM ledger')).toEqual([]);
});

test.each(['deep-call-1', 'd-1'])('in a hold, a call nested too deeply is refused; its id is found: %s', async (id) => {
  await hold(phone('06 99 88 77 66'));
  const deep = JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`);
  const kept = async (): Promise<number> => {
    await send({ [id]: { deep }, 'beside-1': {} });
    expect(await pipeline.listKept([id, 'beside-1'])).toEqual(['beside-1']);
    return (await listTexts()).length;
  };
  expect(await kept()).toBe(1);
  expect(await erase(call(id))).toMatchObject({ purged: { quarantine: 1 }, found: { quarantine: 0 } });
  expect(await kept()).toBe(0);
});

test('a text that names an erased call and a held one stays, sealed or not, until the hold ends', async () => {
  const { store } = pipeline;
  const theirs = (id: string): string => `{"unique_id":"${id}","in":{"data":"0666778899"}, broken`;
  const others = (id: string): string => `{"unique_id":"${id}", broken`;
  const put = await hold(phone('0666778899'));
  await refuse(...['erased-1', 'aged-1', 'known-1', 'sealed-1'].flatMap((id) => [theirs(id), others(id)]));
  await listTextSubjects(store);
  const sealed = 'CSX1'.padEnd(200, '.');
  await sealQuarantine(store, (body) => (body.includes('sealed-1') ? Buffer.from(sealed) : body));
  const expected = { erased: 2, purged: { quarantine: 2 }, sealed: 0, found: { quarantine: 0, heldTexts: 2 } };
  expect(await erase(call('erased-1', 'sealed-1'))).toMatchObject(expected);
  await expireCalls(store, ['aged-1']);
  // As the log or a warehouse says that it was erased before: no hold brings the call back.
  await eraseKnown(store, ['known-1']);
  await purgeTexts(store);
  expect(await listTexts()).toEqual([sealed, ...['aged-1', 'erased-1', 'known-1'].map(theirs)].sort());
  await removeHold(store, put.hold.id, clerk);
  expect(await listTexts()).toEqual([theirs('aged-1')]);
});

test('what comes of a call while it is erased goes too', async () => {
  const record = { unique_id: 'race-call-1', timestamp };
  await pipeline.send([record]);
  const requestId = await beginErasure(pipeline.deps, mean(call('race-call-1')), asUsual);
  await pipeline.send([record, '{"unique_id": "race-call-1", broken']);
  await finishErasure(pipeline.deps, requestId, { load: true });
  expect(await pipeline.store.query(`SELECT outcome FROM inbox WHERE call_id = 'race-call-1'`)).toEqual([]);
  expect(await listTexts()).toEqual([]);
});
