/** Queries of persons and assistants. A job has the rights of its service account; a session cannot reduce them. */
import { type CallsyncError, terminal } from '../../lib/errors.ts';
import { restrictedName } from '../grants.ts';
import type { Reader, ReaderRights, Warehouse } from '../warehouse.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import type { Queries } from './queries.ts';

export const notSelect = (): CallsyncError =>
  terminal('QUERY_REFUSED', 'The statement is not a single SELECT.', { hint: 'Send one query.' });

/** Texts, names and comments, in which a semicolon ends no statement. */
const quoted =
  /'''(?:\\[\s\S]|[^\\])*?'''|"""(?:\\[\s\S]|[^\\])*?"""|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|--[^\n]*|#[^\n]*|\/\*[\s\S]*?\*\//g;

/** A dry run reads a script and runs none of it; the local BigQuery runs it. @throws CallsyncError QUERY_REFUSED */
export const refuseScript = (sql: string): void => {
  if (/;\s*\S/.test(sql.replace(quoted, ' '))) throw notSelect();
};

/** @throws CallsyncError QUERY_READER where the restricted are asked for and the account reads transcripts. */
export const openReader = (deps: {
  readonly queries: Queries;
  readonly config: BigqueryWarehouseConfig;
  readonly rights: ReaderRights;
  readonly query: Warehouse['query'];
}): Reader => {
  const { queries, config, rights, query } = deps;
  const { dataset } = config;
  const open = new Set([dataset, rights.marts, restrictedName(dataset)]);
  let checked: Promise<void> | undefined;
  const refuseTranscripts = async (): Promise<void> => {
    const reads = await queries.plan(`SELECT content FROM \`${config.project}\`.${dataset}.utterances`).then(
      () => true,
      () => false,
    );
    if (!reads) return;
    throw terminal('QUERY_READER', 'The service account of this warehouse may read transcripts.', {
      hint: 'Configure an account that callsync grants names as --restricted, or pass --transcripts.',
    });
  };
  return {
    ask: query,
    async answer(sql, limits, signal) {
      if (rights.restricted !== undefined) {
        checked ??= refuseTranscripts();
        await checked;
      }
      refuseScript(sql);
      const { type, bytes, tables } = await queries.plan(sql);
      if (type !== 'SELECT') throw notSelect();
      if (bytes > limits.billedBytes)
        throw terminal('QUERY_REFUSED', `The query reads ${bytes} bytes; the limit is ${limits.billedBytes}.`, {
          hint: 'Select fewer columns, or a range of call_timestamp.',
        });
      const foreign = tables.find((name) => !open.has(name.slice(0, name.lastIndexOf('.'))));
      if (foreign !== undefined)
        throw terminal('QUERY_REFUSED', `The query reads ${foreign}, which is no table or mart of this warehouse.`, {
          hint: 'describe_tables lists the tables.',
        });
      const limited = `SELECT TO_JSON_STRING(callsync_row) AS row FROM (\n${sql.replace(/[;\s]+$/, '')}\n) AS callsync_row LIMIT ${limits.rows + 1}`;
      const rows: string[] = [];
      let left = limits.bytes;
      for await (const { row } of queries.stream({ sql: limited, signal }, 'plain')) {
        left -= Buffer.byteLength(row as string);
        if (left < 0 || rows.length === limits.rows) return { rows, complete: false };
        rows.push(row as string);
      }
      return { rows, complete: true };
    },
    close: async () => undefined,
  };
};
