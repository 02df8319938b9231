/** Webhooks that arrive while Temporal is away: they wait in the inbox, and a sweep finds them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { findFreePort } from '../../src/local/local-process.ts';
import { taskQueuesOf } from '../../workflows/messages.ts';
import { endProcess, type Installation, install, until } from '../support/installation.ts';

const main = new URL('../../dist/src/cli/main.js', import.meta.url).pathname;

let site: Installation;
beforeAll(async () => {
  site = await install({ simulator: { seed: 31, calls: { count: 60, utterances: 2 }, rateLimit: { requests: 0 } } });
});
afterAll(() => site?.dispose());

test('no delivery is lost while Temporal is stopped', async () => {
  const port = await findFreePort();
  const configPath = join(site.folder, 'receiver.yaml');
  const config = parse(await readFile(site.configPath, 'utf8'));
  config.temporal.address = `127.0.0.1:${await findFreePort()}`;
  config.webhook = {
    port,
    header_prefix: 'X-Service-',
    secrets: [{ name: 'current', secret: site.simulator.signingSecret }],
  };
  await writeFile(configPath, stringify(config), { mode: 0o600 });
  const receiver = spawn(process.execPath, [main, 'serve', '--config', configPath, '--json', '--log-level', 'error'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(receiver.stdout, 'data');
    await site.control.startWebhooks({ url: `http://127.0.0.1:${port}/webhook` });
    const sent = await site.control.sendWebhooks({ count: 50, random: 50, seed: 1 });
    expect(sent).toBeGreaterThan(30);
    await site.control.drainWebhooks();
    const waiting = await site.store.pool.query("SELECT count(*) AS n FROM inbox WHERE outcome = 'pending'");
    expect(waiting.rows[0].n).toBe(sent);

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
}, 120_000);
