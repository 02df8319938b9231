/**
 * Personal values of every kind come in by every way (deliveries, list, import, broken bytes, a replay with the private
 * key) under the profile `pseudonymous`. Then the test searches store and warehouse for them.
 */

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { CallDocument } from '../../../schemas/call.ts';
import { privacyConfigSchema } from '../../../schemas/config/privacy.ts';
import type { Config } from '../../../schemas/config.ts';
import type { Observation } from '../../../schemas/observation.ts';
import { storedData } from '../../../scripts/stored-data.ts';
import { holdsValues, type LedgerRow, prepareObservation } from '../../../src/calls/fold.ts';
import { joinKnown } from '../../../src/calls/own-fields.ts';
import { privacyChecks } from '../../../src/cli/commands/doctor/check.ts';
import { JsonRecord } from '../../../src/lib/json-record.ts';
import { createOpener } from '../../../src/lib/sealed.ts';
import type { PersonRequest } from '../../../src/persons/request.ts';
import type { IngestDeps } from '../../../src/pipeline/deps.ts';
import { replayQuarantine } from '../../../src/pipeline/import/replay-quarantine.ts';
import { applyRules } from '../../../src/pipeline/load/apply-rules.ts';
import { ingest } from '../../../src/pipeline/load/ingest.ts';
import { previewErasure } from '../../../src/pipeline/persons/erase.ts';
import { type Admitted, createPrivacy, type Privacy } from '../../../src/privacy/privacy.ts';
import { markDeliveriesLoaded, requestRereads, unloadedDeliveries } from '../../../src/store/delivery/inbox.ts';
import { createInboxWriter } from '../../../src/store/delivery/inbox-writer.ts';
import { readRows, withKnown } from '../../../src/store/ledger/ledger.ts';
import { countUnderOthers } from '../../../src/store/ledger/read-ledger.ts';
import { eraseCalls } from '../../../src/store/persons/calls.ts';
import { verifyReceipts } from '../../../src/store/persons/receipts.ts';
import { createDriftWatch } from '../../../src/store/status/drift.ts';
import { listEvents, recordOnce } from '../../../src/store/status/events.ts';
import { createProofKeys } from '../../../src/store/windows/chain.ts';
import { useFolder } from '../../support/folder.ts';
import { erase, mean, withProof } from '../../support/persons.ts';
import { deliver, observationOf, usePipeline } from '../../support/pipeline.ts';
import { makeSealingKeys } from '../../support/rotated-keys.ts';
import { collect, column } from '../../support/rows.ts';
import { readSchemas } from '../persons/search-everything.ts';
import { groups, personOf, recordOf, squeeze, valuesOf } from './planted-values.ts';

const pair = makeSealingKeys();
const keys = { token: Buffer.alloc(32, 7), seal: pair.publicKey };
const openRules = (settings: object = {}): Privacy =>
  createPrivacy(privacyConfigSchema.parse({ profile: 'pseudonymous', seal_key_file: 'public.pem', ...settings }), keys);
const privacy = openRules();
const { tokensOf } = privacy;

const pipeline = usePipeline({ documents: true }, { keep: true });
const folder = useFolder('privacy');
let deps: IngestDeps;
/** Of the rules without the key, as the ledger has it. */
const rulesOf = (version: string): string => version.slice(0, version.indexOf('.'));
/** Dependencies of a worker with other rules. */
const depsUnder = ({ sanitize, version }: Privacy) => ({ ...deps, sanitize, rulesVersion: rulesOf(version) });
const underOthers = () => countUnderOthers(pipeline.store, rulesOf(privacy.version));

beforeAll(() => {
  const { sanitize, seal, version } = privacy;
  const drift = createDriftWatch(pipeline.store, () => undefined);
  deps = { ...pipeline.deps, sanitize, rulesVersion: rulesOf(version), seal, drift };
});

const people = 60;
const ids = (way: string) => Array.from({ length: people }, (_, index) => `${way}-${index}`);
const whole = (way: string) => ids(way).map((callId, index) => JSON.stringify(recordOf(callId, index)));
const broken = (way: string) => whole(way).map((text) => text.slice(0, -1));

const send = async (bodies: readonly string[], { admit } = privacy): Promise<void> => {
  const sent = { deliveryId: null, hookId: 'hook', agent: 'Service-Webhook/1.0', signingKey: 'main' };
  const received = () => ({ ...sent, arrivalId: randomUUID(), receivedAt: new Date() });
  const deliveries = bodies.map((text) => ({ ...received(), ...admit(Buffer.from(text)) }));
  await createInboxWriter({ pool: pipeline.store.pool }).insert(deliveries);
};

const observe = async (way: 'poll' | 'import'): Promise<void> => {
  const observations = ids(way).map((callId, index): Observation => {
    const fields: Record<string, unknown> = recordOf(callId, index);
    const large = way === 'poll' && { transcript_json: Buffer.from(JSON.stringify(fields.transcript_json)) };
    return { callId, source: way, observedAt: 1_700_000_000_000_000, fields: new JsonRecord({ ...fields, ...large }) };
  });
  const refused = { reason: 'not JSON', source: way, origin: 'list', receivedAt: new Date() };
  const rejected = broken(`${way}-broken`).map((body) => ({ ...refused, body: Buffer.from(body) }));
  await (await ingest(deps, { observations, rejected, origin: 'test' })).load();
};

/** Everything that both schemas hold as text. */
const dump = async (): Promise<string> =>
  (await collect(readSchemas(pipeline.store.pool, ['callsync', 'wh_main']))).join('\n');
/** Of a person's values those that a squeezed text holds. */
const heldIn = (squeezed: string, index: number) => valuesOf(index).filter((value) => squeezed.includes(value));

test('no value of any kind is found in store or warehouse, and tokens join', async () => {
  await send([...whole('webhook'), ...broken('broken'), ...whole('webhook')]);
  await pipeline.merge(deps);
  await observe('poll');
  await observe('import');
  await pipeline.drain();

  const held = squeeze(await dump());
  for (let index = 0; index < people; index += 1) expect(heldIn(held, index)).toEqual([]);
  expect(held).toContain('phk1');

  const [joined] = await pipeline.warehouse.query(`SELECT count(*) AS n FROM contacts c JOIN metadata m USING (call_id)
      JOIN utterances u USING (call_id) WHERE m.key = 'ANI' AND m.value = c.phone AND u.content LIKE '%' || c.phone || '%'`);
  expect(Number(joined?.n)).toBe(3 * people);
});

test('table redactions names replaced words: a token or a name in brackets, and no word is left out', async () => {
  const [counts] = await pipeline.warehouse.query(`SELECT count(*) AS spans,
        count(*) FILTER (WHERE first_word IS NOT NULL AND (w.value ~ '^(ph_k1_|\\[|…)') IS NOT TRUE) AS wrong
      FROM redactions r LEFT JOIN words w ON (w.call_id, w.utterance_index, w.word_index) = (r.call_id, r.utterance_index, r.first_word)`);
  expect(Number(counts?.spans)).toBeGreaterThan(people);
  expect(Number(counts?.wrong)).toBe(0);
  const unlisted = await pipeline.warehouse.query(`SELECT w.call_id FROM words w
      WHERE w.value ~ '^(ph_k1_|\\[[a-z]+\\]|…)' AND NOT EXISTS (
        SELECT FROM redactions r WHERE r.call_id = w.call_id AND r.utterance_index = w.utterance_index
           AND w.word_index BETWEEN coalesce(r.first_word, 0) AND coalesce(r.last_word, w.word_index))`);
  expect(unlisted).toEqual([]);
});

test('a repeated body is known by its keyed hash, and sealed ones replay with the private key alone', async () => {
  const counted = "SELECT outcome || ' ' || count(*) FROM inbox GROUP BY outcome ORDER BY outcome";
  const outcomes = ['accepted', 'duplicate', 'quarantined'].map((outcome) => `${outcome} ${people}`);
  expect(await column(pipeline.store, counted)).toEqual(outcomes);
  await send([JSON.stringify([recordOf('list', 0)])]);
  await pipeline.merge(deps);
  const carries = new Set<string>();
  const { replayed, refused } = await replayQuarantine(deps, { carries });
  expect(replayed).toBe(0);
  const open = createOpener(pair.privateKey);
  expect(await replayQuarantine(deps, { carries, open })).toMatchObject({ replayed, refused });
  const reasons = await column(pipeline.store, 'SELECT DISTINCT reason FROM quarantine ORDER BY 1');
  expect(reasons).toEqual(['not JSON', 'not a JSON object']);
  const stored = await column<Buffer>(pipeline.store, 'SELECT body FROM quarantine');
  expect(stored.every((body) => !body.includes('unique_id'))).toBe(true);
});

/** Deliveries of a call, or whose bodies name it, in this field or in any. */
const namedIn = (id: string, field = ''): string =>
  `SELECT 1 FROM inbox WHERE call_id = '${id}' OR convert_from(body, 'UTF8') LIKE '%${field}"${id}"%'`;

test('a person’s calls are erased by telephone number in any form, with waiting and quarantined records', async () => {
  const { phone } = personOf(1);
  const request = { kind: 'phone', values: [groups(phone, 2)] } as const;
  expect(await previewErasure(deps, mean(request, tokensOf))).toMatchObject({ calls: 3, erased: 0, purged: undefined });
  await send([JSON.stringify({ ...recordOf('webhook-1', 1), status: 'void' })]);
  const receipt = await erase(deps, request, { tokensOf });
  expect(receipt).toMatchObject({ calls: 3, erased: 3, purged: { inbox: 3, rereads: 0, frames: 0 } });
  const nothing = { calls: 0, documents: 0, inbox: 0, rereads: 0, quarantine: 0, frames: 0, heldTexts: 0 };
  expect(receipt.found).toEqual({ ...nothing, warehouses: [{ name: 'main', erased: 3, waiting: 0, rows: 0 }] });
  expect(JSON.stringify(receipt)).not.toContain(phone.slice(2));
  await pipeline.merge(deps);
  await send([JSON.stringify({ ...recordOf('webhook-1', 1), status: 'late' })]);
  await pipeline.settle(deps);

  expect(await pipeline.query(namedIn('webhook-1'))).toEqual([]);
  const [token] = tokensOf(phone);
  const expected = { 'import-1': true, 'poll-1': true, 'webhook-1': true, 'webhook-2': false };
  expect(await pipeline.tombstonesOf(Object.keys(expected))).toEqual(expected);
  expect(await pipeline.warehouse.query(`SELECT call_id FROM contacts WHERE phone = '${token}'`)).toEqual([]);
  const idsIn = (where: string) => column(pipeline.warehouse, `SELECT DISTINCT call_id FROM ${where}`);
  expect(await idsIn(`redactions WHERE call_id IN ('${Object.keys(expected).join("', '")}')`)).toEqual(['webhook-2']);
  const deliveries = await idsIn(`deliveries WHERE call_id LIKE 'erased:%' OR call_id = 'webhook-1'`);
  expect(deliveries).toEqual([`erased:${pipeline.store.keyOf('webhook-1')}`]);
  expect((await erase(deps, request, { tokensOf })).calls).toBe(0);
});

test('deliveries that came in under other rules, or none, come under the present ones at the merge', async () => {
  for (const [index, privacyVersion] of ['older', undefined].entries()) {
    const admit = (body: Buffer) => ({ ...privacy.admit(body), body, privacyVersion }) as Admitted;
    await send([JSON.stringify(recordOf(`other-rules-${index}`, people + index))], { ...privacy, admit });
  }
  await pipeline.merge(deps);
  for (const index of [0, 1]) {
    const row = await pipeline.rowOf(`other-rules-${index}`);
    expect(row?.document).toBeDefined();
    expect(heldIn(squeeze(JSON.stringify(row)), people + index)).toEqual([]);
  }
  expect(await underOthers()).toBe(0);
  await pipeline.query(`UPDATE inbox SET body = '' WHERE call_id LIKE 'other-rules-%'`);
});

test('rules that come later apply to what is stored: ledger, deliveries, quarantine, warehouse', async () => {
  const raw = JSON.stringify(recordOf('late-3', 3));
  await deliver(pipeline.store, [{ body: raw }, { body: raw.slice(0, -1) }]);
  await pipeline.settle();
  expect(heldIn(squeeze(await dump()), 3)).toEqual(valuesOf(3));

  expect(await applyRules(deps, privacy)).toMatchObject({ calls: 1, changed: 1, inbox: 1, quarantine: 1 });
  await pipeline.drain();
  expect(heldIn(squeeze(await dump()), 3)).toEqual([]);
  expect(await applyRules(deps, privacy)).toEqual({ calls: 0, changed: 0, inbox: 0, quarantine: 0, indexed: 0 });
  await pipeline.query(`UPDATE ledger SET privacy_version = 'older' WHERE call_id IN ('late-3', 'poll-5')`);
  expect(await underOthers()).toBe(2);
  expect(await applyRules(deps, privacy)).toMatchObject({ calls: 2, changed: 0 });
  expect(await underOthers()).toBe(0);
});

const looser = openRules({ disabled_detectors: ['birth'] });
const born = 'née le 12/03/1985';
const spoken = { callData: [{ from: 'in', content: `${born} au 06 39 98 12 34` }] };
const callOf = (id: string, more: object) => ({ unique_id: id, timestamp: '2025-03-01T10:00:00Z', ...more });
const bodyOf = (id: string, more = {}) => JSON.stringify(callOf(id, { transcript_json: spoken, ...more }));
/** The doctor's check of rules. */
const check = (name: 'privacy' | 'call ids', settings: object) => {
  const privacy = privacyConfigSchema.parse({ profile: 'pseudonymous', ...settings });
  const config = { privacy, store: { data_dir: folder } } as Config;
  return privacyChecks({ config }, Promise.resolve(pipeline.store))[name]?.(new AbortController().signal);
};
const redactionsOf = (callId: string) =>
  column(pipeline.warehouse, `SELECT detector FROM redactions WHERE call_id = '${callId}' ORDER BY redaction_index`);

test('workers and receivers with other rules: the doctor tells of ids that hold the number of their call', async () => {
  const key_file = join(folder, 'token.key');
  writeFileSync(key_file, keys.token);
  const call = { timestamp: '2035-01-01T00:00:00Z', in: { data: '33612345678', type: 'PHONE' } };
  const checkWith = async (id: string) => {
    await send([JSON.stringify({ unique_id: id, ...call })]);
    await pipeline.merge(deps);
    return await check('call ids', { unreadable: 'drop', key_file });
  };
  expect(await checkWith('in-0699999999-20250101-1')).toMatchObject({ outcome: 'ok' });
  const expected = { outcome: 'warning', message: expect.stringMatching(/^Ids of 1 of/) };
  expect(await checkWith('in-0612345678-20250101-1')).toMatchObject(expected);
});

test('a call that a worker folded under looser rules comes under the present ones when it is seen again', async () => {
  const earlier = depsUnder(looser);
  await send([bodyOf('folded-looser')], looser);
  await pipeline.settle(earlier);
  const before = await pipeline.rowOf('folded-looser');
  expect(JSON.stringify(before?.document)).toContain(born);
  expect(before?.rules).toBe(earlier.rulesVersion);
  const message = `1 call(s) are not under rules ${rulesOf(privacy.version)}, but under others or none.`;
  expect(await check('privacy', { unreadable: 'drop' })).toMatchObject({ outcome: 'warning', message });
  const none = { privacy: privacyConfigSchema.parse({}) } as Config;
  expect(privacyChecks({ config: none }, Promise.resolve(pipeline.store))).toEqual({});

  await send([JSON.stringify({ unique_id: 'folded-looser', status: 'void' })]);
  await pipeline.settle(deps);
  const after = await pipeline.rowOf('folded-looser');
  expect(JSON.stringify(after?.document)).not.toContain('1985');
  expect(after).toMatchObject({ rules: rulesOf(privacy.version), document: { status: 'void' } });
  expect(await redactionsOf('folded-looser')).toEqual(['birth', 'phone']);
  expect(await underOthers()).toBe(0);

  // Looser ones: what was taken stays away, until the call is read again.
  await send([JSON.stringify({ unique_id: 'folded-looser', status: 'open' })], looser);
  await pipeline.merge(earlier);
  expect(JSON.stringify((await pipeline.rowOf('folded-looser'))?.document)).not.toContain('1985');
  await send([bodyOf('folded-looser', { status: 'read again' })], looser);
  await pipeline.merge(earlier);
  expect(JSON.stringify((await pipeline.rowOf('folded-looser'))?.document)).toContain(born);
});

test('a list of redactions that a sender wrote is in no table; once rules act, only their part of it', async () => {
  const listed = { callData: [{ from: 'in', content: 'oui' }], callsync_redactions: [[0, null, null, 'phone', 1]] };
  await pipeline.send([bodyOf('listed', { transcript_json: listed })]);
  await pipeline.drain();
  expect(await redactionsOf('listed')).toEqual([]);
  expect((await pipeline.rowOf('listed'))?.rules).toBeNull();

  expect(await applyRules(deps, privacy)).toMatchObject({ calls: 2, changed: 2 });
  await pipeline.drain();
  expect(await redactionsOf('listed')).toEqual(['phone']);

  await pipeline.send([{ unique_id: 'listed', status: 'without rules' }]);
  expect((await pipeline.rowOf('listed'))?.rules).toBe('none');
  expect(await applyRules(deps, privacy)).toMatchObject({ calls: 1, changed: 0 });
});

test('values that one record of a call names go from the transcripts of all, in any order and once', async () => {
  const naming = openRules({ rules: [{ path: 'transcript.known_values', action: 'redact' }] });
  const { sanitize } = naming;
  const named = depsUnder(naming);
  const transcriptOf = (content: string) => ({
    transcript_json: { callData: [{ from: 'in', content, words: content.split(' ').map((value) => ({ value })) }] },
  });
  const contact = { in: { label: 'Zénobie Quatrefages', data: '+33639981234', type: 'PHONE' } };
  const heard = transcriptOf('ici zenobie quatrefages bonjour');
  const polledAt = (callId: string, seconds: number, fields: CallDocument) =>
    observationOf(callId, Date.UTC(2026, 0, 1) * 1_000 + seconds * 1e6, fields);
  // The contact first, the transcript first, both in one batch.
  await send([JSON.stringify({ unique_id: 'named-first', ...contact, ...transcriptOf('oui') })], naming);
  await pipeline.settle(named);
  const later = Date.now() / 1000 - Date.UTC(2026, 0, 1) / 1000;
  await pipeline.observe([polledAt('named-first', later + 60, heard)], named);
  const once = await pipeline.rowOf('named-first');
  await pipeline.observe([polledAt('named-first', later + 120, heard)], named);
  expect((await pipeline.rowOf('named-first'))?.revision).toBe(once?.revision);
  // A comparison finds no difference in a record that names fewer values than its call.
  const listed = prepareObservation(sanitize(polledAt('named-first', later + 180, { ...heard, metadata: null })));
  const held = (await readRows(pipeline.store, ['named-first'])).get('named-first') as LedgerRow;
  const row = { ...held, document: held.document?.with({ metadata: null }) ?? null };
  expect(holdsValues(row, listed)).toBe(false);
  expect(holdsValues(row, withKnown(listed, joinKnown(held.document?.value('callsync_known')), sanitize))).toBe(true);
  await pipeline.observe([polledAt('said-first', 1, heard)], named);
  await pipeline.observe([polledAt('said-first', 2, contact)], named);
  await pipeline.observe([polledAt('at-once', 1, heard), polledAt('at-once', 2, contact)], named);
  await pipeline.drain();
  const replaced = { transcript_json: { callData: [{ content: 'ici [known] … bonjour' }] } };
  for (const id of ['named-first', 'said-first', 'at-once']) {
    expect((await pipeline.rowOf(id))?.document, id).toMatchObject(replaced);
    expect(await redactionsOf(id)).toEqual(['known']);
    const [extra] = await column(pipeline.warehouse, `SELECT extra FROM calls WHERE call_id = '${id}'`);
    expect(extra ?? '').not.toMatch(/known/);
  }
  expect(await dump()).not.toMatch(/quatrefages/i);

  // A delivery with many values has them as bytes.
  const metadata = Object.fromEntries([...'abcdefghijkl'].map((at) => [`Name${at}`, `Aglaé${at} Wenceslas Ingoult`]));
  const rules = Object.keys(metadata).map((key) => ({ path: `metadata.${key}`, action: 'token' as const }));
  const many = openRules({ rules: [{ path: 'transcript.known_values', action: 'redact' }, ...rules] });
  const withMany = depsUnder(many);
  await send([JSON.stringify({ unique_id: 'as-bytes', metadata, ...heard })], many);
  await pipeline.settle(withMany);
  await pipeline.observe([polledAt('as-bytes', 1, contact)], withMany);
  await pipeline.drain();
  expect((await pipeline.rowOf('as-bytes'))?.document).toMatchObject(replaced);
});

test('the page on personal data names every table of the store', async () => {
  const tables = `information_schema.tables WHERE table_schema = 'callsync' AND table_type = 'BASE TABLE'`;
  const names = await column(pipeline.store, `SELECT table_name FROM ${tables} ORDER BY 1`);
  expect(Object.keys(storedData.store).sort()).toEqual(names);
});

const eraseRaw = (request: PersonRequest, suppress = false) => erase(pipeline.deps, request, { suppress });

test('after an erasure, repeated deliveries leave neither body nor id, and nobody asks the API', async () => {
  const first = callOf('late-call', { status: 'one' });
  await deliver(pipeline.store, [{ body: first, deliveryId: 'late-call:1' }]);
  await pipeline.merge();
  await eraseRaw({ kind: 'call', values: ['late-call'] });
  await deliver(pipeline.store, [
    { body: first, deliveryId: 'late-call:1' },
    { body: first, deliveryId: 'late-call:2' },
    { body: callOf('late-call', { status: 'two' }), deliveryId: '1500000000000-abc' },
    { body: callOf('other-call', { status: 'see late-call', parent: 'late-call' }), deliveryId: 'other-call:1' },
  ]);
  await pipeline.settle({ ...pipeline.deps, confirmWebhooks: true });
  expect(await pipeline.query(namedIn('late-call', '"unique_id":'))).toEqual([]);
  expect(await pipeline.query(`SELECT 1 FROM rereads WHERE call_id = 'late-call'`)).toEqual([]);
  expect(await pipeline.warehouse.query(`SELECT call_id FROM deliveries WHERE call_id = 'late-call'`)).toEqual([]);
  expect(await column(pipeline.store, `SELECT outcome FROM inbox WHERE call_id = 'other-call'`)).toEqual(['accepted']);
});

test('after an erasure, a load under way, with older rows, is not taken for the last word', async () => {
  await pipeline.send([callOf('loading-call', {})]);
  const unloaded = () => unloadedDeliveries(pipeline.store, 'main', 100);
  const rows = await unloaded();
  expect(rows.flatMap((row) => Object.values(row))).toContain('loading-call');
  await eraseCalls(pipeline.store, ['loading-call']);
  await markDeliveriesLoaded(pipeline.store, 'main', rows);
  const left = (await unloaded()).flatMap((row) => Object.values(row));
  expect(left).toContain(`erased:${pipeline.store.keyOf('loading-call')}`);
  await pipeline.drain();
  expect(await unloaded()).toEqual([]);
});

test('an interrupted erasure is ended by the next one, also in texts that belong to no call', async () => {
  const body = callOf('half-done', { in: { data: '+33655443322' } });
  await pipeline.send([body, `{"phone": "0 6 55 44 33 22`, '{"id": "106554433221"']);
  await requestRereads(pipeline.store, ['half-done'], 'repeat');
  // The process ends behind its first batch of calls.
  await eraseCalls(pipeline.store, ['half-done']);
  const receipt = await eraseRaw({ kind: 'phone', values: ['+33 6 55 44 33 22'] });
  expect(receipt).toMatchObject({ calls: 0, purged: { quarantine: 1 } });
  await pipeline.drain();
  const text = await dump();
  expect(text).not.toContain('33655443322');
  expect(text).not.toContain('55 44 33 22');
  expect(text).toContain('106554433221');
  expect(await pipeline.query(`SELECT 1 FROM inbox WHERE call_id = 'half-done'`)).toEqual([]);
  expect(await pipeline.query(`SELECT 1 FROM rereads WHERE call_id = 'half-done'`)).toEqual([]);
});

test('the timeline tells once that other rules act', async () => {
  for (const version of ['one', 'one', 'two', 'one'])
    await recordOnce(pipeline.store, 'privacy', `Privacy rules ${version} act on what comes in from now on`);
  const told = (await listEvents(pipeline.store, 50)).filter(({ kind }) => kind === 'privacy');
  expect(told.map(({ what }) => what.split(' ')[2]).reverse()).toEqual(['one', 'two', 'one']);
});

test('receipts of erasures are a chain that shows a change, a forgery and a cut', async () => {
  const { store } = pipeline;
  const sound = await verifyReceipts(store);
  expect(sound).toMatchObject({ broken: [], cut: [] });
  expect(sound.verdicts).toBeGreaterThan(2);
  const receipts = await column(store, 'SELECT receipt FROM erasure_receipts ORDER BY receipt_id');
  expect(receipts.join('\n')).not.toMatch(/late-call|11 ?22 ?33 ?44|655443322/);

  const changed = (from: number, to: number) => `replace(receipt, '"erased":${from}', '"erased":${to}')`;
  const change = (to: string) => store.query(`UPDATE erasure_receipts SET receipt = ${to} WHERE receipt_id = 1`);
  await change(changed(3, 4));
  expect(await verifyReceipts(store)).toMatchObject({ broken: [1], cut: [] });
  await change(changed(4, 3));
  const other = withProof(store, { keys: createProofKeys(Buffer.from('another key of bytes')) });
  expect((await verifyReceipts(other)).broken).toHaveLength(sound.verdicts);
  await store.query('DELETE FROM erasure_receipts WHERE receipt_id = (SELECT max(receipt_id) FROM erasure_receipts)');
  expect(await verifyReceipts(store)).toMatchObject({ broken: [], cut: [{ digest: sound.head }] });
});
