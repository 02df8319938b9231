/**
 * The processes that are shipped really start: role, receiver and two workers of the Compose file and of the Kubernetes
 * manifests, from the build. Nothing but their volumes can be written to, as in a container whose root is read-only.
 * `npm run campaign -- image` starts them from the built image.
 */
import { rm } from 'node:fs/promises';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { sendWebhook } from '../../src/lib/send-webhook.ts';
import { startSimulator } from '../../src/simulator/start-simulator.ts';
import { createDatabase, makeServerFolder } from '../support/postgres.ts';
import { useTemporal } from '../support/temporal.ts';
import { becomeHealthy, endWell, openDeployment, signingSecret } from './shipped.ts';

const [simulator, scratch] = await Promise.all([startSimulator({ calls: { count: 20 } }), makeServerFolder()]);
afterAll(() => Promise.all([simulator.stop(), rm(scratch, { recursive: true, force: true })]));

test.each(['compose', 'kubernetes'] as const)('role, receiver and workers of %s', async (of) => {
  const [database, temporal] = await Promise.all([createDatabase(), useTemporal()]);
  const { start, kill } = openDeployment(of, { simulator, databaseUrl: database.url, temporal, scratch });
  onTestFinished(async () => {
    kill();
    await database.drop();
  });
  await endWell(await start('store-role'));
  const receiver = await start('receiver');
  const workers = [await start('worker'), await start('worker')];
  await becomeHealthy(receiver, '/readyz');
  for (const worker of workers) await becomeHealthy(worker, '/healthz');
  const url = `http://127.0.0.1:${receiver.ports.webhook}/webhook`;
  const body = `{"unique_id":"shipped-${of}","status":"new"}`;
  const sent = await sendWebhook({ url, body, secret: signingSecret, deliveryId: `shipped-${of}`, retry: false });
  expect(sent, receiver.said()).toMatchObject({ delivered: true });
  for (const { child } of [receiver, ...workers]) child.kill('SIGTERM');
  await endWell(receiver, ...workers);
});
