/** The key of tokens is changed twice while the same people call again: joins, erasures and objections hold, until a key is forgotten. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Observation } from '../../../schemas/observation.ts';
import { eraseRequest, findCalls } from '../../../src/pipeline/erase/erase-request.ts';
import { addHold, removeHold } from '../../../src/pipeline/erase/hold-calls.ts';
import type { ErasureRequest } from '../../../src/pipeline/erase/match-calls.ts';
import { applyRules } from '../../../src/pipeline/load/apply-rules.ts';
import { createLedgerCheck } from '../../../src/pipeline/load/check-ledger.ts';
import { forgetKey } from '../../../src/pipeline/load/forget-key.ts';
import { ingest, loadFolded } from '../../../src/pipeline/load/ingest.ts';
import { mergeInbox } from '../../../src/pipeline/load/merge-inbox.ts';
import { replayErasures } from '../../../src/pipeline/load/replay-erasures.ts';
import { compareValues } from '../../../src/privacy/compare-values.ts';
import type { Privacy } from '../../../src/privacy/privacy.ts';
import { subjectOf } from '../../../src/privacy/subjects.ts';
import { findHeldCalls } from '../../../src/store/ledger/holds.ts';
import { readRows } from '../../../src/store/ledger/ledger.ts';
import { createLease } from '../../../src/store/loads/lease.ts';
import { markAliasesLoaded, unloadedAliases } from '../../../src/store/loads/token-aliases.ts';
import type { Store } from '../../../src/store/store.ts';
import { createProofKeys } from '../../../src/store/windows/proof-keys.ts';
import { deliver, openPipeline, type Pipeline } from '../../support/pipeline.ts';
import { privacyUnder, rotatedKeys } from '../../support/rotated-keys.ts';
import { begin, callOf, countJoined, personOf } from './joined-calls.ts';

/** As many calls under each key: every person calls under each. */
const calls = 30;
const [first, second, third] = rotatedKeys;
const without = privacyUnder('k3', 'k2');

const proof = {
  keys: createProofKeys(Buffer.from('a key of the proof chain')),
  headsFile: join(tmpdir(), `callsync-heads-${randomUUID()}.json`),
};
let pipeline: Pipeline;

const observationOf = (callId: string, index: number): Observation => ({
  callId,
  source: 'poll',
  observedAt: begin * 1_000,
  fields: { ...callOf(index), unique_id: callId },
});
const observe = async (privacy: Privacy | undefined, observations: readonly Observation[]): Promise<void> => {
  const deps = { ...pipeline.deps, sanitize: privacy?.sanitize };
  await loadFolded(deps, await ingest(deps, { observations, origin: 'test' }));
};
const send = async (privacy: Privacy, observations: readonly Observation[]): Promise<void> => {
  const bodies = observations.map(({ fields }) => privacy.admit(Buffer.from(JSON.stringify(fields))));
  await deliver(pipeline.store, bodies);
  await mergeInbox({ ...pipeline.deps, sanitize: privacy.sanitize });
};
const numbered = (prefix: string, from: number, length = calls): Observation[] =>
  Array.from({ length }, (_, index) => observationOf(`${prefix}-${from + index}`, from + index));

beforeAll(async () => {
  pipeline = await openPipeline();
  for (const [part, privacy] of [first, second, third].entries()) {
    const turned = numbered('turned', part * calls);
    await observe(
      privacy,
      turned.filter((_, index) => index % 2 === 0),
    );
    await send(
      privacy,
      turned.filter((_, index) => index % 2 === 1),
    );
    await pipeline.drain();
  }
});
afterAll(async () => {
  rmSync(proof.headsFile, { force: true });
  await pipeline.close();
});

const newest = (column: string): string =>
  `coalesce((SELECT t.new_token FROM token_aliases t WHERE t.old_token = ${column}), ${column})`;
const callers = (map: (column: string) => string): Promise<number> =>
  countJoined(
    pipeline.warehouse,
    'turned',
    'calls a, contacts b',
    `a.call_id < b.call_id AND b.side = 'in' AND ${map('a.ani')} = ${map('b.phone')}`,
  );
const aliasesOf = async (where: 'store' | 'warehouse', like = '%'): Promise<string[]> => {
  const sql = `SELECT old_token, new_token FROM token_aliases WHERE old_token LIKE '${like}' OR new_token LIKE '${like}' ORDER BY 1`;
  const rows = await (where === 'store' ? pipeline.store.query(sql) : pipeline.warehouse.query(sql));
  return rows.map((row) => Object.values(row).join(' '));
};
const queued = () => unloadedAliases(pipeline.store, 'main', 1_000);

test('joins give the same counts as numbers would, once they have come again', async () => {
  // Three calls of each person, each under another key.
  expect(await callers((column) => column)).toBe(0);
  expect(await callers(newest)).toBe(3 * calls);
  const contacts = (map: (column: string) => string) =>
    countJoined(
      pipeline.warehouse,
      'turned',
      'contacts a, contacts b',
      `a.side = 'in' AND b.side = 'out' AND ${map('a.phone')} = ${map('b.phone')}`,
    );
  const all = Array.from({ length: 3 * calls }, (_, index) => index);
  const pairs = all.flatMap((a) => all.filter((b) => b % 5 === 0 && personOf(a) === personOf(b + 2)));
  expect(await contacts((column) => column)).toBeLessThan(pairs.length);
  expect(await contacts(newest)).toBe(pairs.length);
});

test('each former token leads to the newest in one step, in the warehouse as in the store, and nothing is written twice', async () => {
  await observe(third, numbered('again', 0, 10));
  await pipeline.drain();
  const held = await aliasesOf('store');
  expect(held.length).toBeGreaterThanOrEqual(2 * calls);
  expect(await aliasesOf('warehouse')).toEqual(held);
  const chained = await pipeline.warehouse.query(
    'SELECT 1 AS found FROM token_aliases a JOIN token_aliases b ON b.old_token = a.new_token',
  );
  expect(chained).toEqual([]);
  await observe(third, numbered('once-more', 0, 10));
  // A worker that still has the key before.
  await observe(second, numbered('older', 0, 10));
  expect(await queued()).toEqual([]);
  expect(await aliasesOf('store')).toEqual(held);
});

test('rules that are applied to what is stored note aliases too', async () => {
  const number = '33639980077';
  const fields = { unique_id: 'raw-1', in: { label: 'Customer', data: number, type: 'PHONE' } };
  await observe(undefined, [{ callId: 'raw-1', source: 'poll', observedAt: 1, fields }]);
  await applyRules(pipeline.deps, third);
  const [present, ...former] = third.tokensOf(number);
  expect(await aliasesOf('store', present)).toEqual(former.map((token) => `${token} ${present}`).sort());
});

const means = (privacy: Privacy) => ({
  dryRun: false,
  keepOut: false,
  exceptHeld: false,
  comparison: compareValues(['FR'], privacy.tokensOf),
  personOf: (kind: 'phone' | 'metadata', value: string) => subjectOf(kind, value, ['FR']),
  proof,
  merge: async () => {
    await mergeInbox({ ...pipeline.deps, sanitize: privacy.sanitize });
  },
  load: async () => {
    await pipeline.drain();
  },
});
const erase = (number: string, options: ReturnType<typeof means>) =>
  eraseRequest({ store: pipeline.store, targets: [pipeline.target] }, { kind: 'phone', values: [number] }, options);
/** Tokens of what was erased, as a restore brings them back. */
const putBack = async (number: string, where: readonly ('store' | 'warehouse')[]): Promise<void> => {
  const [present, ...former] = third.tokensOf(number);
  for (const one of where)
    await pipeline.store.pool.query(
      `INSERT INTO ${one === 'store' ? 'callsync' : 'wh_main'}.token_aliases SELECT unnest($1::text[]), $2 ON CONFLICT DO NOTHING`,
      [former, present],
    );
};
const leftOf = async (number: string): Promise<string[]> => {
  const [present] = third.tokensOf(number);
  return [...(await aliasesOf('store', present)), ...(await aliasesOf('warehouse', present))];
};

test('an erasure by number finds what is stored under former keys, and takes the aliases, for good', async () => {
  const number = `33${personOf(3)}`;
  expect(await leftOf(number)).toHaveLength(4);
  const receipt = await erase(number, means(third));
  expect(receipt).toMatchObject({ purged: { aliases: 2 }, found: { calls: 0, documents: 0, aliases: 0 } });
  const own = [0, 1, 2].flatMap((part) =>
    Array.from({ length: calls }, (_, index) => part * calls + index).filter(
      (index) => personOf(index) === personOf(3),
    ),
  );
  const rows = await readRows(
    pipeline.store,
    own.map((index) => `turned-${index}`),
  );
  expect([...rows.values()].map(({ tombstone }) => tombstone)).toEqual(own.map(() => true));
  expect(await leftOf(number)).toEqual([]);
  // A late delivery of an erased call.
  await send(third, [observationOf('turned-3', 3)]);
  await pipeline.drain();
  expect(await leftOf(number)).toEqual([]);
  await putBack(number, ['store', 'warehouse']);
  await replayErasures(pipeline.store, [pipeline.warehouse], { all: true });
  await pipeline.drain();
  expect(await leftOf(number)).toEqual([]);
});

test('who objected is kept out under a later key too', async () => {
  const number = '33639980066';
  await erase(number, { ...means(second), keepOut: true });
  const fields = { unique_id: 'objected-1', in: { label: 'Customer', data: number, type: 'PHONE' } };
  const said = { ...fields, unique_id: 'other-1', in: null, Note: number };
  await send(third, [
    { callId: 'objected-1', source: 'webhook', observedAt: 0, fields },
    { callId: 'other-1', source: 'webhook', observedAt: 0, fields: said },
  ]);
  const rows = await readRows(pipeline.store, ['objected-1', 'other-1']);
  expect([...rows.values()].map(({ callId, tombstone }) => [callId, tombstone]).sort()).toEqual([
    ['objected-1', true],
    ['other-1', false],
  ]);
  // Nor is what was erased linked again.
  expect(await leftOf(number)).toEqual([]);
});

test('a hold that is older than the key holds what is delivered under the key, by number and by value', async () => {
  const number = '33639980055';
  const clerk = { ...means(first), reason: 'case 17', actor: 'clerk' };
  const holdOf = (request: ErasureRequest) => addHold(pipeline.store, request, clerk);
  const byNumber = await holdOf({ kind: 'phone', values: [number] });
  const byValue = await holdOf({ kind: 'metadata', key: 'ClientID', values: ['client-55'] });
  const fields = { timestamp: '2025-03-01T10:00:00Z', in: null };
  await send(second, [
    {
      callId: 'held-1',
      source: 'webhook',
      observedAt: 0,
      fields: { ...fields, unique_id: 'held-1', in: { data: number } },
    },
    {
      callId: 'held-2',
      source: 'webhook',
      observedAt: 0,
      fields: { ...fields, unique_id: 'held-2', metadata: { ClientID: 'client-55' } },
    },
    // Another key of metadata is another subject.
    {
      callId: 'free-1',
      source: 'webhook',
      observedAt: 0,
      fields: { ...fields, unique_id: 'free-1', metadata: { Agent: 'client-5', Odd: { toString: 1 } } },
    },
  ]);
  const held = await findHeldCalls(pipeline.store, ['held-1', 'held-2', 'free-1'], pipeline.store.keyOf);
  expect([...held].sort()).toEqual(['held-1', 'held-2']);
  for (const { hold } of [byNumber, byValue]) await removeHold(pipeline.store, hold.id, clerk);
});

test('an alias that goes while a load is under way is sent again, whichever load comes last', async () => {
  await pipeline.drain();
  const [held = ''] = await aliasesOf('store');
  const [old = '', token = ''] = held.split(' ');
  const { pool } = pipeline.store;
  await pool.query('INSERT INTO callsync.unloaded_aliases SELECT $1, $2', ['main', old]);
  const before = await queued();
  expect(before).toMatchObject([{ oldToken: old, newToken: token }]);
  await pool.query('UPDATE callsync.unloaded_aliases SET version = gen_random_uuid()');
  await markAliasesLoaded(pipeline.store, 'main', before);
  const after = await queued();
  expect(after).toHaveLength(1);
  await markAliasesLoaded(pipeline.store, 'main', after);
  expect(await queued()).toEqual([]);
  // The older load is committed last.
  await markAliasesLoaded(pipeline.store, 'main', before);
  expect(await queued()).toHaveLength(1);
  await pipeline.drain();
});

test('aliases that a ledger lost come back from the warehouse, erased ones do not', async () => {
  const { store, warehouse } = pipeline;
  const check = createLedgerCheck({ store, warehouses: [warehouse], lease: createLease(store), say: () => undefined });
  const held = await aliasesOf('store');
  await store.pool.query('DELETE FROM callsync.loads; DELETE FROM callsync.token_aliases');
  await putBack(`33${personOf(3)}`, ['warehouse']);
  await check.run();
  expect(await aliasesOf('store')).toEqual(held);
  await pipeline.drain();
  expect(await aliasesOf('warehouse')).toEqual(held);
  await store.pool.query('DELETE FROM wh_main.token_aliases; DELETE FROM wh_main.loads');
  await check.run();
  await pipeline.drain();
  expect(await aliasesOf('warehouse')).toEqual(held);
});

test('requests find by the index what reading every call finds, whoever stored it, and read little else', async () => {
  const { store } = pipeline;
  const reading: Store = { ...store, erasures: { ...store.erasures, index: undefined } };
  const comparison = compareValues(['FR'], third.tokensOf);
  const find = async (request: ErasureRequest) => {
    let read = 0;
    const found = await findCalls(store, request, comparison, (seen) => {
      read = seen;
    });
    expect(found.sort()).toEqual((await findCalls(reading, request, comparison)).sort());
    return { read, found };
  };
  const phone = (number: string): ErasureRequest => ({ kind: 'phone', values: [number] });
  // By a worker that knows neither rules nor index.
  await observe(undefined, numbered('plain', 0, 6));
  const first = await find(phone(`0${personOf(1)}`));
  expect(first.found).toContain('plain-1');
  expect(first.read).toBeGreaterThan(6);
  const requests = [2, 4, 6].map((index) => phone(`+33${personOf(index)}`));
  for (const index of [1, 2]) requests.push({ kind: 'metadata', key: 'ANI', values: [`33${personOf(index)}`] });
  for (const request of requests) {
    const { read, found } = await find(request);
    expect([read, found.length > 2]).toEqual([found.length, true]);
  }
  // No number is a part of another: every call is read.
  expect((await find(phone('client-5'))).read).toBeGreaterThan(3 * calls);
  // Listed under another key, or by other rules.
  await store.pool.query(
    `UPDATE ledger_documents SET subjects = '{}', subjects_version = 1 WHERE call_id LIKE 'turned-%'`,
  );
  expect((await find(phone(`0${personOf(2)}`))).read).toBeGreaterThan(3 * calls - 10);
  expect((await find(phone(`0${personOf(4)}`))).found.length).toBeGreaterThan(2);
  // A fold by a worker that writes no index may come between, behind the calls that are read.
  await store.pool.query(`UPDATE ledger_documents SET subjects_version = 1 WHERE call_id LIKE 'turned-%'`);
  const folding: Store = {
    ...store,
    transaction: async (work) => {
      const done = await store.transaction(work);
      const lost = `UPDATE ledger_documents SET subjects = NULL, subjects_version = NULL WHERE call_id = 'plain-2'`;
      await store.pool.query(lost);
      return done;
    },
  };
  expect(await findCalls(folding, phone(`0${personOf(2)}`), comparison)).toContain('plain-2');
  // A later revision is found by what it names now.
  const fields = { unique_id: 'plain-1', metadata: {}, in: { data: '33639980044' }, out: null, transcript_json: null };
  await observe(third, [{ callId: 'plain-1', source: 'poll', observedAt: begin * 1_000 + 1, fields }]);
  expect((await find(phone('06 39 98 00 44'))).found).toEqual(['plain-1']);
  expect((await find(phone(`0${personOf(1)}`))).found).not.toContain('plain-1');
});

test('a key that is forgotten no longer links: neither joins, nor requests, nor a restore', async () => {
  const number = `33${personOf(5)}`;
  const linked = await callers(newest);
  const found = async (privacy: Privacy) => (await erase(number, { ...means(privacy), dryRun: true })).calls;
  const before = await found(third);
  const held = await aliasesOf('store', 'ph_k1_%');
  expect(await forgetKey(pipeline.store, 'k1', without.admit)).toMatchObject({ aliases: held.length });
  await pipeline.drain();
  expect(await aliasesOf('store', 'ph_k1_%')).toEqual([]);
  expect(await aliasesOf('warehouse', 'ph_k1_%')).toEqual([]);
  const { rows } = await pipeline.store.pool.query(
    `SELECT seq FROM callsync.inbox WHERE convert_from(body, 'UTF8') ~ '"ph_k1_[a-z2-7]{52}":'`,
  );
  expect(rows).toEqual([]);
  expect(await callers(newest)).toBeLessThan(linked);
  expect(await found(without)).toBeLessThan(before);
  await putBack(number, ['store', 'warehouse']);
  await replayErasures(pipeline.store, [pipeline.warehouse], { all: true });
  await pipeline.drain();
  expect(await aliasesOf('store', 'ph_k1_%')).toEqual([]);
  expect(await aliasesOf('warehouse', 'ph_k1_%')).toEqual([]);
});
