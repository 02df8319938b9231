/** Incremental models after calls changed, came and were erased: as a full refresh makes them, with other rows left alone. */
import { expect } from 'vitest';
import { modelNameOf } from '../../scripts/dbt-package.ts';
import { marts } from '../../src/marts/marts.ts';
import { makeBatch, makeCall, makeTombstone } from '../warehouse/batches.ts';
import { readManifest } from './compare-models.ts';
import type { Dbt } from './dbt.ts';
import { type FilledWarehouse, sortRows } from './two-warehouses.ts';

/** @param execute one statement that writes */
export const compareIncremental = async (
  { run }: Dbt,
  folder: string,
  { warehouse, ask }: FilledWarehouse,
  execute: (sql: string) => Promise<unknown>,
  settings: Readonly<Record<string, unknown>>,
): Promise<void> => {
  const names = marts.flatMap((mart) => (mart.perCall === true ? [modelNameOf(mart)] : []));
  const vars = { ...settings, callsync_incremental: true };
  const build = (...more: string[]) => run(['run', ...more, '--select', ...names.map((name) => `+${name}`)], vars);
  await build();
  const nodes = Object.values(await readManifest(folder)).filter(({ name }) => names.includes(name));
  expect(nodes.map(({ config }) => config.materialized)).toEqual(names.map(() => 'incremental'));
  const relationOf = (name: string) => nodes.find((node) => node.name === name)?.relation_name;
  const read = () =>
    Promise.all(names.map(async (name) => [name, sortRows(await ask(`SELECT * FROM ${relationOf(name)}`))] as const));

  const spoken = `SELECT call_id, call_timestamp FROM {tables}.calls
    WHERE call_timestamp IS NOT NULL AND tag_count > 1 AND utterance_count > 2 ORDER BY call_id LIMIT 3`;
  const [changed, erased, kept] = (await ask(spoken)).map(({ call_id, call_timestamp }) => ({
    callId: call_id as string,
    partitions: [(call_timestamp as string).slice(0, 10)],
  }));
  if (changed === undefined || erased === undefined || kept === undefined) throw new Error('too few calls');
  await warehouse.load(
    makeBatch({
      calls: [makeCall({ ...changed, revision: 2 }), makeCall({ callId: 'new' })],
      tombstones: [makeTombstone(erased.callId, 2, erased.partitions)],
    }),
  );
  for (const name of names)
    await execute(`UPDATE ${relationOf(name)} SET business_day = NULL WHERE call_id = '${kept.callId}'`);
  await build();
  const found = await read();
  await build('--full-refresh');
  const whole = await read();
  for (const [at, [name, rows]] of found.entries()) {
    const ofCall = (callId: string) => rows.filter(({ call_id }) => call_id === callId);
    expect(ofCall(erased.callId), name).toEqual([]);
    expect(
      [changed.callId, 'new', kept.callId].map((id) => ofCall(id).length > 0),
      name,
    ).toEqual([true, true, true]);
    expect(
      ofCall(kept.callId).every(({ business_day }) => business_day === null),
      name,
    ).toBe(true);
    const others = (some: typeof rows) => some.filter(({ call_id }) => call_id !== kept.callId);
    expect(others(rows), name).toEqual(others(whole[at]?.[1] ?? []));
  }
};
