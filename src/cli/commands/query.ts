import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { terminal } from '../../errors.ts';
import { abortOnSignals, type CommonOptions, print, withCommonOptions, withStore } from '../command.ts';
import { renderTable } from '../render-table.ts';
import { openWarehouse } from '../services/open-warehouse.ts';

interface QueryOptions extends CommonOptions {
  readonly warehouse?: string;
}

export const addQuery = (command: Command): void => {
  withCommonOptions(command)
    .argument('<sql>', "one query, in the warehouse's own SQL; - reads it from standard input")
    .option('--warehouse <name>', 'where to ask (default: the first Postgres warehouse, else the first)')
    .addHelpText(
      'after',
      `
Examples:
  callsync query 'SELECT status, count(*) AS calls FROM calls GROUP BY status'
  callsync query 'SELECT * FROM calls_marts.agent_daily ORDER BY business_day DESC LIMIT 10' --json
  callsync query 'SELECT COUNTIF(value_bool) AS found FROM tags' --warehouse bigquery
  callsync query - --json < week.sql

Tables are found by their names, marts in the schema or dataset calls_marts (docs/marts.md; docs/cookbook.md answers questions with them).
It only reads, and holds all rows in memory: LIMIT what may be many. It asks with the rights of the configuration, those of
callsync itself.`,
    )
    .action((sql: string, options: QueryOptions) =>
      withStore(options, async (store, services) => {
        const warehouse = openWarehouse(services, store, options.warehouse);
        const text = await readSql(sql);
        const rows = await abortOnSignals((signal) => warehouse.query(text, signal)).catch(explain);
        print(options, { warehouse: warehouse.name, rows }, renderTable(rows));
      }),
    );
};

const readSql = async (argument: string): Promise<string> => {
  const sql = argument === '-' ? await text(process.stdin) : argument;
  if (sql.trim() !== '') return sql;
  throw terminal('USAGE_QUERY', 'There is no query.', {
    hint: 'Give one as the argument, or - and one on standard input.',
  });
};

/** SQLSTATE of syntax, names and rights: the server's words repeat the query, and no value of a row. */
const refusals = /^(42...|0A...|25006)$/;

/** What PostgreSQL says of a query that a person wrote is of use to that person. */
const explain = (error: Error): never => {
  const { code = '', message = '' } = (error.cause ?? {}) as { readonly code?: string; readonly message?: string };
  if (!refusals.test(code)) throw error;
  throw terminal('QUERY_REFUSED', `PostgreSQL refuses the query: ${message}.`, {
    hint: 'Send one query that only reads; docs/tables.md has the tables, docs/marts.md the views in schema calls_marts, with every column.',
    cause: error,
  });
};
