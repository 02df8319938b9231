/** The key of tokens is changed twice while the same people call again: erasures, objections and holds reach every call. */
import { beforeAll, expect, test } from 'vitest';
import type { CallDocument } from '../../../schemas/call.ts';
import type { Observation } from '../../../schemas/observation.ts';
import type { PersonRequest } from '../../../src/persons/request.ts';
import { findCalls } from '../../../src/pipeline/persons/erase.ts';
import { addHold, removeHold } from '../../../src/pipeline/persons/hold.ts';
import type { Privacy } from '../../../src/privacy/privacy.ts';
import { findHeldCalls } from '../../../src/store/gate.ts';
import { erase as eraseBy, mean } from '../../support/persons.ts';
import { aroundStatements, deliver, observationOf, usePipeline } from '../../support/pipeline.ts';
import { privacyUnder, privacyWith, rotatedKeys } from '../../support/rotated-keys.ts';
import { column } from '../../support/rows.ts';

/** As many calls under each key: every person calls under each. */
const calls = 30;
const begin = Date.UTC(2024, 2, 4);
const personOf = (index: number): string => `6399812${String((index * 7) % calls).padStart(2, '0')}`;
/** In every third, another one's number is said. */
const callOf = (index: number): CallDocument => ({
  timestamp: new Date(begin + index * 60_000).toISOString(),
  metadata: { ANI: `33${personOf(index)}` },
  in: { label: 'Customer', data: `33${personOf(index)}`, type: 'PHONE' },
  transcript_json: { callData: [{ content: index % 3 === 0 ? `le 0${personOf(index + 1)} merci` : 'oui' }] },
});
const [first, second, third] = rotatedKeys;

const pipeline = usePipeline({}, { keep: true });

const observe = (privacy: Privacy | undefined, observations: readonly Observation[]) =>
  pipeline.observe(observations, { ...pipeline.deps, sanitize: privacy?.sanitize });
const delivered = (unique_id: string, fields: CallDocument) => observationOf(unique_id, 0, fields);
const send = async (privacy: Privacy, observations: readonly Observation[]): Promise<void> => {
  const bodies = observations.map(({ fields }) => privacy.admit(Buffer.from(JSON.stringify(fields))));
  await deliver(pipeline.store, bodies);
  await pipeline.merge({ ...pipeline.deps, sanitize: privacy.sanitize });
};
const numbered = (prefix: string, from: number, length = calls): Observation[] =>
  Array.from({ length }, (_, index) => observationOf(`${prefix}-${from + index}`, begin * 1_000, callOf(from + index)));

beforeAll(async () => {
  for (const [part, privacy] of [first, second, third].entries()) {
    const turned = numbered('turned', part * calls);
    const [even = [], odd = []] = [0, 1].map((rest) => turned.filter((_, index) => index % 2 === rest));
    await observe(privacy, even);
    await send(privacy, odd);
    await pipeline.drain();
  }
});

const erase = (number: string, { sanitize, tokensOf }: Privacy, suppress = false) =>
  eraseBy({ ...pipeline.deps, sanitize }, { kind: 'phone', values: [number] }, { suppress, tokensOf });

test('an erasure by number finds what is stored under former keys', async () => {
  expect(await erase(`33${personOf(3)}`, third)).toMatchObject({ found: { calls: 0, documents: 0 } });
  const ids = [3, 3 + calls, 3 + 2 * calls].map((index) => `turned-${index}`);
  expect(await pipeline.tombstonesOf(ids)).toEqual(Object.fromEntries(ids.map((id) => [id, true])));
});

test('who objected is kept out under a later key too', async () => {
  const number = '33639980066';
  await erase(number, second, true);
  const fields = { in: { label: 'Customer', data: number, type: 'PHONE' } };
  await send(third, [delivered('objected-1', fields), delivered('other-1', { ...fields, in: null, Note: number })]);
  expect(await pipeline.tombstonesOf(['objected-1', 'other-1'])).toEqual({ 'objected-1': true, 'other-1': false });
});

test('a hold that is older than the key holds what is delivered under the key, by number and by value', async () => {
  const number = '33639980055';
  const clerk = { reason: 'case 17', actor: 'clerk' };
  const holdOf = (request: PersonRequest) => addHold(pipeline.store, mean(request, first.tokensOf), clerk);
  const byNumber = await holdOf({ kind: 'phone', values: [number] });
  const byValue = await holdOf({ kind: 'metadata', key: 'ClientID', values: ['client-55'] });
  const fields = { timestamp: '2025-03-01T10:00:00Z', in: null };
  await send(second, [
    delivered('held-1', { ...fields, in: { data: number } }),
    delivered('held-2', { ...fields, metadata: { ClientID: 'client-55' } }),
    // Another key of metadata is another subject.
    delivered('free-1', { ...fields, metadata: { Agent: 'client-5', Odd: { toString: 1 } } }),
  ]);
  const held = await findHeldCalls(pipeline.store, ['held-1', 'held-2', 'free-1'], pipeline.store.keyOf);
  expect([...held].sort()).toEqual(['held-1', 'held-2']);
  for (const { hold } of [byNumber, byValue]) await removeHold(pipeline.store, hold.id, clerk);
});

test('requests find by the index, whoever stored the call, and read little else', async () => {
  const { store } = pipeline;
  const find = async (request: PersonRequest) => {
    let read = 0;
    const counting = aroundStatements(store, async (sql, run) => {
      const rows = await run();
      if (sql.includes('body, digest FROM ledger_documents')) read += rows.length;
      return rows;
    });
    return { found: await findCalls(counting, mean(request, third.tokensOf)), read };
  };
  const phone = (number: string): PersonRequest => ({ kind: 'phone', values: [number] });
  // By a worker that knows neither rules nor index.
  await observe(undefined, numbered('plain', 0, 6));
  const first = await find(phone(`0${personOf(1)}`));
  expect(first.found).toContain('plain-1');
  expect(first.read).toBeGreaterThanOrEqual(6);
  const requests = [2, 4, 6].map((index) => phone(`+33${personOf(index)}`));
  for (const index of [1, 2]) requests.push({ kind: 'metadata', key: 'ANI', values: [`33${personOf(index)}`] });
  for (const request of requests) {
    const { read, found } = await find(request);
    expect([read, found.length > 2]).toEqual([0, true]);
  }
  // Listed under another key, or by other rules.
  await store.query(`UPDATE ledger_documents SET subjects = '{}', subjects_version = 1 WHERE call_id LIKE 'turned-%'`);
  expect((await find(phone(`0${personOf(2)}`))).read).toBeGreaterThan(3 * calls - 10);
  expect((await find(phone(`0${personOf(4)}`))).found.length).toBeGreaterThan(2);
  // A fold by a worker that writes no index may come between, behind the calls that are read.
  await store.pool.query(`UPDATE ledger_documents SET subjects_version = 1 WHERE call_id LIKE 'turned-%'`);
  const lost = `UPDATE ledger_documents SET subjects = NULL, subjects_version = NULL WHERE call_id = 'plain-2'`;
  const transaction: typeof store.transaction = (work) => store.transaction(work).finally(() => store.query(lost));
  expect(await findCalls({ ...store, transaction }, mean(phone(`0${personOf(2)}`)))).toContain('plain-2');
  // A later revision is found by what it names now.
  const fields = { metadata: {}, in: { data: '33639980044' }, out: null, transcript_json: null };
  await observe(third, [observationOf('plain-1', begin * 1_000 + 1, fields)]);
  expect((await find(phone('06 39 98 00 44'))).found).toEqual(['plain-1']);
  expect((await find(phone(`0${personOf(1)}`))).found).not.toContain('plain-1');
});

test('what a receiver with another key of the same name sends is kept apart, and its call is read again', async () => {
  const stranger = privacyUnder('k3', 'k1', 'k2');
  const fields = { unique_id: 'foreign-1', in: { data: '33639980033' } };
  for (const one of [privacyWith('k3', Buffer.alloc(32, 'another')), third]) {
    const { body, privacyVersion } = one.admit(Buffer.from(JSON.stringify(fields)));
    const seqs = await deliver(pipeline.store, [{ body }]);
    await pipeline.store.query('UPDATE inbox SET privacy_version = $2 WHERE seq = ANY($1)', [seqs, privacyVersion]);
  }
  await pipeline.merge({ ...pipeline.deps, sanitize: stranger.sanitize, isForeign: stranger.isForeign });
  const apart = { outcome: 'quarantined', reason: expect.stringContaining('privacy.key_file') };
  const latest = 'SELECT outcome, reason FROM inbox ORDER BY seq DESC LIMIT 2';
  expect(await pipeline.store.query(latest)).toMatchObject([{ outcome: 'accepted' }, apart]);
  expect(await column(pipeline.store, `SELECT reason FROM rereads WHERE call_id = 'foreign-1'`)).toEqual(['key']);
  // A key that the worker does not have by name is one that is to come.
  expect([privacyUnder('k9'), second].map(({ version }) => third.isForeign(version))).toEqual([false, false]);
});
