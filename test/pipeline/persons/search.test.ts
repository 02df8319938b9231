/** The search after an erasure: a receipt is signed when nothing of the person is left anywhere, and says what only others can look into. */
import { beforeAll, expect, test } from 'vitest';
import type { PersonRequest } from '../../../src/persons/request.ts';
import type { WarehouseTarget } from '../../../src/pipeline/deps.ts';
import { beginErasure, finishErasure, finishOldErasures, listCopies } from '../../../src/pipeline/persons/erase.ts';
import { requestWalk } from '../../../src/store/loads/warehouses.ts';
import { findReceipt, isSigned } from '../../../src/store/persons/receipts.ts';
import { createProofKeys } from '../../../src/store/windows/chain.ts';
import { requireFrom } from '../../../src/warehouse/warehouse.ts';
import { asUsual, erase, mean } from '../../support/persons.ts';
import { aroundStatements, observationOf, register, usePipeline } from '../../support/pipeline.ts';
import { column } from '../../support/rows.ts';

const pipeline = usePipeline({ documents: true }, { keep: true });
beforeAll(() => requireFrom(pipeline.warehouse, 'search').create());

const send = (...bodies: readonly object[]) => pipeline.send(bodies);
const begin = (request: PersonRequest, deps = pipeline.deps) => beginErasure(deps, mean(request), asUsual);
const finish = (requestId: string, { load = true, deps = pipeline.deps } = {}) =>
  finishErasure(deps, requestId, { load });
const age = (requestId: string, by: string) =>
  pipeline.query('UPDATE erasure_requests SET opened_at = now() - $2::interval WHERE request_id = $1', [requestId, by]);
const timestamp = '2025-03-01T10:00:00Z';
const personOf = (index: number): PersonRequest => ({ kind: 'phone', values: [`06 55 44 ${10 + index} 00`] });
const callOf = (index: number, id: string) => ({ unique_id: id, timestamp, in: { data: `065544${10 + index}00` } });

/** The process of these dependencies is killed at a statement; undefined = not yet, and as many come. */
const killedAt = (statement: number) => {
  let left = statement;
  const store = aroundStatements(pipeline.store, (_, run) => {
    left -= 1;
    return left < 0 ? Promise.reject(new Error('killed')) : run();
  });
  return { deps: { ...pipeline.deps, store }, isOver: () => left >= 0 };
};

const searched = ['utterances', 'contacts', 'changes', 'transcript_search'];
test.each(searched)('a row of an erased call in the warehouse’s table %s keeps the receipt back', async (table) => {
  const id = `left-in-${table}`;
  const transcript_json = { callData: [{ from: 'in', content: 'bonjour' }], meta: { lang: 'fr' } };
  const call = { timestamp, in: { data: '0611223344' }, transcript_json };
  await send({ unique_id: id, ...call }, { unique_id: 'other', ...call });
  await pipeline.drain();
  await send({ unique_id: 'other', ...call, status: table });
  const requestId = await begin({ kind: 'call', values: [id] });
  await pipeline.drain();
  // The tombstone is there: nothing but a search for rows finds it.
  const { pool } = pipeline.store;
  await pool.query(`INSERT INTO wh_main.${table} SELECT (jsonb_populate_record(t, '{"call_id": "${id}"}')).*
        FROM wh_main.${table} t WHERE call_id = 'other' LIMIT 1`);
  expect(await finish(requestId)).toEqual({ waiting: ['main'], receipt: undefined });
  await pool.query(`DELETE FROM wh_main.${table} WHERE call_id = $1`, [id]);
  const { receipt } = await finish(requestId);
  expect(receipt?.found?.warehouses).toEqual([{ name: 'main', erased: 1, waiting: 0, rows: 0 }]);
});

test('a delivery that named the person goes, also when its call names somebody else by now', async () => {
  const first = { unique_id: 'moved-on', timestamp, in: { data: '0655443322' } };
  await send(first);
  await send({ ...first, in: { data: '0655443399' }, status: 'corrected' });
  const { receipt } = await finish(await begin({ kind: 'phone', values: ['06 55 44 33 22'] }));
  expect(receipt).toMatchObject({ calls: 0, purged: { inbox: 1 } });
  const left = `SELECT convert_from(body, 'UTF8') FROM inbox WHERE body IS NOT NULL AND call_id = 'moved-on'`;
  expect(await column(pipeline.store, left)).toEqual([expect.stringContaining('0655443399')]);
});

test('a repeated erasure is signed only when the warehouse has the tombstones of the first', async () => {
  await send(callOf(0, 'twice'));
  await pipeline.drain();
  const first = await begin(personOf(0));
  const again = await begin(personOf(0));
  expect(await finish(again, { load: false })).toEqual({ waiting: ['main'], receipt: undefined });
  await pipeline.drain();
  const { receipt } = await finish(again, { load: false });
  expect(receipt).toMatchObject({ calls: 0, found: { warehouses: [{ name: 'main', waiting: 0 }] } });
  expect((await finish(first)).receipt).toMatchObject({ calls: 1, erased: 1 });
  // The warehouse is asked for everything again: its tombstones may have been lost.
  await requestWalk(pipeline.store, { warehouse: 'main', rewrite: true });
  const third = await begin(personOf(0));
  expect((await finish(third, { load: false })).waiting).toEqual(['main']);
  expect((await finish(third)).waiting).toEqual([]);
});

test('a warehouse that only other workers know keeps the receipt back until one of them has searched it', async () => {
  const other = await pipeline.addWarehouse('other');
  await register(pipeline.store, 'other');
  await send(callOf(3, 'in-both'));
  for (const target of [pipeline.target, other]) await pipeline.drain(target);
  const requestId = await begin(personOf(3));
  expect(await finish(requestId)).toEqual({ waiting: ['other'], receipt: undefined });
  const { receipt } = await finish(requestId, { deps: { ...pipeline.deps, targets: [pipeline.target, other] } });
  expect(receipt?.found?.warehouses).toMatchObject(['main', 'other'].map((name) => ({ name, erased: 1, rows: 0 })));
  // As a week after it left the configuration.
  await pipeline.store.query(`UPDATE warehouses SET configured_at = 'epoch' WHERE name = 'other'`);
});

test('maintenance carries an erasure to its end whose command was killed', async () => {
  await send(callOf(2, 'left-alone'));
  await pipeline.drain();
  const requestId = await begin(personOf(2));
  await pipeline.drain();
  await age(requestId, '2 h');
  await finishOldErasures(pipeline.deps);
  expect(await findReceipt(pipeline.store, requestId)).toMatchObject({ calls: 1, erased: 1 });
});

test('tombstones that came after an erasure do not keep its receipt back', async () => {
  const requestId = await begin(personOf(1));
  await age(requestId, '10 s');
  await begin({ kind: 'call', values: ['of-another'] });
  expect((await finish(requestId, { load: false })).waiting).toEqual([]);
});

test('an erasure that is killed at any statement, and repeated, signs nothing that is wrong', async () => {
  const { store } = pipeline;
  await store.query('DELETE FROM erasure_requests');
  // Every seventh: all would take minutes.
  for (let statement = 0, isOver = false; !isOver; statement += 7) {
    const rowsIn = (table: string) => store.query(`SELECT FROM ${table} WHERE call_id LIKE 'killed-${statement}-%'`);
    const person: PersonRequest = { kind: 'metadata', key: 'ClientID', values: [`client ${statement}`] };
    const call = { timestamp, metadata: { ClientID: `client ${statement}` } };
    await send({ unique_id: `killed-${statement}-1`, ...call });
    await pipeline.drain();
    const killed = killedAt(statement);
    const work = async (): Promise<void> => {
      const requestId = await begin(person, killed.deps);
      // As a fold has it that began before.
      await pipeline.fold([observationOf(`killed-${statement}-2`, 1_740_000_000_000_000, call)]);
      await pipeline.drain();
      await finish(requestId, { load: false, deps: killed.deps });
    };
    await work().catch((error: Error) => expect(error.message).toBe('killed'));
    isOver = killed.isOver();
    await begin(person);
    const open = await column<string>(store, 'SELECT request_id FROM erasure_requests');
    for (const load of [false, true])
      for (const id of open)
        if ((await finish(id, { load })).receipt !== undefined)
          expect({ statement, rows: await rowsIn('wh_main.calls') }).toEqual({ statement, rows: [] });
    const sum = `SELECT sum((receipt::jsonb ->> 'erased')::int)::int FROM erasure_receipts
      WHERE receipt::jsonb ->> 'requestId' = ANY($1)`;
    const signed = await column(store, sum, [open]);
    expect({ statement, signed }).toEqual({ statement, signed: [(await rowsIn('ledger')).length] });
  }
});

test('a receipt is checked with the public key alone, and nothing in it can be changed', async () => {
  const receipt = JSON.parse(JSON.stringify(await erase(pipeline.deps, { kind: 'call', values: ['call-1'] })));
  const { publicKey } = pipeline.store.erasures.proof.keys;
  expect(publicKey).toMatch(/^-----BEGIN PUBLIC KEY-----\n/);
  expect(isSigned(receipt, publicKey)).toBe(true);
  expect(isSigned({ ...receipt, erased: 2 }, publicKey)).toBe(false);
  expect(isSigned({ ...receipt, proof: { ...receipt.proof, receipt_id: 2 } }, publicKey)).toBe(false);
  expect(isSigned(receipt, createProofKeys(Buffer.from('another key of bytes')).publicKey)).toBe(false);
});

test('a receipt names tables of dbt, and what each warehouse keeps, as copies that outlive it', () => {
  const keepsDeleted = { days: 14, why: 'history of jobs' };
  const targets = [{ warehouse: { name: 'lake', traits: { keepsDeleted } } }] as unknown as WarehouseTarget[];
  const copies = listCopies(targets, new Date(0)).map(({ of, until }) => `${of} ${until?.slice(0, 10) ?? null}`);
  expect(copies).toEqual(['store null', 'dbt null', 'lake 1970-01-15']);
});
