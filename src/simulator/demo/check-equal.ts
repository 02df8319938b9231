/** Whether two warehouses hold the same rows after a demo. */

import { createHash } from 'node:crypto';
import { tableOf } from '../../../schemas/tables.ts';
import { say } from '../../cli/shell/output.ts';
import { canonicalRow, digestedColumns } from '../../warehouse/digest.ts';
import type { DigestedName, Warehouse } from '../../warehouse/warehouse.ts';

type Equality = Awaited<ReturnType<typeof checkEqual>>;

/** `changes`, `loads`, `verdicts` and `sync_state` tell of one warehouse each; `words` is a view over `utterances`, whose words are compared. */
const notCompared = new Set(['changes', 'loads', 'verdicts', 'sync_state', 'words']);
const attempts = 3;
const examplesPerTable = 5;

/** Every column that digests cover, of every row, also of a child whose call is gone. */
export const checkEqual = async (
  left: Pick<Warehouse, 'rowsOf'>,
  right: Pick<Warehouse, 'rowsOf'>,
  tables: readonly string[],
) => {
  /** For each table, the rows in either warehouse, and the rows that differ. */
  const equal: Record<string, { rows: number; different: number }> = {};
  /** Some of the rows that differ, without their values: name and value of each key column, such as `call_id=c-1 tag_index=0`. */
  const differences: { readonly table: DigestedName; readonly key: string }[] = [];
  for (const table of tables.filter((name) => !notCompared.has(name)) as Exclude<DigestedName, 'words'>[]) {
    const sums = new Map<string, bigint>();
    const addUp = async (warehouse: Pick<Warehouse, 'rowsOf'>, sign: bigint): Promise<void> => {
      for await (const row of warehouse.rowsOf(table)) {
        const key = tableOf(table)
          .key.map((name) => `${name}=${row[name]}`)
          .join(' ');
        const text = canonicalRow(digestedColumns(table), row);
        const hash = createHash('sha256').update(text).digest().readBigUInt64BE();
        sums.set(key, (sums.get(key) ?? 0n) + sign * hash);
      }
    };
    await Promise.all([addUp(left, 1n), addUp(right, -1n)]);
    const different = [...sums].flatMap(([key, sum]) => (sum === 0n ? [] : [{ table, key }]));
    equal[table] = { rows: sums.size, different: different.length };
    differences.push(...different.slice(0, examplesPerTable));
    say(`Compared ${table}: ${sums.size} rows, ${different.length} different`);
  }
  return { equal, differences };
};

/** How many rows differ, over all tables. */
export const countDifferent = ({ equal }: Pick<Equality, 'equal'>): number =>
  Object.values(equal).reduce((sum, { different }) => sum + different, 0);

/**
 * Continuous sync goes on meanwhile, and a new call reaches one warehouse first. Differences therefore count only
 * after a second comparison, once all is loaded.
 */
export const checkEqualWhenSettled = async (
  left: Warehouse,
  right: Warehouse,
  options: { readonly tables: readonly string[]; readonly settle: () => Promise<void> },
): Promise<Equality> => {
  for (let attempt = 1; ; attempt += 1) {
    const equality = await checkEqual(left, right, options.tables);
    if (countDifferent(equality) === 0 || attempt >= attempts) return equality;
    await options.settle();
  }
};
