import { expect, test } from 'vitest';
import { errorOf, faultOf, judge } from '../../../src/warehouse/bigquery/errors.ts';
import type { Queries } from '../../../src/warehouse/bigquery/queries.ts';
import { createTranscriptSearch } from '../../../src/warehouse/bigquery/search.ts';

/** Status, reason and message; then what they mean. */
test.each([
  [409, 'duplicate', 'Already Exists: Job x', 'duplicate', 'DUPLICATE'],
  [400, 'invalidQuery', 'Could not serialize access to table p:d.calls due to concurrent update', 'again', 'CONFLICT'],
  [0, 'invalidQuery', 'Transaction is aborted due to concurrent update against table p:d.calls', 'again', 'CONFLICT'],
  [400, 'invalidQuery', 'Syntax error: Unexpected keyword', 'stop', 'REFUSED'],
  [403, 'rateLimitExceeded', 'Exceeded rate limits', 'again', 'BUSY'],
  [0, 'jobRateLimitExceeded', 'Job exceeded rate limits', 'again', 'BUSY'],
  [403, 'quotaExceeded', 'Quota exceeded: imports', 'quota', 'QUOTA'],
  [403, 'accessDenied', 'Access Denied: Table', 'stop', 'ACCESS_DENIED'],
  [401, '', 'Request had invalid authentication credentials', 'stop', 'ACCESS_DENIED'],
  [404, 'notFound', 'Not found: Dataset p:d', 'missing', 'NOT_FOUND'],
  [500, 'backendError', 'x', 'again', 'UNAVAILABLE'],
  [0, 'internalError', 'x', 'again', 'UNAVAILABLE'],
  [503, '', 'Service Unavailable', 'lost', 'UNAVAILABLE'],
  [429, '', 'Too Many Requests', 'again', 'BUSY'],
  [0, 'stopped', 'Job execution was cancelled', 'again', 'BUSY'],
  [0, 'resourcesExceeded', 'Too many DML statements outstanding against table', 'again', 'BUSY'],
  [0, 'resourcesExceeded', 'Resources exceeded during query execution', 'stop', 'TOO_LARGE'],
  [0, 'bytesBilledLimitExceeded', 'x', 'stop', 'BYTES_LIMIT'],
  [0, 'invalidQuery', 'UPDATE or DELETE would affect rows in the streaming buffer', 'again', 'STREAMING_BUFFER'],
  [0, 'invalidQuery', 'staging is incomplete at [12:3]', 'missing', 'STAGING_LOST'],
  [400, 'invalidQuery', "Cannot query over table 'p.d.calls' without a filter over column(s) 'x'", 'stop', 'SCHEMA'],
  [0, '', 'Could not load the default credentials', 'stop', 'CREDENTIALS'],
  [0, 'neverHeardOf', 'x', 'stop', 'REFUSED'],
])('%i %s, %s, means %s', (status, reason, message, meaning, code) => {
  const fault = { message, ...(status === 0 ? {} : { status }), ...(reason === '' ? {} : { reason }) };
  expect(judge(fault)).toMatchObject({ meaning, code: `BIGQUERY_${code}` });
});

test('every terminal error says what to do, and messages quote nothing of the data that was refused', () => {
  const told = { kind: 'terminal', hint: expect.stringMatching(/\.$/) };
  for (const reason of ['accessDenied', 'invalid', 'billingNotEnabled', 'notFound', 'responseTooLarge', 'unheardOf'])
    expect(errorOf({ reason, message: 'x' }, 'load')).toMatchObject(told);
  const spent = errorOf({ reason: 'quotaExceeded', message: 'x' }, 'load');
  expect(spent).toMatchObject({ kind: 'transient', retryAfterMs: 600_000 });
  const message = "Could not parse '+1 555 0100' as INT64 for field duration; `jane@example.com` near row 3";
  const error = errorOf({ status: 400, reason: 'invalid', message }, 'stage load x');
  expect(error.message).not.toMatch(/555|jane/);
  expect(error.message).toContain('as INT64 for field duration');
});

test('a query that was only checked is told what is wrong in it', () => {
  const fault = { status: 400, reason: 'invalidQuery', message: 'Unrecognized name: "lenght"; Did you mean length?' };
  expect(errorOf(fault, 'check a query', 'shown')).toMatchObject({
    message: 'BigQuery could not check a query: invalidQuery, Unrecognized name: "lenght"; Did you mean length.',
    hint: expect.stringContaining('docs/reference/marts.md'),
  });
});

test('an error without an answer is a lost request, one with a status is not', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  expect(faultOf(refused)).toMatchObject({ lost: true });
  const errors = [{ reason: 'accessDenied', message: 'no' }];
  const answered = Object.assign(new Error('Multiple errors'), { code: 403, errors });
  expect(faultOf(answered)).toEqual({ status: 403, reason: 'accessDenied', message: 'no' });
});

/** Searching a BigQuery whose queries all fail so. */
const searchOf = (reason: string, message: string, api_endpoint?: string) => {
  const run: Queries['run'] = () => Promise.reject(errorOf({ reason, message }, 'run a query'));
  return createTranscriptSearch({ run } as Queries, { project: 'acme', dataset: 'calls', api_endpoint });
};

test('prefixes, exclusions and alternatives are refused, in a later text too', async () => {
  for (const [text, thenText] of [['contr*'], ['a -b'], ['a or b'], ['a', 'contr*']] as const) {
    const asked = searchOf('', 'nothing is asked').find({ text, thenText, limit: 1 });
    await expect(asked).rejects.toMatchObject({ code: 'USAGE_SEARCH' });
  }
});

test('a stand-in that cannot search is told from a table that is missing', async () => {
  const refusal = { code: 'SEARCH_UNSUPPORTED', kind: 'terminal' };
  const find = (message: string) => searchOf('notFound', message).find({ text: 'contrat', limit: 1 });
  await expect(find('Function not found: search; Did you mean each? at [5:8]')).rejects.toMatchObject(refusal);
  await expect(find('Table not found: utterances')).rejects.toMatchObject({ code: 'BIGQUERY_NOT_FOUND' });
  const parser = 'Parser Error: syntax error at or near "SEARCH" in CREATE SEARCH INDEX';
  const { create, drop, status } = searchOf('invalidQuery', parser, 'http://local');
  for (const ask of [create, drop, status]) await expect(ask()).rejects.toMatchObject(refusal);
  for (const [message, place] of [['Parser Error: at "x"'], ['no such table', 'http://local']] as const) {
    await expect(searchOf('invalidQuery', message, place).create()).rejects.toMatchObject({ code: 'BIGQUERY_REFUSED' });
  }
});
