import { expect, test } from 'vitest';
import { errorOf, faultOf, judge } from '../../../src/warehouse/bigquery/errors.ts';

test.each([
  [{ status: 409, reason: 'duplicate', message: 'Already Exists: Job x' }, 'duplicate', 'BIGQUERY_DUPLICATE'],
  [
    {
      status: 400,
      reason: 'invalidQuery',
      message: 'Could not serialize access to table p:d.calls due to concurrent update',
    },
    'again',
    'BIGQUERY_CONFLICT',
  ],
  [
    { reason: 'invalidQuery', message: 'Transaction is aborted due to concurrent update against table p:d.calls' },
    'again',
    'BIGQUERY_CONFLICT',
  ],
  [{ status: 400, reason: 'invalidQuery', message: 'Syntax error: Unexpected keyword' }, 'stop', 'BIGQUERY_REFUSED'],
  [{ status: 403, reason: 'rateLimitExceeded', message: 'Exceeded rate limits' }, 'again', 'BIGQUERY_BUSY'],
  [{ reason: 'jobRateLimitExceeded', message: 'Job exceeded rate limits' }, 'again', 'BIGQUERY_BUSY'],
  [{ status: 403, reason: 'quotaExceeded', message: 'Quota exceeded: imports' }, 'quota', 'BIGQUERY_QUOTA'],
  [{ status: 403, reason: 'accessDenied', message: 'Access Denied: Table' }, 'stop', 'BIGQUERY_ACCESS_DENIED'],
  [{ status: 401, message: 'Request had invalid authentication credentials' }, 'stop', 'BIGQUERY_ACCESS_DENIED'],
  [{ status: 404, reason: 'notFound', message: 'Not found: Dataset p:d' }, 'missing', 'BIGQUERY_NOT_FOUND'],
  [{ status: 500, reason: 'backendError', message: 'x' }, 'again', 'BIGQUERY_UNAVAILABLE'],
  [{ reason: 'internalError', message: 'x' }, 'again', 'BIGQUERY_UNAVAILABLE'],
  [{ status: 503, message: 'Service Unavailable' }, 'lost', 'BIGQUERY_UNAVAILABLE'],
  [{ status: 502, message: '<html>Bad Gateway' }, 'lost', 'BIGQUERY_UNAVAILABLE'],
  [{ status: 429, message: 'Too Many Requests' }, 'again', 'BIGQUERY_BUSY'],
  [{ lost: true, message: 'socket hang up' }, 'lost', 'BIGQUERY_UNREACHABLE'],
  [{ reason: 'stopped', message: 'Job execution was cancelled' }, 'again', 'BIGQUERY_BUSY'],
  [
    { reason: 'resourcesExceeded', message: 'Too many DML statements outstanding against table' },
    'again',
    'BIGQUERY_BUSY',
  ],
  [{ reason: 'resourcesExceeded', message: 'Resources exceeded during query execution' }, 'stop', 'BIGQUERY_TOO_LARGE'],
  [{ reason: 'bytesBilledLimitExceeded', message: 'x' }, 'stop', 'BIGQUERY_BYTES_LIMIT'],
  [
    {
      reason: 'invalidQuery',
      message: 'UPDATE or DELETE statement over table d.calls would affect rows in the streaming buffer',
    },
    'again',
    'BIGQUERY_STREAMING_BUFFER',
  ],
  [{ reason: 'invalidQuery', message: 'staging is incomplete at [12:3]' }, 'missing', 'BIGQUERY_STAGING_LOST'],
  [{ message: 'Could not load the default credentials' }, 'stop', 'BIGQUERY_CREDENTIALS'],
  [{ reason: 'neverHeardOf', message: 'x' }, 'stop', 'BIGQUERY_REFUSED'],
] as const)('%j means %s', (fault, meaning, code) => {
  expect(judge(fault)).toMatchObject({ meaning, code });
});

test('every terminal error says what to do', () => {
  for (const reason of ['accessDenied', 'invalid', 'billingNotEnabled', 'notFound', 'responseTooLarge', 'unheardOf']) {
    const error = errorOf({ reason, message: 'x' }, 'load');
    expect(error.kind).toBe('terminal');
    expect(error.hint).toMatch(/\.$/);
  }
  expect(errorOf({ reason: 'quotaExceeded', message: 'x' }, 'load')).toMatchObject({
    kind: 'transient',
    retryAfterMs: 600_000,
  });
});

test('messages quote nothing of the data that was refused', () => {
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
  expect(faultOf(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))).toMatchObject({
    lost: true,
  });
  const errors = [{ reason: 'accessDenied', message: 'no' }];
  const answered = Object.assign(new Error('Multiple errors'), { code: 403, errors });
  expect(faultOf(answered)).toEqual({ status: 403, reason: 'accessDenied', message: 'no' });
});
