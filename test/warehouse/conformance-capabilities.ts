/** Duties of a warehouse beyond loading and proving: of each capability that it has. */
import { describe, expect, test } from 'vitest';
import { countRows } from '../../src/warehouse/content-hash.ts';
import type { StoredLoad } from '../../src/warehouse/restore.ts';
import { type Capabilities, requireFrom, type View } from '../../src/warehouse/warehouse.ts';
import { collect } from '../support/rows.ts';
import { allRows, keyOf, makeBatch, makeCall, makeLogRow, makeTombstone, verdictValues } from './batches.ts';
import { type Fixture, useFixture } from './conformance-fixture.ts';
import type { Target } from './conformance-targets.ts';

const day = 86_400_000;

const expireOldRows = async (expireLogs: Capabilities['expireLogs'], on: Fixture): Promise<void> => {
  const at = (days: number) => (Date.now() - days * day) * 1000;
  const deliveries = [8, 12].map((days) =>
    makeLogRow('deliveries', { seq: 800 + days, received_at: at(days), outcome: 'accepted' }),
  );
  const verdicts = [18, 22].map((days) => {
    const aged = { digest: `aged ${days}`, compared_at: at(days), outcome: 'proven' };
    return makeLogRow('verdicts', { ...verdictValues, ...aged });
  });
  await on.warehouse.load(makeBatch({ logs: { deliveries, verdicts } }));
  const { loads } = await countRows(on.warehouse);
  await expireLogs({ deliveries: 10 * day, loads: -day, verdicts: 20 * day });
  const recent = async (table: 'deliveries' | 'verdicts', column: string) =>
    (await allRows(on.warehouse, table)).map((row) => String(row[column]));
  expect([await recent('deliveries', 'seq'), await recent('verdicts', 'digest')]).toEqual([['808'], ['aged 18']]);
  expect((await countRows(on.warehouse)).loads).toBe(loads);
};

const findSetBack = async (restore: Capabilities['restore'], on: Fixture): Promise<void> => {
  const [kept, erased] = [on.newId(), on.newId()];
  const first = makeBatch({ calls: [kept, erased].map((callId) => makeCall({ callId, revision: 3 })), epoch: 4 });
  await on.warehouse.load(first);
  const second = makeBatch({ tombstones: [makeTombstone(erased, 4, ['2026-01-05'])], epoch: 5 });
  await on.warehouse.load(second);
  const loads: readonly StoredLoad[] = [second, first].map(({ loadId, epoch }) => ({ loadId, epoch }));
  const stored = await restore.listLoads(10);
  expect(stored.filter(({ epoch }) => epoch > 3)).toEqual(loads);
  expect(await restore.findLoads([first.loadId, 'never sent'])).toEqual(new Set([first.loadId]));
  expect((await collect(restore.listCallsOf(loads))).flat()).toEqual([{ callId: kept, revision: 3 }]);
  expect(await restore.findHighestEpoch()).toBe(5);
  expect((await collect(restore.listTombstones())).flat()).toEqual([keyOf(erased)]);
  expect(await restore.isEmptied()).toBe(false);
  await on.target.execute('DELETE FROM utterances WHERE TRUE');
  expect(await restore.isEmptied()).toBe(true);
};

const replaceView = async ({ ensure }: Capabilities['marts']): Promise<void> => {
  const view = (value: number): View => ({
    ...{ name: 'one_row', description: 'One row.', sql: `SELECT ${value} AS n` },
    columns: [{ name: 'n', description: 'A number.' }],
  });
  expect(await ensure('calls_marts', [view(1)])).toEqual(['one_row']);
  expect(await ensure('calls_marts', [view(1)])).toEqual([]);
  expect(await ensure('calls_marts', [view(2)])).toEqual(['one_row']);
};

const answerOnlyQueries = async (open: Capabilities['openReader'], on: Fixture): Promise<void> => {
  await on.load({ callId: on.newId() });
  const reader = open({ marts: 'calls_marts' });
  expect(await reader.ask('SELECT 1 AS n')).toEqual([{ n: 1 }]);
  const answered = await reader.answer('SELECT 7 AS n FROM calls', { rows: 1, bytes: 1_000, billedBytes: 1e9 });
  expect(answered.rows.map((row) => JSON.parse(row))).toEqual([{ n: 7 }]);
  await expect(reader.ask('DELETE FROM calls WHERE TRUE')).rejects.toMatchObject({ code: 'QUERY_REFUSED' });
  await reader.close();
};

const printGrants = async ({ statements }: Capabilities['grants'], on: Fixture): Promise<void> => {
  const [analyst, restricted] =
    on.warehouse.traits.kind === 'bigquery' ? ['group:a@b.c', 'group:d@e.f'] : ['analyst', 'restricted'];
  const printed = statements({ analyst, restricted, marts: 'calls_marts', openMarts: {} }).join('\n');
  expect(printed).toContain(analyst);
  expect(printed).toMatch(/\w_restricted/);
  expect(printed).not.toContain('content');
};

const keepSearchIndex = async (search: Capabilities['search'], on: Fixture): Promise<void> => {
  const callId = on.newId();
  await on.load({ callId, text: 'bonjour' });
  const refused = { code: 'SEARCH_UNSUPPORTED' };
  if (on.target.isEmulated === true) return await expect(search.create()).rejects.toMatchObject(refused);
  await search.create();
  expect(await search.status()).toMatchObject({ state: 'ready', pending: 0 });
  expect((await search.find({ text: 'bonjour', limit: 2 })).calls.map((found) => found.callId)).toEqual([callId]);
  await search.drop();
  expect(await search.status()).toMatchObject({ state: 'absent' });
};

const paceCommits = async ({ nextCommitInMs, readUsage }: Capabilities['pace'], on: Fixture): Promise<void> => {
  await on.load({ callId: on.newId() });
  expect(await nextCommitInMs('interval')).toBeGreaterThan(0);
  expect((await readUsage()).jobs.used).toBeGreaterThan(0);
};

type Duties = { readonly [C in keyof Capabilities]: (has: Capabilities[C], on: Fixture) => Promise<void> };

const duties: Duties = {
  search: keepSearchIndex,
  grants: printGrants,
  marts: replaceView,
  openReader: answerOnlyQueries,
  expireLogs: expireOldRows,
  restore: findSetBack,
  pace: paceCommits,
};

export const describeCapabilities = (name: string, useTarget: () => Promise<Target>): void => {
  describe.each(Object.keys(duties) as (keyof Duties)[])(`${name}: capability %s`, (capability) => {
    const on = useFixture(useTarget);
    const meet = duties[capability] as (has: unknown, on: Fixture) => Promise<void>;
    test('is there and does its duty, or is refused by name', async () => {
      if (on.warehouse[capability] !== undefined) return await meet(on.warehouse[capability], on);
      expect(() => requireFrom(on.warehouse, capability)).toThrow(/^Warehouse \w+ \(\w+\) has no [a-z]/i);
    });
  });
};
