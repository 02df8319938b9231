/** The marts in Markdown, and how tables and marts hang together as a diagram. */
import { guardColumns, type Table, tables } from '../../schemas/tables.ts';
import type { Mart } from './mart.ts';
import { marts } from './marts.ts';
import { modelNameOf } from './render-dbt.ts';

/** docs/marts.md. */
export const renderMartReference = (): string =>
  [
    '# Marts',
    '',
    'Generated from src/marts by `npm run generate`. callsync creates these views in a schema or dataset of their own (`calls_marts`',
    'beside `calls`; `warehouses.NAME.marts` and `marts_schema`), in PostgreSQL and in BigQuery, and replaces those whose definition',
    'has changed. The package in [`dbt/`](../dbt/README.md) builds the same as dbt models. The settings are those of the section',
    '`analytics` of the [configuration](config.md): time zone of business days, side of the agent, units (`callsync calibrate` finds',
    'them out), and metadata keys that become columns of `calls_wide`. A figure that needs a setting is null while it is unknown, and',
    'a status column beside it says so.',
    '',
    '`callsync await --proven --from DAY --to DAY` waits until days are proven and then ends with 0, so that a pipeline starts on',
    'proof and not on a clock:',
    '',
    '```sh',
    '# cron: every night, at most two hours',
    `5 2 * * *  callsync await --proven --from "$(date -u -d yesterday +\\%F)" --to "$(date -u +\\%F)" --timeout 2h && dbt build`,
    '```',
    '',
    'In Airflow it is a `BashOperator` before the dbt task (exit code 5 fails it, 4 is worth a retry); in Dagster, a step that runs',
    'the same command and raises for any other code than 0.',
    '',
    '```mermaid',
    renderErDiagram(),
    '```',
    '',
    ...marts.filter(({ intermediate }) => intermediate !== true).map(section),
    '# Views behind the marts',
    '',
    ...marts.filter(({ intermediate }) => intermediate === true).map(section),
  ].join('\n');

const section = (mart: Mart): string =>
  [
    `## ${mart.name}`,
    '',
    `${mart.description} Grain: ${mart.grain}. Key: ${mart.key.join(', ')}. In dbt: \`${modelNameOf(mart)}\`.`,
    '',
    '| column | type | meaning |',
    '|---|---|---|',
    ...mart.columns.map(({ name, type, description }) => `| ${name} | ${type} | ${description} |`),
    '',
  ].join('\n');

/** Tables and the marts for analysts, with the columns by which they are joined. */
const renderErDiagram = (): string => {
  const shown = marts.filter(({ intermediate }) => intermediate !== true);
  return [
    'erDiagram',
    ...tables.filter(({ kind }) => kind === 'child').map(({ name }) => `  calls ||--o{ ${name} : call_id`),
    '  calls |o--o{ deliveries : call_id',
    '  loads ||--o{ calls : load_id',
    '  calls ||--|| calls_wide : call_id',
    ...shown
      .filter(({ name, columns }) => name !== 'calls_wide' && columns.some((column) => column.name === 'call_id'))
      .map(({ name, key }) => `  calls_wide ||--o${key.length > 1 ? '{' : '|'} ${name} : call_id`),
    ...shown
      .filter(({ name, key }) => name !== 'completeness_daily' && key[0] === 'business_day')
      .map(({ name }) => `  completeness_daily ||--o{ ${name} : business_day`),
    ...tables.map(entityOfTable),
    ...shown.map(({ name, key, columns }) => entity(name, key, columns)),
  ].join('\n');
};

const entityOfTable = (table: Table): string => {
  const columns = table.kind === 'call' ? [...table.columns, ...guardColumns] : table.columns;
  return entity(table.name, table.key, columns);
};

const entity = (
  name: string,
  key: readonly string[],
  columns: readonly { readonly name: string; readonly type: string }[],
): string => {
  const kept = columns.filter((column) => key.includes(column.name) || column.name === 'call_id');
  return [
    `  ${name} {`,
    ...kept.map((column) => `    ${column.type} ${column.name}${key.includes(column.name) ? ' PK' : ''}`),
    '  }',
  ].join('\n');
};
