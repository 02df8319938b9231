/** Searching a BigQuery that cannot search. */
import { expect, test } from 'vitest';
import { errorOf } from '../../../src/warehouse/bigquery/errors.ts';
import type { Queries } from '../../../src/warehouse/bigquery/queries.ts';
import { createTranscriptSearch } from '../../../src/warehouse/bigquery/search.ts';

const searchFailing = (message: string) => {
  const run: Queries['run'] = () => Promise.reject(errorOf({ reason: 'notFound', message }, 'run a query'));
  const search = createTranscriptSearch({ run } as Queries, { project: 'acme', dataset: 'calls' });
  return search.find({ text: 'contrat', limit: 1 });
};

test('prefixes, exclusions and alternatives are refused, in a later text too', async () => {
  for (const [text, thenText] of [['contr*'], ['a -b'], ['a or b'], ['a', 'contr*']] as const) {
    const search = createTranscriptSearch({} as Queries, { project: 'acme', dataset: 'calls' });
    await expect(search.find({ text, thenText, limit: 1 })).rejects.toMatchObject({ code: 'USAGE_SEARCH' });
  }
});

test('a stand-in without SEARCH is told from a table that is missing', async () => {
  const refusal = { code: 'SEARCH_UNSUPPORTED', kind: 'terminal' };
  await expect(searchFailing('Function not found: search; Did you mean each? at [5:8]')).rejects.toMatchObject(refusal);
  await expect(searchFailing('Table not found: utterances')).rejects.toMatchObject({ code: 'BIGQUERY_NOT_FOUND' });
});

test('a stand-in without search indexes says so, and a table that is missing in BigQuery is still told', async () => {
  const indexFailing = (message: string, api_endpoint?: string) => {
    const run: Queries['run'] = () => Promise.reject(errorOf({ reason: 'invalidQuery', message }, 'run a query'));
    return createTranscriptSearch({ run } as Queries, { project: 'acme', dataset: 'calls', api_endpoint });
  };
  const local = indexFailing(`Parser Error: syntax error at or near "SEARCH" in CREATE SEARCH INDEX`, 'http://local');
  for (const ask of [() => local.create(), () => local.drop(), () => local.status()])
    await expect(ask()).rejects.toMatchObject({ code: 'SEARCH_UNSUPPORTED', kind: 'terminal' });
  await expect(indexFailing('Parser Error: at "x"').create()).rejects.toMatchObject({ code: 'BIGQUERY_REFUSED' });
  await expect(indexFailing('no such table', 'http://local').create()).rejects.toMatchObject({
    code: 'BIGQUERY_REFUSED',
  });
});
