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

test('a stand-in without SEARCH is told from a table that is missing', async () => {
  await expect(searchFailing('Function not found: search; Did you mean each? at [5:8]')).rejects.toMatchObject({
    code: 'SEARCH_UNSUPPORTED',
    kind: 'terminal',
  });
  await expect(searchFailing('Table not found: utterances')).rejects.toMatchObject({ code: 'BIGQUERY_NOT_FOUND' });
});
