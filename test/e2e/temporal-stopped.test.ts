/** Webhooks that arrive while Temporal is away: they wait in the inbox, and a sweep finds them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findFreePort } from '../../src/local/local-process.ts';
import { taskQueuesOf } from '../../workflows/messages.ts';
import { closedPort } from '../support/closed-port.ts';
import { endProcess, type Installation, install, until } from '../support/installation.ts';
import { startReceiver } from '../support/receiver-process.ts';
import { settledRange } from '../support/settled-range.ts';

let site: Installation;
beforeAll(async () => {
  site = await install({
    simulator: { seed: 31, calls: { count: 60, utterances: 2, ...settledRange }, rateLimit: { requests: 0 } },
  });
});
afterAll(() => site?.dispose());

test('no delivery is lost while Temporal is stopped', async () => {
  const port = await findFreePort();
  const receiver = await startReceiver(site, port, `127.0.0.1:${closedPort}`);
  try {
    await site.control.startWebhooks({ url: `http://127.0.0.1:${port}/webhook` });
    const sent = await site.control.sendWebhooks({ count: 50, random: 50, seed: 1 });
    expect(sent).toBeGreaterThan(30);
    await site.control.drainWebhooks();
    // What a slow store did not take in time waits in the spool first.
    const waiting = async () =>
      (await site.store.pool.query("SELECT count(*) AS n FROM inbox WHERE outcome = 'pending'")).rows[0].n;
    await until('all wait in the inbox', async () => (await waiting()) === sent);

    await site.startWorker();
    const queues = taskQueuesOf(site.prefix);
    await site.client.workflow.execute('sweep', {
      workflowId: `${site.prefix}/sweep`,
      taskQueue: queues.workflows,
      args: [{ queues, prefix: site.prefix }],
    });
    await until('all are in the warehouse', async () => Number((await site.warehouse.countRows()).calls) === sent);
    let delivered = 0;
    for await (const entry of site.control.truth({ light: true })) if (entry.deliveredByWebhook) delivered += 1;
    expect(delivered).toBe(sent);
  } finally {
    await endProcess(receiver, 'SIGTERM');
  }
}, 240_000);
