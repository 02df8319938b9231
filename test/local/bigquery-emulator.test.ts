import { BigQuery } from '@google-cloud/bigquery';
import { PassThroughClient } from 'google-auth-library';
import { expect, onTestFinished, test } from 'vitest';
import { locateEmulator, startBigQueryEmulator } from '../../src/local/bigquery-emulator.ts';
import { useBigQuery } from '../support/bigquery.ts';
import { useFolder } from '../support/folder.ts';
import { endProcess } from '../support/installation.ts';
import { startProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

const dataDir = useFolder('emulator');

const connect = (server: { restUrl: string; project: string }) =>
  new BigQuery({ projectId: server.project, apiEndpoint: server.restUrl, authClient: new PassThroughClient() });

test('keeps its data between starts and is gone after stop', async () => {
  let server = await startBigQueryEmulator({ dataDir });
  onTestFinished(() => server.stop());
  await connect(server).createDataset('kept');
  await connect(server).query('CREATE TABLE kept.numbers AS SELECT 7 AS n');
  await server.stop();
  await expect(fetch(server.restUrl)).rejects.toThrow();
  server = await startBigQueryEmulator({ dataDir });
  const [rows] = await connect(server).query('SELECT n FROM kept.numbers');
  expect(rows).toEqual([{ n: 7 }]);
});

test('answers with its own rows, whatever else is asked at the same time', async () => {
  const { restUrl, project, dataset } = await useBigQuery();
  const client = connect({ restUrl, project });
  await client.createDataset(dataset);
  const names = ['a', 'b', 'c'];
  const some = 'FROM UNNEST(GENERATE_ARRAY(1, 2000)) AS n';
  for (const name of names)
    await client.query(`CREATE TABLE ${dataset}.${name} AS SELECT '${name}' AS name, n ${some}`);
  const list = async (table: string) => {
    const [rows] = await client.dataset(dataset).table(table).getRows();
    return [rows.length, ...new Set(rows.map(({ name }) => name))];
  };
  const asked = Array.from({ length: 30 }, (_, index) => names[index % 3] as string);
  const [listed] = await Promise.all([
    Promise.all(asked.map(list)),
    ...asked.map((name) => client.query(`SELECT COUNT(*) FROM ${dataset}.${name}`)),
  ]);
  expect(listed).toEqual(asked.map((name) => [2_000, name]));
});

test('goes on after a client that leaves, and says when its port is taken', async () => {
  const { restUrl } = await useBigQuery();
  const left = fetch(`${restUrl}/bigquery/v2/projects/demo/datasets`, { signal: AbortSignal.timeout(1) });
  await left.catch(() => undefined);
  expect((await fetch(`${restUrl}/bigquery/v2/projects/demo/datasets`)).status).toBe(200);
  const taken = startBigQueryEmulator({ dataDir, ephemeral: true, restPort: Number(new URL(restUrl).port) });
  await expect(taken).rejects.toMatchObject({ code: 'BIGQUERY_EMULATOR', message: expect.stringMatching(/port/) });
});

test('callsync bigquery-emulator answers until it is stopped', async () => {
  const ports = ['--port', '0', '--grpc-port', '0'];
  const running = startProgram(['bigquery-emulator', '--ephemeral', '--json', '--data-dir', dataDir, ...ports]);
  onTestFinished(() => endProcess(running.child, 'SIGKILL'));
  const { restUrl } = (await running.first()) as { restUrl: string };
  await until('it waits for Ctrl-C', () => running.stderr().includes('Ctrl-C'));
  expect((await fetch(`${restUrl}/bigquery/v2/projects/demo/datasets`)).status).toBe(200);
  running.child.kill('SIGINT');
  expect(await running.ended).toBe(0);
  await expect(fetch(restUrl)).rejects.toThrow();
});

test('refuses a configured program that is not there', async () => {
  const env = { CALLSYNC_BQEMULATOR: '/nowhere/bqemulator' };
  await expect(locateEmulator({ env, log: () => undefined })).rejects.toMatchObject({ code: 'BIGQUERY_EMULATOR' });
});
