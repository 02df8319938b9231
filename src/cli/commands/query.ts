import { text } from 'node:stream/consumers';
import { tables, wordsView } from '../../../schemas/tables.ts';
import { openWarehouse, settingsOf } from '../../app/activity-deps.ts';
import { withStore } from '../../app/services.ts';
import { terminal } from '../../lib/errors.ts';
import { marts } from '../../marts/render-views.ts';
import { requireFrom } from '../../warehouse/warehouse.ts';
import { argument, leaf, option } from '../shell/define.ts';
import { renderTable, untilStopped } from '../shell/output.ts';

const readSql = async (argument: string): Promise<string> => {
  const sql = argument === '-' ? await text(process.stdin) : argument;
  if (sql.trim() !== '') return sql;
  throw terminal('USAGE_QUERY', 'There is no query.');
};

/** SQLSTATE of syntax, names and rights: the server's words repeat the query. */
const refusals = /^(42...|0A...|25...|22000)$/;

/** Without a place in the query, the name can be a value of a row that was read as one, such as by `::regclass`. */
const names = /^42(P01|602|704|883)$/;

/** SQLSTATE of statements that are refused for their effect, not their wording. */
const advice: Readonly<Record<string, string>> = {
  '25006': 'Send a query that only reads.',
  '42501': 'Queries may read the tables and marts of this warehouse, and nothing else.',
  '42601': 'Correct the query at the marked place.',
};

/** SQLSTATE of faults in values. The server's message may repeat a value, so callsync writes its own. */
const conditions: Readonly<Record<string, string>> = {
  '21000': 'a subquery that stands for one value gave several rows',
  '22001': 'a text is too long for its type',
  '22003': 'a number is out of the range of its type',
  '22004': 'a value is NULL where NULL is not allowed',
  '22007': 'a text cannot be read as a date or time',
  '22008': 'a date or time is out of range',
  '22011': 'a substring has a negative length',
  '22012': 'division by zero',
  '22023': 'an argument of a function has an invalid value',
  '22P02': 'a text cannot be read as a value of its type',
  '2201B': 'a regular expression is not valid',
  '2201E': 'a logarithm of zero or of a negative number',
  '2201F': 'a power that is no real number',
  '2201W': 'LIMIT is negative',
  '2201X': 'OFFSET is negative',
  '22033': 'a subscript of JSON is out of range',
  '22035': 'JSON Path found no item',
  '54001': 'it is nested too deeply',
  '57014': 'it took longer than a query may, or was cancelled on the server',
};

const unknownName = 'a text is not the name of anything';

/** `position` of a character in the query, from 1; absent if the fault is not in the text. */
type DriverError = Partial<Record<'code' | 'message' | 'hint' | 'position', string>>;

const relations = [...tables, wordsView, ...marts].map(({ name }) => name);

/** PostgreSQL's own words help the author of the query. */
export const explainAt =
  (sql: string) =>
  (error: Error): never => {
    const { code = '', message = '', hint, position } = (error.cause ?? {}) as DriverError;
    const condition = conditions[code] ?? (position === undefined && names.test(code) ? unknownName : undefined);
    if (condition !== undefined)
      throw terminal('QUERY_FAILED', `PostgreSQL cannot compute the query: ${condition}${place(sql, position)}.`, {
        hint: 'Change the query, or exclude the rows for which PostgreSQL cannot compute it.',
        cause: error,
      });
    if (!refusals.test(code)) throw error;
    // The server names no place in a text of several statements.
    const known =
      code === '42601' && position === undefined ? 'Send one query, and no second statement.' : advice[code];
    // FROM also stands in `extract(hour FROM …)`, and before names that the server does not know.
    const table =
      relations.find((name) => new RegExp(`\\b(FROM|JOIN)\\s+(\\w+\\.)?${name}\\b`, 'i').test(sql)) ?? 'calls';
    const columns = `callsync query 'SELECT * FROM ${table} LIMIT 1' shows its columns; docs/reference/tables.md and docs/reference/marts.md explain them.`;
    throw terminal('QUERY_REFUSED', `PostgreSQL refuses the query: ${message}${place(sql, position)}.`, {
      hint: hint ?? known ?? columns,
      cause: error,
    });
  };

/** PostgreSQL counts characters, not units of UTF-16. */
const place = (sql: string, position: string | undefined): string => {
  if (position === undefined) return '';
  const before = [...sql]
    .slice(0, Number(position) - 1)
    .join('')
    .split('\n');
  return ` (line ${before.length}, character ${[...(before.at(-1) as string)].length + 1})`;
};

/** A server that does not answer must not delay the end of the process. */
const leaveMs = 5_000;

export default leaf({
  args: [argument('<sql>', 'one query in the SQL of the warehouse, or - for standard input')],
  options: {
    warehouse: option(
      '--warehouse <name>',
      'warehouse to ask (default: the first PostgreSQL warehouse, else the first)',
    ),
  },
  examples: [
    "callsync query 'SELECT status, count(*) AS calls FROM calls GROUP BY status'",
    "callsync query 'SELECT * FROM agent_daily ORDER BY business_day DESC LIMIT 10' --json",
    "callsync query 'SELECT COUNTIF(value_bool) AS found FROM tags' --warehouse bigquery",
    'callsync query - --json < week.sql',
  ],
  remarks: `Write tables without schema, and on PostgreSQL also marts. On BigQuery, marts are in the dataset calls_marts
(docs/reference/marts.md). docs/reference/cookbook.md has queries. All rows are held in memory, so use LIMIT. On PostgreSQL, the
query runs under a role that can only read tables and marts (reader_url_file, else a role that callsync creates).`,
  within: withStore,
  run: async (given, options, store, services) => {
    const warehouse = openWarehouse(services, store, options.warehouse);
    const sql = await readSql(given);
    const { marts } = settingsOf(services.config, warehouse.name).place;
    const reader = requireFrom(warehouse, 'openReader')({ marts });
    services.defer(() => reader.close());
    const { signal, leave } = untilStopped();
    signal.addEventListener('abort', () => setTimeout(leave, leaveMs));
    const rows = await reader.ask(sql, signal).finally(leave).catch(explainAt(sql));
    return [{ warehouse: warehouse.name, rows }, renderTable(rows)];
  },
});
