/** Continuous operation for a while: its Temporal actions and requests, without calls and with deliveries. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { temporalConfigSchema } from '../../schemas/config/temporal.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { createRemoteControl } from '../../src/simulator/control/remote-control.ts';
import { sourceOf, startSimulatorProcess } from '../../src/simulator/demo/simulator-process.ts';
import { connectClient } from '../../src/temporal/connect.ts';
import { scheduleIds, schedulesOf } from '../../src/temporal/schedules.ts';
import { mergeInboxId } from '../../workflows/messages.ts';
import { createDatabase } from '../load/create-database.ts';
import { measureHistories } from '../load/measure-history.ts';

export interface LiveCosts {
  /** Of the runs of sync and sweep that belong to a minute by default and find nothing, with those of their schedules. */
  readonly idleActions: number;
  readonly idleRequests: number;
  /** Of one delivery that comes alone, until the call is in the warehouse. */
  readonly deliveryActions: number;
  /** Of the process that receives and works. */
  readonly idleMegabytes: number;
}

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
/** A schedule bills two actions beside the start of its workflow, which is in the history. */
const actionsOfSchedule = 2;
const everySeconds = 2;

/** @param seconds of each of the two phases */
export const measureLive = async (input: {
  readonly serverUrl: string;
  readonly temporalAddress: string;
  readonly folder: string;
  readonly seconds: number;
}): Promise<LiveCosts> => {
  const database = await createDatabase(input.serverUrl, 'sizing_live');
  const port = await findFreePort();
  const simulator = await startSimulatorProcess({
    calls: { count: 0 },
    rateLimit: { requests: 0 },
    webhooks: { url: `http://127.0.0.1:${port}/webhook` },
  });
  const prefix = 'sizing-live';
  const path = join(input.folder, `${prefix}.yaml`);
  const config = {
    source: { ...sourceOf(simulator), list: { preset: 'activate' }, limits: { requests: 10_000, per_s: 1 } },
    store: { url: database.url, data_dir: join(input.folder, prefix) },
    temporal: { address: input.temporalAddress, task_queue: prefix },
    webhook: { port, header_prefix: 'X-Service-', secrets: [{ name: 'main', secret: simulator.signingSecret }] },
    operations: { enabled: false },
    sync: {
      interval: `${everySeconds}s`,
      inbox_sweep: `${everySeconds}s`,
      settle: '1s',
      reconcile: { enabled: false },
    },
  };
  writeFileSync(path, stringify(config), { mode: 0o600 });
  const up = spawn(process.execPath, [main, 'up', '--config', path, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { client, connection } = await connectClient(temporalConfigSchema.parse({}), input.temporalAddress);
  const control = createRemoteControl(simulator);
  const measure = async () => {
    const histories = await measureHistories(client, prefix);
    const isScheduled = (id: string): boolean => schedulesOf(prefix).some((schedule) => id.startsWith(schedule));
    const scheduled = histories.filter(({ workflowId }) => isScheduled(workflowId));
    const others = histories.filter(({ workflowId }) => !isScheduled(workflowId));
    // Signal and start in one are one action, but two events.
    const woken = others.filter(({ workflowId }) => workflowId === mergeInboxId(prefix));
    const { requests, webhooks } = await control.stats();
    return {
      minutes: scheduled.filter(({ workflowId }) => workflowId.startsWith(scheduleIds(prefix).sync)).length,
      scheduled: scheduled.reduce((sum, { actions }) => sum + actions + actionsOfSchedule, 0),
      others: others.reduce((sum, { actions }) => sum + actions, -woken.length),
      requests: requests.total,
      delivered: webhooks.delivered,
    };
  };
  try {
    await once(up.stdout, 'data');
    // The first runs make tables and ask for a token.
    await delay(3 * everySeconds * 1000);
    const begun = await measure();
    await delay(input.seconds * 1000);
    const idle = await measure();
    const memory = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${up.pid}/status`, 'utf8'))?.[1];
    await control.configure({ live: { callsPerSecond: 0.2, processingSeconds: 0.1 } });
    await delay(input.seconds * 1000);
    const live = await measure();
    const minutes = idle.minutes - begun.minutes;
    return {
      idleActions: (idle.scheduled - begun.scheduled) / minutes,
      idleRequests: (idle.requests - begun.requests) / minutes,
      deliveryActions: (live.others - idle.others) / (live.delivered - idle.delivered),
      idleMegabytes: (Number(memory) * 1024) / 1e6,
    };
  } finally {
    for (const id of schedulesOf(prefix))
      await client.schedule
        .getHandle(id)
        .delete()
        .catch(() => undefined);
    up.kill('SIGTERM');
    if (up.exitCode === null) await once(up, 'exit');
    await connection.close();
    await simulator.stop();
    await database.drop();
  }
};
