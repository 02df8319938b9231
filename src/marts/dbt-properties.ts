/** Descriptions, types and tests of dbt models, from the definitions of marts and tables. */
import type { ColumnType } from '../../schemas/tables.ts';
import type { Mart, MartType } from './mart.ts';

type DbtType = Exclude<ColumnType, 'words'> | MartType;

const types: Readonly<Record<DbtType, readonly [postgres: string, bigquery: string]>> = {
  text: ['text', 'STRING'],
  int: ['bigint', 'INT64'],
  float: ['double precision', 'FLOAT64'],
  bool: ['boolean', 'BOOL'],
  date: ['date', 'DATE'],
  timestamp: ['timestamp with time zone', 'TIMESTAMP'],
  json: ['jsonb', 'JSON'],
  // For seeds alone: the local BigQuery reads no BIGNUMERIC from a file.
  decimal: ['numeric', 'NUMERIC'],
};

/** In a property file no macro can be called, so the type is chosen by the target itself. */
export const dataType = (type: DbtType): string =>
  `{{ '${types[type][1]}' if target.type == 'bigquery' else '${types[type][0]}' }}`;

export const dbtDescription = (one: { readonly description: string; readonly grain: string }): string =>
  `${one.description} Grain: ${one.grain}.`;

export const dbtColumn = ({ name, description }: { readonly name: string; readonly description: string }) => ({
  name,
  description,
});

/** One entry of `models:`. */
export const modelProperties = (mart: Mart, name: string) => {
  const [single] = mart.key;
  const isSingle = mart.key.length === 1 && mart.keyMayBeNull !== true;
  const share = mart.columns.filter((column) => column.name.endsWith('_share')).map((column) => column.name);
  return {
    name,
    description: dbtDescription(mart),
    config: { contract: { enforced: `{{ var('callsync_contracts', false) }}` } },
    data_tests: [
      ...(mart.key.length > 1 ? [{ callsync_unique_combination: { arguments: { columns: mart.key } } }] : []),
      ...(mart.name !== 'calls_wide' && mart.key[0] === 'call_id' && mart.intermediate !== true
        ? [{ callsync_has_call: { arguments: { calls: `ref('callsync__calls')` } } }]
        : []),
    ],
    columns: mart.columns.map((column) => ({
      name: column.name,
      description: column.description,
      data_type: dataType(column.type),
      ...testsOf({
        isKey: mart.key.includes(column.name) && mart.keyMayBeNull !== true,
        isUnique: isSingle && column.name === single,
        isShare: share.includes(column.name),
      }),
    })),
  };
};

const testsOf = (column: { readonly isKey: boolean; readonly isUnique: boolean; readonly isShare: boolean }) => {
  const tests = [
    ...(column.isKey ? ['not_null'] : []),
    ...(column.isUnique ? ['unique'] : []),
    ...(column.isShare ? ['callsync_is_share'] : []),
  ];
  return tests.length === 0 ? {} : { data_tests: tests };
};
