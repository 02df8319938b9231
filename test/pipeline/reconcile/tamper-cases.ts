/**
 * Values altered, rows deleted and rows added by SQL in both warehouses: level `rows` finds each of them, heals it, and
 * the verdicts say so. The number is the caller's: some tens in the suite, 1,000 as a campaign.
 */

import { expect, onTestFinished } from 'vitest';
import { type Column, callTables, columnsOf, type Row, type Table, tableOf } from '../../../schemas/tables.ts';
import { hash32 } from '../../../src/simulator/calls/random.ts';
import type { Warehouse } from '../../../src/warehouse/warehouse.ts';
import { digestTables } from '../../support/digest-tables.ts';
import { register } from '../../support/pipeline.ts';
import { type Target, targets } from '../../warehouse/conformance-targets.ts';
import { day, type Installation, midnight, openInstallation } from './installation.ts';

export interface Tampering {
  readonly calls: number;
  readonly altered: number;
  /** Of them, those whose time is altered: another partition. */
  readonly moved: number;
  readonly deleted: number;
  readonly added: number;
  /** Calls whose guard is set above the ledger's, so that no load would replace them, or whose hash is taken away. */
  readonly raised: number;
  /** Compares once more at level rows after all is healed. */
  readonly again: boolean;
}

type Victim = { readonly table: Table; readonly row: Row };
type TestedWarehouse = { readonly warehouse: Warehouse; readonly target: Target };
type Site = Installation & { readonly warehouses: readonly TestedWarehouse[] };

const openSite = async (calls: number): Promise<Site> => {
  // Two days: a call is processed soon after it ends, and some after midnight.
  const times = { lateShare: 0, from: midnight(11), to: midnight(10) };
  const simulator = { seed: 11, calls: { count: calls, utterances: 2, words: 3, ...times } };
  const here = await openInstallation({ simulator });
  onTestFinished(here.close);
  const warehouses: TestedWarehouse[] = [];
  for (const [, useTarget] of targets) {
    const target = await useTarget();
    onTestFinished(target.dispose);
    const warehouse = target.open();
    await warehouse.migrate();
    await register(here.store, warehouse.name);
    warehouses.push({ warehouse, target });
  }
  const deps = { ...here.deps, targets: warehouses.map(({ warehouse }) => ({ warehouse, documents: true })) };
  return { ...here, deps, warehouses };
};

/** The SQL of a value other than the one that is there, in both dialects. */
const otherValue = ({ name, type }: Column, kind: string): string => {
  // The local BigQuery keeps decimals as text.
  if (type === 'decimal' && kind === 'bigquery') return `${name} = CONCAT(COALESCE(${name}, '1'), '7')`;
  if (type === 'text') return `${name} = CONCAT(COALESCE(${name}, ''), '~')`;
  if (type === 'bool') return `${name} = NOT COALESCE(${name}, FALSE)`;
  if (type === 'timestamp') return `${name} = TIMESTAMP '2001-02-03 04:05:06+00'`;
  if (type === 'json') return `${name} = ${kind === 'postgres' ? `'{"forged":1}'` : `JSON '{"forged":1}'`}`;
  if (type === 'words')
    return kind === 'postgres' ? "word_values = array_append(word_values, 'x')" : 'words = ARRAY_CONCAT(words, words)';
  return `${name} = COALESCE(${name}, 0) + 1`;
};

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);

const keyOf = (victim: Victim): string =>
  victim.table.key.map((name) => `${name} = ${literal(victim.row[name])}`).join(' AND ');

const idOf = (victim: Victim): string => literal(victim.row.call_id);
const idsOf = (victims: readonly Victim[]): string => victims.map(idOf).join(', ');

/** Rows of all tables, at most one of each call, in an order that follows from the seed. */
const chooseVictims = async (warehouse: Warehouse, seed: number): Promise<Victim[]> => {
  const all: { victim: Victim; place: number }[] = [];
  for (const [index, { name }] of callTables.entries()) {
    let rows = 0;
    for await (const row of warehouse.proof.rowsOf(name)) {
      rows += 1;
      all.push({ victim: { table: tableOf(name), row }, place: hash32(seed, index, rows) });
    }
  }
  const ofCalls = new Map<string, Victim>();
  for (const { victim } of all.sort((a, b) => a.place - b.place))
    if (!ofCalls.has(idOf(victim))) ofCalls.set(idOf(victim), victim);
  return [...ofCalls.values()];
};

const chooseColumn = ({ table }: Victim, index: number, moved: number): Column => {
  const columns = table.columns.filter(({ name }) => !table.key.includes(name));
  const time = columns.find(({ name }) => name === 'call_timestamp');
  return (index < moved ? time : columns[hash32(7, index) % columns.length]) as Column;
};

const tamper = async ({ warehouse, target }: TestedWarehouse, wanted: Tampering) => {
  const victims = await chooseVictims(warehouse, 5);
  const take = (n: number): Victim[] => victims.splice(0, n);
  const statements = new Map<string, string[]>();
  const add = (statement: string, victim: Victim): void => {
    statements.set(statement, [...(statements.get(statement) ?? []), `(${keyOf(victim)})`]);
  };
  for (const [index, victim] of take(wanted.altered).entries()) {
    const column = chooseColumn(victim, index, wanted.moved);
    add(`UPDATE ${victim.table.name} SET ${otherValue(column, warehouse.traits.kind)}`, victim);
  }
  for (const victim of take(wanted.deleted)) add(`DELETE FROM ${victim.table.name}`, victim);
  for (const [statement, keys] of statements) await target.execute(`${statement} WHERE ${keys.join(' OR ')}`);
  await target.execute(`INSERT INTO metadata (call_id, call_timestamp, key, value)
    SELECT call_id, call_timestamp, 'added', 'by hand' FROM calls WHERE call_id IN (${idsOf(take(wanted.added))})`);
  // Only a warehouse without keys takes a call twice: on its own day, and on the next one.
  const doubled = warehouse.traits.kind === 'bigquery' ? take(wanted.added) : [];
  const [same, next] = [doubled.slice(1), doubled.slice(0, 1)];
  const others = columnsOf(tableOf('calls')).flatMap(({ name }) => (name === 'call_timestamp' ? [] : [name]));
  if (doubled.length > 0)
    await target.execute(`INSERT INTO calls SELECT * FROM calls WHERE call_id IN (${idsOf(same)});
      INSERT INTO calls (call_timestamp, ${others.join(', ')})
      SELECT TIMESTAMP_ADD(call_timestamp, INTERVAL 1 DAY), ${others.join(', ')} FROM calls WHERE call_id IN (${idsOf(next)})`);
  const raised = take(wanted.raised);
  const guards = ['ledger_epoch', 'revision', 'flatten_version'].map((name) => `${name} = ${name} + 7`);
  for (const [index, change] of [...guards, 'content_hash = NULL'].entries()) {
    const ids = idsOf(raised.filter((_, at) => at % 4 === index));
    await target.execute(`UPDATE calls SET ${change} WHERE call_id IN (${ids})`);
  }
  const forged = take(wanted.added);
  await forge(target, forged);
  const touched = wanted.altered + wanted.deleted + wanted.added + doubled.length + wanted.raised;
  return { touched, forged: forged.length };
};

/** Calls of other ids: in a day that is judged, without a time, and long before anything was read. */
const forge = async (target: Target, forged: readonly Victim[]): Promise<void> => {
  const names = tableOf('calls').columns.map(({ name }) => name);
  const guard = ['ledger_epoch', 'revision', 'flatten_version', 'load_id'];
  const others = [...names, ...guard].filter((name) => name !== 'call_id' && name !== 'call_timestamp').join(', ');
  const times = ['call_timestamp', 'CAST(NULL AS TIMESTAMP)', "TIMESTAMP '1999-12-31 23:59:59+00'"];
  for (const [index, time] of times.entries()) {
    const ids = idsOf(forged.filter((_, at) => at % times.length === index));
    await target.execute(`INSERT INTO calls (call_id, call_timestamp, ${others})
      SELECT CONCAT('forged ', call_id), ${time}, ${others} FROM calls WHERE call_id IN (${ids})`);
  }
};

const digestsOf = async ({ warehouse }: TestedWarehouse): Promise<Record<string, string>> => {
  const { verdicts: _verdicts, deliveries: _deliveries, ...data } = await digestTables(warehouse);
  const [changes] = await warehouse.query(`SELECT COUNT(*) AS n FROM changes WHERE source = 'by hand'`);
  return { ...data, changes: String(changes?.n) };
};

const reconcileRows = ({ reconcile, deps, range }: Site) =>
  reconcile({ range: { from: range.from, to: range.from + 2 * day }, warehouseLevel: 'rows' }, deps);

/**
 * Tampers with both warehouses and reconciles at level rows. All that was altered is found and stands in verdicts.
 * Then everything is as before, and nothing is left unproven.
 */
export const findTampering = async (wanted: Tampering) => {
  const here = await openSite(wanted.calls);
  await here.backfill();
  for (const target of here.deps.targets) await here.drain(target);
  // Changes before the last ones, which the ledger no longer knows.
  for (const { target } of here.warehouses)
    await target.execute(`INSERT INTO changes (call_id, call_timestamp, field, revision, source, observed_at, loaded_at, kind)
      SELECT call_id, call_timestamp, 'status', 1, 'by hand', call_timestamp, call_timestamp, 'changed' FROM calls`);
  const before = await Promise.all(here.warehouses.map(digestsOf));
  expect(before[1]).toEqual(before[0]);
  const done = new Map<string, Awaited<ReturnType<typeof tamper>>>();
  for (const each of here.warehouses) done.set(each.warehouse.name, await tamper(each, wanted));

  const totals = await reconcileRows(here);
  const found = await here.query<{ warehouse: string; rows: number }>(`SELECT warehouse,
      sum(missing + different)::int AS rows
    FROM verdicts WHERE warehouse_level = 'rows' AND outcome <> 'unproven' GROUP BY warehouse`);
  const forged = [...done.values()].reduce((sum, one) => sum + one.forged, 0);
  expect(totals).toMatchObject({ unproven: 0, failed: 0, removed: forged });
  expect(await Promise.all(here.warehouses.map(digestsOf))).toEqual(before);
  const nothing = { missing: 0, different: 0, removed: 0, healed: 0, unproven: 0 };
  if (wanted.again) expect(await reconcileRows(here)).toMatchObject(nothing);
  const figures = Object.fromEntries(found.map(({ warehouse, rows }) => [warehouse, { rows, ...done.get(warehouse) }]));
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(Object.keys(figures)).toHaveLength(2);
  for (const [warehouse, { touched, rows }] of Object.entries(figures)) expect(rows, warehouse).toBe(touched);
};
