/** A backlog of continuous sync that is longer than one history. */
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ReadActivities } from '../../activities/create-activities.ts';
import type { Direction, Range } from '../../schemas/orchestration.ts';
import { taskQueuesOf } from '../../workflows/messages.ts';
import { type OwnTemporal, startTemporal } from '../support/temporal.ts';

let server: OwnTemporal;
let connection: Connection;
let native: NativeConnection;
beforeAll(async () => {
  // A history is then long after a few activities.
  server = await startTemporal({ dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 40 } });
  connection = await Connection.connect({ address: server.address });
  native = await NativeConnection.connect({ address: server.address });
});
afterAll(async () => {
  await connection?.close();
  await native?.close();
  await server?.dispose();
});

const hour = 3_600_000_000;
const hours = 30;

/** Reads an hour at a time, and notes what it read. */
const fakes = (direction: Direction, read: Range[]) => {
  const counts = { plans: 0, finishes: 0 };
  const activities: Pick<ReadActivities, 'planSync' | 'readRangePart' | 'finishSync'> = {
    planSync: async () => {
      counts.plans += 1;
      return { axis: 'qualified', direction, range: { from: 0, to: hours * hour } };
    },
    readRangePart: async ({ range: { from, to } }) => {
      const newest = direction === 'newest_first';
      const part = newest ? { from: to - hour, to } : { from, to: from + hour };
      const rest = newest ? { from, to: part.from } : { from: part.to, to };
      read.push(part);
      return {
        totals: { windows: 1, calls: 10, changed: 10, requests: 1, problems: 0 },
        rest: rest.from < rest.to ? rest : null,
        windowLength: hour,
      };
    },
    finishSync: async () => {
      counts.finishes += 1;
      return { watermark: hours * hour };
    },
  };
  return { activities, counts };
};

test.each(['newest_first', 'oldest_first'] as const)(
  '%s, is read once, over several runs',
  async (direction) => {
    const queues = taskQueuesOf(`sync-${direction}`);
    const read: Range[] = [];
    const { activities, counts } = fakes(direction, read);
    const workflowBundle = { codePath: new URL('../../dist/workflow-bundle.js', import.meta.url).pathname };
    const workers = await Promise.all([
      Worker.create({ connection: native, taskQueue: queues.workflows, workflowBundle }),
      Worker.create({ connection: native, taskQueue: queues.read, activities }),
    ]);
    const runs = workers.map((worker) => worker.run());
    try {
      const { workflow } = new Client({ connection });
      const handle = await workflow.start('syncRecent', {
        workflowId: queues.workflows,
        taskQueue: queues.workflows,
        args: [{ queues }],
      });
      expect(await handle.result()).toMatchObject({ calls: hours * 10, windows: hours, watermark: hours * hour });
      const { runId } = await workflow.getHandle(queues.workflows).describe();
      expect(runId).not.toBe(handle.firstExecutionRunId);
    } finally {
      for (const worker of workers) worker.shutdown();
      await Promise.all(runs);
    }
    expect(counts).toEqual({ plans: 1, finishes: 1 });
    const starts = read.map(({ from }) => from / hour);
    const ordered = Array.from({ length: hours }, (_, n) => n);
    expect(starts).toEqual(direction === 'newest_first' ? ordered.reverse() : ordered);
  },
  240_000,
);
