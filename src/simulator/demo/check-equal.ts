/** Whether two warehouses hold the same rows after a demo. */

import { say } from '../../cli/shell/output.ts';
import { compareWarehouses, type Difference } from '../../warehouse/compare.ts';
import type { DigestedName, Warehouse } from '../../warehouse/warehouse.ts';

export interface Equality {
  /** Per table: rows in either warehouse, and those that are not the same in both. */
  readonly equal: Readonly<Record<string, { readonly rows: number; readonly different: number }>>;
  /** Some of the rows that differ, by key and column, without values. */
  readonly differences: readonly Difference[];
}

/** `changes`, `loads`, `verdicts` and `sync_state` tell of one warehouse each; `words` is a view over `utterances`, whose words are compared. */
const notCompared = new Set(['changes', 'loads', 'verdicts', 'sync_state', 'words']);
const attempts = 3;

/** Every table that both have, but those of `notCompared`. */
const checkEqual = async (left: Warehouse, right: Warehouse, tables: readonly string[]): Promise<Equality> => {
  const names = tables.filter((name) => !notCompared.has(name)) as DigestedName[];
  const compared = await compareWarehouses(left, right, names, (name, { rows, different }) =>
    say(`Compared ${name}: ${rows} rows, ${different} different`),
  );
  return {
    equal: Object.fromEntries(
      Object.entries(compared).map(([name, { rows, different }]) => [name, { rows, different }]),
    ),
    differences: Object.values(compared).flatMap(({ examples }) => examples),
  };
};

/** How many rows differ, over all tables. */
export const countDifferent = ({ equal }: Pick<Equality, 'equal'>): number =>
  Object.values(equal).reduce((sum, { different }) => sum + different, 0);

/**
 * Continuous sync goes on meanwhile, and a call that it finds is in one warehouse before it is in the other: what
 * differs is compared again, once all is loaded, before it counts.
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

/** One line for people: table, key and columns, never a value. */
export const describeDifference = (difference: Difference, names: readonly [string, string]): string => {
  const { table, key, columns, counts } = difference;
  const what =
    counts === undefined
      ? `differs in ${columns.join(', ')}`
      : `is there ${counts[0]} times in ${names[0]} and ${counts[1]} times in ${names[1]}`;
  return `Table ${table}, row ${key}: ${what}.`;
};
