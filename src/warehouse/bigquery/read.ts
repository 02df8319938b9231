/** Whole tables, row by row, through tabledata.list: neither a job nor a charge. */

import type { Row, WordArrays } from '../../../schemas/tables.ts';
import { digestedColumns } from '../digest.ts';
import type { DigestedName } from '../warehouse.ts';
import type { Rest, RestRequest } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import { decodeRow, type WireField, type WireRow } from './decode.ts';
import type { Queries } from './queries.ts';
import { failTo, type Pause, retry } from './retry.ts';

const pageRows = 5_000;

export interface ReadDeps {
  readonly config: BigqueryWarehouseConfig;
  readonly rest: Rest;
  readonly queries: Queries;
  readonly pause: Pause;
}

/** Rows with the columns of `digestedColumns`. The view `words` cannot be listed and is queried. */
export async function* rowsOf(deps: ReadDeps, name: DigestedName): AsyncIterable<Row> {
  const columns = digestedColumns(name);
  if (name === 'words') {
    const { project, dataset } = deps.config;
    const list = columns.map((column) => column.name).join(', ');
    yield* deps.queries.stream({ sql: `SELECT ${list} FROM \`${project}.${dataset}.words\`` });
    return;
  }
  for await (const row of listTable(deps, name, columns)) {
    yield Array.isArray(row.words) ? { ...row, words: wordArrays(row.words as WordStruct[]) } : row;
  }
}

interface WordStruct {
  readonly value: string | null;
  readonly start: number | null;
  readonly length: number | null;
  readonly score: number | null;
}

const wordArrays = (words: readonly WordStruct[]): WordArrays => ({
  value: words.map(({ value }) => value),
  start: words.map(({ start }) => start),
  length: words.map(({ length }) => length),
  score: words.map(({ score }) => score),
});

/** Every row with those of the columns that the table has. */
export async function* listTable(
  deps: Pick<ReadDeps, 'config' | 'rest' | 'pause'>,
  name: string,
  columns: readonly { readonly name: string }[],
): AsyncIterable<Record<string, unknown>> {
  const path = `/datasets/${deps.config.dataset}/tables/${name}`;
  const wanted = new Set(columns.map((column) => column.name));
  const { schema } = await ask<{ schema: { fields: readonly WireField[] } }>(deps, { path });
  // The answer has the columns in the order of the schema, whatever order they are asked for in.
  const fields = schema.fields.filter((field) => wanted.has(field.name));
  const readPage = (pageToken?: string): Promise<Page> =>
    ask(deps, {
      path: `${path}/data`,
      query: {
        maxResults: pageRows,
        pageToken,
        selectedFields: fields.map((field) => field.name).join(','),
        'formatOptions.useInt64Timestamp': true,
      },
    });
  for (let next: Promise<Page> | undefined = readPage(); next !== undefined; ) {
    const page: Page = await next;
    // Asked for before the rows of this one are used, so that neither side waits for the other.
    next = page.pageToken ? readPage(page.pageToken) : undefined;
    // Where the reader leaves early, nobody awaits it.
    next?.catch(() => undefined);
    for (const row of page.rows ?? []) yield decodeRow(fields, row, 'flat');
  }
}

interface Page {
  readonly rows?: readonly WireRow[];
  readonly pageToken?: string;
}

const ask = <T>({ rest, pause }: Pick<ReadDeps, 'rest' | 'pause'>, request: RestRequest): Promise<T> =>
  retry(pause, () => rest<T>(request)).catch(failTo('read a table'));
