/** The one row of `sync_state`: one MERGE on a table of one row, no load job, nothing staged. */
import { type Row, tableOf } from '../../../schemas/tables.ts';
import { quote } from './ddl.ts';

const { columns } = tableOf('sync_state');

export const stateQuery = (dataset: string, row: Row): string => {
  const names = columns.map(({ name }) => name);
  const values = columns.map(({ name, type }) => `${literal(type, row[name] ?? null)} AS ${name}`);
  const set = names.slice(1).map((name) => `${name} = n.${name}`);
  return [
    `MERGE \`${dataset}.sync_state\` AS s`,
    `USING (SELECT ${values.join(', ')}) AS n`,
    'ON s.warehouse = n.warehouse',
    `WHEN MATCHED AND s.heartbeat_at <= n.heartbeat_at THEN UPDATE SET ${set.join(', ')}`,
    `WHEN NOT MATCHED THEN INSERT (${names.join(', ')}) VALUES (${names.map((name) => `n.${name}`).join(', ')})`,
  ].join('\n');
};

const literal = (type: string, value: unknown): string => {
  if (type === 'timestamp') return value === null ? 'CAST(NULL AS TIMESTAMP)' : `TIMESTAMP_MICROS(${Number(value)})`;
  if (type === 'int') return String(Number(value));
  return value === null ? 'CAST(NULL AS STRING)' : quote(String(value));
};
