import { expect, onTestFinished, test } from 'vitest';
import { rereadCalls } from '../../../src/pipeline/read/reread-windows.ts';
import { listRefused, requestRewrite } from '../../../src/store/loads/loads.ts';
import { findNamingCalls, listSubjects } from '../../../src/store/persons/calls.ts';
import { observationOf } from '../../support/pipeline.ts';
import { day, midnight, openInstallation } from './installation.ts';
import { findTampering } from './tamper-cases.ts';

// `npm run campaign -- warehouse tamper` alters 1,000 values.
test('rows that were altered, deleted and added in a warehouse are found at level rows, and healed', async () => {
  await findTampering({ calls: 24, altered: 8, moved: 3, deleted: 2, added: 3, raised: 4, again: false });
});

/** The first six lose the document that was stored of the call, as a raised revision does. */
const alterations = [
  `UPDATE ledger_documents d SET (body, digest) = (SELECT body, digest FROM ledger_documents WHERE call_id <> $1 LIMIT 1)`,
  `UPDATE ledger_documents d SET body = (SELECT body FROM ledger_documents WHERE call_id <> $1 LIMIT 1)`,
  `UPDATE ledger_documents d SET body = '\\x06'`,
  'UPDATE ledger_documents d SET body = substr(body, 1, 40), digest = NULL',
  'UPDATE ledger_documents d SET revision = revision - 1',
  'DELETE FROM ledger_documents d',
  'DELETE FROM ledger d',
  'UPDATE ledger d SET revision = revision + 7',
  'UPDATE ledger d SET revision = 0',
  'UPDATE warehouse_calls d SET applied_revision = 99, pending = true',
  'UPDATE warehouse_calls d SET applied_revision = 0',
  'DELETE FROM warehouse_calls d',
  'UPDATE warehouse_calls d SET applied_epoch = 99, pending = true',
  'UPDATE ledger d SET revision = 2000000000',
  "UPDATE ledger d SET fields = 'null', field_changes = '[3]'",
  `UPDATE ledger d SET fields = '{"status": [1, 2]}', field_changes = '{"status": [1, 2]}'`,
  "UPDATE ledger d SET first_seen_at = 'infinity', last_seen_at = '-infinity', changed_at = '294000-01-01'",
];

test('rows that were altered or deleted in the ledger reach no warehouse and are no proof, and are healed', async () => {
  const calls = { count: alterations.length + 1, from: midnight(11), to: midnight(10) };
  const here = await openInstallation({ simulator: { seed: 12, calls } });
  onTestFinished(here.close);
  const reconcile = () =>
    here.reconcile({ range: { from: here.range.from, to: here.range.from + 2 * day }, force: true });
  const rows = () =>
    here.warehouse.query(`SELECT to_jsonb(c) - '{revision,load_id,first_seen_at,last_seen_at,changed_at,content_hash,call_changed_at}'::text[] AS row
      FROM calls c ORDER BY call_id`);
  await here.backfill();
  await here.drain();
  const before = await rows();
  const ids = await here.store.column<string>`SELECT call_id FROM ledger ORDER BY call_id`;
  for (const odd of ['tombstone = true', 'revision = 2147483647', "source_deleted_at = now() + interval '2 days'"])
    await expect(here.query(`UPDATE ledger SET ${odd}`)).rejects.toThrow('23514');
  await listSubjects(here.store);
  const persons = await here.store.column<string>`SELECT encode(s, 'hex') FROM ledger_documents, unnest(subjects) AS s`;
  for (const [at, sql] of alterations.entries()) await here.query(`${sql} WHERE d.call_id = $1`, [ids[at]]);
  // The lost call fills a load of its own, and holds back no other.
  for (const id of [ids[0], ids.at(-1)]) await requestRewrite(here.store, 'main', [id ?? '']);
  const { targets } = here.depsWith({ traits: { ...here.warehouse.traits, maxCallsPerLoad: 1 } });
  const { sent } = await here.drain(targets[0]);
  expect(sent).toBeGreaterThan(0);
  expect(await listRefused(here.store)).toMatchObject([
    { callId: ids[0], why: expect.stringContaining('LEDGER_DAMAGED') },
    { callId: ids[9], why: expect.stringContaining('newer than the ledger') },
    { callId: ids[12], why: expect.stringContaining('newer than the ledger') },
  ]);
  expect(await reconcile()).toMatchObject({ failed: 0, unproven: 1 });
  expect(await rows()).toEqual(before);
  // A request of a person finds the calls that are still to be read again.
  expect(await findNamingCalls(here.store, persons)).toEqual(expect.arrayContaining(ids.slice(0, 4)));
  // The next record of a call is the first to meet its loss, and has few of the values.
  const callId = ids.at(-1) ?? '';
  const meetLoss = async () => {
    await here.query('DELETE FROM ledger_documents WHERE call_id = $1', [callId]);
    await here.observe([observationOf(callId, Date.now() * 1000, { status: 'void' })], here.deps);
  };
  await meetLoss();
  // The clock of the service is known to a second: until then, that record may count as newer than what is read again.
  const second = Date.now() + 1_000;
  await expect.poll(() => Date.now()).toBeGreaterThan(second);
  expect(await rereadCalls(here.deps, new AbortController().signal)).toMatchObject({ reread: 9, failed: 0 });
  expect(await reconcile()).toMatchObject({ failed: 0, unproven: 0, healed: 0 });
  expect(await rows()).toEqual(before);
  await meetLoss();
  expect(await here.store.value`SELECT outcome FROM verdicts ORDER BY verdict_id DESC LIMIT 1`).toBe('unproven');
  // A lost call that the service no longer has keeps its rows, and holds back no proof.
  await here.query('DELETE FROM ledger_documents WHERE call_id = $1', [ids[0]]);
  await here.query('UPDATE ledger SET revision = 2000000000 WHERE call_id = $1', [ids[1]]);
  await here.simulator.delete({ callIds: ids.slice(0, 2) });
  expect(await reconcile()).toMatchObject({ failed: 0, markedMissing: 2 });
  expect(await reconcile()).toMatchObject({ failed: 0, unproven: 0 });
  expect(await rows()).toHaveLength(before.length);
});
