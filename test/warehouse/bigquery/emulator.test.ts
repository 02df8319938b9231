import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BigQuery } from '@google-cloud/bigquery';
import { PassThroughClient } from 'google-auth-library';
import { expect, it } from 'vitest';
import { type BigQueryEmulator, startBigQueryEmulator } from '../../../src/warehouse/bigquery/emulator.ts';
import { locateEmulator } from '../../../src/warehouse/bigquery/emulator-install.ts';
import { useBigQuery } from '../../support/bigquery.ts';
import { bePatient } from '../patience.ts';

bePatient();

const connect = (server: { restUrl: string; project: string }) =>
  new BigQuery({ projectId: server.project, apiEndpoint: server.restUrl, authClient: new PassThroughClient() });

it('keeps its data between starts and is gone after stop', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'callsync-emulator-'));
  let server: BigQueryEmulator | undefined;
  try {
    server = await startBigQueryEmulator({ dataDir });
    await connect(server).createDataset('kept');
    await connect(server).query('CREATE TABLE kept.numbers AS SELECT 7 AS n');
    await server.stop();
    await expect(fetch(server.restUrl)).rejects.toThrow();
    server = await startBigQueryEmulator({ dataDir });
    const [rows] = await connect(server).query('SELECT n FROM kept.numbers');
    expect(rows).toEqual([{ n: 7 }]);
  } finally {
    await server?.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

it('is shared by the tests of a run', async () => {
  const [one, two] = await Promise.all([useBigQuery(), useBigQuery()]);
  expect(one.restUrl).toBe(two.restUrl);
  expect(one.dataset).not.toBe(two.dataset);
  const [rows] = await connect(one).query('SELECT 1 AS one');
  expect(rows).toEqual([{ one: 1 }]);
});

it('refuses a configured program that is not there', async () => {
  const env = { CALLSYNC_BQEMULATOR: '/nowhere/bqemulator' };
  await expect(locateEmulator({ env, log: () => undefined })).rejects.toMatchObject({ code: 'BIGQUERY_EMULATOR' });
});
