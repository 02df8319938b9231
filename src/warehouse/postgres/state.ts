/** The one row of `sync_state`. */
import { type Row, tableOf } from '../../../schemas/tables.ts';
import { toTimestamp } from '../../postgres/sql-time.ts';
import { type Layout, qualified, quote } from './layout.ts';

const { columns } = tableOf('sync_state');

export const stateValues = (row: Row): unknown[] => columns.map(({ name }) => row[name] ?? null);

/** Parameters: `stateValues`. */
export const stateSql = (layout: Layout): string => {
  const names = columns.map(({ name }) => quote(name));
  const values = columns.map(({ type }, index) => {
    const parameter = `$${index + 1}`;
    return type === 'timestamp' ? toTimestamp(parameter) : parameter;
  });
  const set = names.slice(1).map((name) => `${name} = excluded.${name}`);
  return `INSERT INTO ${qualified(layout, 'sync_state')} AS s (${names.join(', ')}) VALUES (${values.join(', ')})
ON CONFLICT ("warehouse") DO UPDATE SET ${set.join(', ')} WHERE s.heartbeat_at <= excluded.heartbeat_at`;
};
