/** Workflows on the shared server with activities that a test makes up: what is waited for, and on which queue. */
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { type TaskQueues, taskQueuesOf } from '../../workflows/messages.ts';
import { useTemporal } from '../support/temporal.ts';

type Activities = Record<string, (input: never) => Promise<unknown>>;

export type FakeWorkers = Awaited<ReturnType<typeof startFakeWorkers>>;

/** @param slots activities at once, per queue; 10 by default. */
export const startFakeWorkers = async (
  activities: Partial<Record<Exclude<keyof TaskQueues, 'workflows'>, Activities>>,
  slots: Partial<Record<keyof TaskQueues, number>> = {},
) => {
  const { address, taskQueue } = await useTemporal();
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  const queues = taskQueuesOf(taskQueue);
  const codePath = new URL('../../dist/workflow-bundle.js', import.meta.url).pathname;
  const workers = await Promise.all([
    Worker.create({ connection: native, taskQueue: queues.workflows, workflowBundle: { codePath } }),
    ...(['live', 'read', 'load'] as const).map((role) =>
      Worker.create({
        connection: native,
        taskQueue: queues[role],
        activities: { unused: () => Promise.resolve(), ...activities[role] },
        maxConcurrentActivityTaskExecutions: slots[role] ?? 10,
        // A hanging activity hears of its end by a heartbeat, and holds its slot until then.
        maxHeartbeatThrottleInterval: '500ms',
      }),
    ),
  ]);
  const runs = workers.map((worker) => worker.run());
  return {
    client: new Client({ connection }),
    queues,
    dispose: async () => {
      for (const worker of workers) worker.shutdown();
      await Promise.all(runs);
      await connection.close();
      await native.close();
    },
  };
};
