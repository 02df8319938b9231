/**
 * Two warehouses, row by row: every column that digests cover, every row, also of a child whose call is gone.
 * The first reading sums up a row hash per group (the first column of the key, a call in most tables), so memory grows
 * with calls and not with rows; only groups whose sums differ are read again, row by row.
 */
import { createHash } from 'node:crypto';
import { type Column, type Row, tableOf, wordsView } from '../../schemas/tables.ts';
import { canonicalRow, digestedColumns } from './digest.ts';
import type { DigestedName, Warehouse } from './warehouse.ts';

/** Rows are told apart by key; of those, `different` are not the same in both, or are in one only. */
export interface TableComparison {
  readonly rows: number;
  readonly different: number;
  /** The first of them in the order of their keys, at most `examplesPerTable`. */
  readonly examples: readonly Difference[];
}

/** Where two warehouses differ; never what the values are. */
export interface Difference {
  readonly table: DigestedName;
  /** Name and value of each key column, such as `call_id=c-1 tag_index=0`. */
  readonly key: string;
  /** Columns whose values differ; empty where the row is missing or is there more than once. */
  readonly columns: readonly string[];
  /** How often each warehouse has the row, where that is not once in both. */
  readonly counts?: readonly [number, number];
}

export type Readable = Pick<Warehouse, 'rowsOf'>;

const examplesPerTable = 5;

/** Of the relations given, by name. Not for `loads` and `verdicts`: they tell of one warehouse, not of calls. */
export const compareWarehouses = async (
  left: Readable,
  right: Readable,
  names: readonly DigestedName[],
  onTable: (name: DigestedName, comparison: TableComparison) => void = () => undefined,
): Promise<Record<string, TableComparison>> => {
  const comparisons: Record<string, TableComparison> = {};
  for (const name of names) {
    const comparison = await compareTable(left, right, name);
    comparisons[name] = comparison;
    onTable(name, comparison);
  }
  return comparisons;
};

export const compareTable = async (left: Readable, right: Readable, name: DigestedName): Promise<TableComparison> => {
  const shape = shapeOf(name);
  const sums = new Map<string, bigint>();
  const [rows] = await Promise.all([addUp(shape, left, sums, 1n), addUp(shape, right, sums, -1n)]);
  const doubtful = new Set([...sums].filter(([, sum]) => sum !== 0n).map(([group]) => group));
  if (doubtful.size === 0) return { rows, different: 0, examples: [] };
  const [here, there] = await Promise.all([collect(shape, left, doubtful), collect(shape, right, doubtful)]);
  return summarize(shape, rows, here, there);
};

interface Shape {
  readonly name: DigestedName;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
}

const shapeOf = (name: DigestedName): Shape => ({
  name,
  columns: digestedColumns(name),
  key: (name === wordsView.name ? wordsView : tableOf(name)).key,
});

const keyOf = ({ key }: Shape, row: Row): string => key.map((name) => `${name}=${row[name]}`).join(' ');

const groupOf = ({ key }: Shape, row: Row): string => String(row[key[0] ?? '']);

/** Adds each row's hash, times `sign`, to the sum of its group. Returns the number of rows. */
const addUp = async (shape: Shape, source: Readable, sums: Map<string, bigint>, sign: bigint): Promise<number> => {
  let rows = 0;
  for await (const row of source.rowsOf(shape.name)) {
    const group = groupOf(shape, row);
    const hash = createHash('sha256').update(canonicalRow(shape.columns, row)).digest().readBigUInt64BE();
    sums.set(group, (sums.get(group) ?? 0n) + sign * hash);
    rows += 1;
  }
  return rows;
};

/** The rows of some groups, by key. */
const collect = async (shape: Shape, source: Readable, groups: ReadonlySet<string>): Promise<Map<string, Row[]>> => {
  const found = new Map<string, Row[]>();
  for await (const row of source.rowsOf(shape.name)) {
    if (!groups.has(groupOf(shape, row))) continue;
    const key = keyOf(shape, row);
    const standing = found.get(key);
    if (standing === undefined) found.set(key, [row]);
    else standing.push(row);
  }
  return found;
};

const summarize = (
  shape: Shape,
  rows: number,
  here: ReadonlyMap<string, readonly Row[]>,
  there: ReadonlyMap<string, readonly Row[]>,
): TableComparison => {
  const keys = [...new Set([...here.keys(), ...there.keys()])].sort();
  const differences = keys.flatMap((key) => compareKey(shape, key, here.get(key) ?? [], there.get(key) ?? []));
  const surplus = keys.filter((key) => !here.has(key)).length;
  return {
    rows: rows + surplus,
    different: differences.length,
    examples: differences.slice(0, examplesPerTable),
  };
};

const compareKey = (shape: Shape, key: string, here: readonly Row[], there: readonly Row[]): Difference[] => {
  const { name: table, columns } = shape;
  const [mine, other] = [here[0], there[0]];
  if (mine === undefined || other === undefined || here.length !== 1 || there.length !== 1) {
    return [{ table, key, columns: [], counts: [here.length, there.length] }];
  }
  const differing = columns.filter((column) => canonicalRow([column], mine) !== canonicalRow([column], other));
  return differing.length === 0 ? [] : [{ table, key, columns: differing.map((column) => column.name) }];
};
