/** How tables and marts hang together, as a diagram in Mermaid. */
import { columnsOf, tables } from '../../schemas/tables.ts';
import { marts } from './marts.ts';

interface Entity {
  readonly name: string;
  /** Columns of the key and those by which it is joined. */
  readonly columns: readonly { readonly name: string; readonly type: string; readonly isKey: boolean }[];
}

interface Relation {
  readonly from: string;
  readonly to: string;
  readonly by: string;
  /** In Mermaid's crow's feet. */
  readonly ends: string;
}

const shown = marts.filter(({ intermediate }) => intermediate !== true);

const entityOf = (one: {
  readonly name: string;
  readonly key: readonly string[];
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}): Entity => ({
  name: one.name,
  columns: one.columns
    .filter(({ name }) => one.key.includes(name) || name === 'call_id')
    .map(({ name, type }) => ({ name, type, isKey: one.key.includes(name) })),
});

const entities: readonly Entity[] = [
  ...tables.map((table) => entityOf({ ...table, columns: columnsOf(table) })),
  ...shown.map((mart) => entityOf(mart)),
];

const relations: readonly Relation[] = [
  ...tables
    .filter(({ kind }) => kind === 'child' || kind === 'history')
    .map(({ name }) => ({ from: 'calls', to: name, by: 'call_id', ends: '||--o{' })),
  { from: 'calls', to: 'deliveries', by: 'call_id', ends: '|o--o{' },
  { from: 'loads', to: 'calls', by: 'load_id', ends: '||--o{' },
  { from: 'calls', to: 'calls_wide', by: 'call_id', ends: '||--||' },
  ...shown
    .filter(({ name, columns }) => name !== 'calls_wide' && columns.some((column) => column.name === 'call_id'))
    .map(({ name, key }) => ({
      from: 'calls_wide',
      to: name,
      by: 'call_id',
      ends: `||--o${key.length > 1 ? '{' : '|'}`,
    })),
  ...shown
    .filter(({ name, key }) => name !== 'completeness_daily' && key[0] === 'business_day')
    .map(({ name }) => ({ from: 'completeness_daily', to: name, by: 'business_day', ends: '||--o{' })),
];

export const renderMermaid = (): string =>
  [
    'erDiagram',
    ...relations.map(({ from, to, by, ends }) => `  ${from} ${ends} ${to} : ${by}`),
    ...entities.flatMap(({ name, columns }) => [
      `  ${name} {`,
      ...columns.map((column) => `    ${column.type} ${column.name}${column.isKey ? ' PK' : ''}`),
      '  }',
    ]),
  ].join('\n');
