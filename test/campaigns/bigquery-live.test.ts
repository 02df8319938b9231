/**
 * The conformance suite against the real BigQuery, in a dataset of its own, which it deletes. Opt in with
 * BIGQUERY_LIVE_PROJECT (and BIGQUERY_LIVE_LOCATION, `EU` by default); credentials are the application default ones.
 * About half an hour and some hundred jobs, each of which bills the minimum.
 */

import { describe, test } from 'vitest';
import { describeContents } from '../warehouse/conformance-contents.ts';
import { describeLoads } from '../warehouse/conformance-loads.ts';
import { useLiveBigqueryTarget } from '../warehouse/conformance-targets.ts';

describe('conformance', () => {
  const project = process.env.BIGQUERY_LIVE_PROJECT;
  if (project === undefined || project === '') {
    test.skip('the real BigQuery: set BIGQUERY_LIVE_PROJECT to a project that may be billed', () => undefined);
  } else {
    const useTarget = () => useLiveBigqueryTarget({ project, location: process.env.BIGQUERY_LIVE_LOCATION ?? 'EU' });
    describeLoads(`the real BigQuery, project ${project}`, useTarget);
    describeContents(`the real BigQuery, project ${project}`, useTarget);
  }
});
