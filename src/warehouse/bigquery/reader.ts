/** Queries of persons and assistants. A job has the rights of its service account; a session cannot reduce them. */
import { CallsyncError, terminal } from '../../lib/errors.ts';
import { withinTime } from '../../lib/timing.ts';
import { restrictedName } from '../grants.ts';
import type { AnswerLimits, FirstRows, Reader, ReaderRights, Warehouse } from '../warehouse.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { jobTimeoutMs, type Queries } from './queries.ts';

export const notSelect = (): CallsyncError =>
  terminal('QUERY_REFUSED', 'The statement is not a single SELECT.', { hint: 'Send one query.' });

/** Texts, names and comments, in which a semicolon ends no statement. */
const quoted =
  /'''(?:\\[\s\S]|[^\\])*?'''|"""(?:\\[\s\S]|[^\\])*?"""|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|--[^\n\r]*|#[^\n\r]*|\/\*[\s\S]*?\*\//g;

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
      (error: unknown) => {
        // Any other failure says nothing about rights.
        if (error instanceof CallsyncError && error.code === 'BIGQUERY_ACCESS_DENIED') return false;
        checked = undefined;
        throw error;
      },
    );
    if (!reads) return;
    throw terminal('QUERY_READER', 'The service account of this warehouse may read transcripts.', {
      hint: 'Configure an account that callsync grants names as --restricted, or pass --transcripts.',
    });
  };
  const answer = async (sql: string, limits: AnswerLimits, signal: AbortSignal): Promise<FirstRows> => {
    if (rights.restricted !== undefined) {
      checked ??= refuseTranscripts();
      await checked;
    }
    refuseScript(sql);
    const { type, bytes, reads } = await queries.plan(sql);
    if (type !== 'SELECT') throw notSelect();
    if (bytes > limits.billedBytes)
      throw terminal('QUERY_REFUSED', `The query reads ${bytes} bytes; the limit is ${limits.billedBytes}.`, {
        hint: 'Select fewer columns, or a range of call_timestamp.',
      });
    // A plan does not name the tables of another database.
    const foreign = /\bexternal_query\b/i.test(sql)
      ? 'external_query'
      : reads.find((name) => !open.has(name.slice(0, name.lastIndexOf('.'))));
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
  };
  return {
    ask: query,
    answer: (sql, limits, signal) => {
      const ms = rights.queryMs ?? jobTimeoutMs;
      const over = new AbortController();
      const either = AbortSignal.any([over.signal, ...(signal === undefined ? [] : [signal])]);
      return withinTime(answer(sql, limits, either), ms, () => {
        // Cancels the job.
        over.abort();
        return terminal('QUERY_FAILED', `BigQuery cannot compute the query within ${ms / 1_000} s.`, {
          hint: 'Select fewer columns, or a range of call_timestamp.',
        });
      });
    },
    close: async () => undefined,
  };
};
