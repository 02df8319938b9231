/** Workflows on the shared server with activities that a test makes up: what is waited for, and on which queue. */

import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { NativeConnection, Worker } from '@temporalio/worker';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { emptyTotals, type Range } from '../../schemas/orchestration.ts';
import { transient } from '../../src/lib/errors.ts';
import { beginErasure, finishErasure, resumeErasure } from '../../src/pipeline/persons/erase.ts';
import type { planSync } from '../../src/pipeline/read/plan-sync.ts';
import { verifyReceipts } from '../../src/store/persons/receipts.ts';
import { startErase } from '../../src/temporal/workflow-client.ts';
import * as messages from '../../workflows/messages.ts';
import { useOpened } from '../support/opened.ts';
import { asUsual, mean } from '../support/persons.ts';
import { openPipeline } from '../support/pipeline.ts';
import { useTemporal } from '../support/temporal.ts';
import { until } from '../support/until.ts';

/**
 * Sync, inbox merge and re-reads: they wait neither for the service, nor for slots that backfills hold, nor for a backlog. Erasures
 * wait for a warehouse that is away.
 */
type PlannedSync = Awaited<ReturnType<typeof planSync>>;

const hour = 3_600_000_000;

/** The behaviour of the made-up service, and the requests to it. */
const calm = () => ({
  merges: 0,
  /** The inbox never gets empty. */
  more: false,
  maintained: 0,
  repeats: 0,
  rereads: 0,
  parts: 0,
  read: [] as Range[],
  /** Axes of the parts that were read, in order. */
  axes: [] as string[],
  finishes: 0,
  /** Ranges of the lookback that were compared by summaries. */
  lookback: [] as Range[],
  /** The list does not answer about the lookback. */
  refusing: false,
  plan: {} as PlannedSync,
  /** A range whose reading does not end while it stands here. */
  slow: undefined as Range | undefined,
  /** Calls that wait for a warehouse, and how many of the next loads find them held by a process. */
  pending: 0,
  held: 0,
  loading: false,
  /** The list cannot be cut. */
  indivisible: false,
  /** One attempt to end an erasure. */
  carryOn: async (_requestId: string): Promise<unknown> => undefined,
});
const state = calm();
beforeEach(() => void Object.assign(state, calm()));

/** Like a request to a service that is away: it ends with its worker or workflow. */
const hang = async (): Promise<never> => {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), 500);
  return await context.cancelled.finally(() => clearInterval(beat));
};

const activities = {
  live: {
    mergeInbox: async () => {
      state.merges += 1;
      return { repeats: state.repeats, more: state.more };
    },
    rereadCalls: async () => {
      state.rereads += 1;
      return await hang();
    },
    planSync: async () => state.plan,
    readRangePart: async ({ range, axis }: { range: Range; axis: string }) => {
      state.read.push(range);
      state.axes.push(axis);
      while (state.slow?.to === range.to) await delay(20);
      return { totals: { ...emptyTotals, calls: 1 }, rest: null, windowLength: hour };
    },
    rereadWindows: async ({ parts }: PlannedSync['lookback']) => {
      state.lookback.push(...parts);
      if (state.refusing) throw transient('LIST_SHAPE', 'made up');
      return { listed: 7, changed: 1, fetched: 1, requests: 1 };
    },
    finishSync: async () => {
      state.finishes += 1;
      return { watermark: state.finishes };
    },
  },
  read: {
    countRange: async ({ range }: { range: Range }) => {
      return { range, expected: null, windowLength: hour, indivisible: state.indivisible };
    },
    readRangePart: async () => {
      state.parts += 1;
      return state.loading ? { totals: emptyTotals, rest: null, windowLength: hour } : await hang();
    },
  },
  load: {
    listPending: async () => (state.pending === 0 ? {} : { main: state.pending }),
    loadPending: async () => {
      if (state.loading) return await hang();
      const held = state.held > 0 ? state.held-- : 0;
      return { sent: 0, changed: held === 0 ? 1 : 0, more: false, held };
    },
    runMaintenance: async () => {
      state.maintained += 1;
      return {};
    },
    resumeErasure: ({ requestId }: { requestId: string }) => state.carryOn(requestId),
  },
};

const site = useOpened(async () => {
  const { address, taskQueue } = await useTemporal();
  const connection = await Connection.connect({ address });
  const native = await NativeConnection.connect({ address });
  const queues = messages.taskQueuesOf(taskQueue);
  const codePath = new URL('../../dist/workflow-bundle.js', import.meta.url).pathname;
  const workers = await Promise.all([
    Worker.create({ connection: native, taskQueue: queues.workflows, workflowBundle: { codePath } }),
    ...(['live', 'read', 'load'] as const).map((role) =>
      Worker.create({
        connection: native,
        taskQueue: queues[role],
        activities: activities[role],
        maxConcurrentActivityTaskExecutions: role === 'read' ? 2 : 10,
        // A hanging activity hears of its end by a heartbeat, and holds its slot until then.
        maxHeartbeatThrottleInterval: '500ms',
      }),
    ),
  ]);
  const runs = workers.map((worker) => worker.run());
  const close = async () => {
    for (const worker of workers) worker.shutdown();
    await Promise.all(runs);
    await connection.close();
    await native.close();
  };
  return { client: new Client({ connection }), queues, close };
});

const start = (type: string, workflowId: string, more: Record<string, unknown> = {}) =>
  site.client.workflow.start(type, {
    workflowId,
    taskQueue: site.queues.workflows,
    args: [{ queues: site.queues, ...more }],
  });

const startBackfill = (name: string, range: Range, concurrency: number) => {
  const asked = { name, axis: 'qualified', range, direction: 'newest_first', concurrency, force: false };
  return start('backfill', `${site.queues.workflows}/backfill/${name}`, asked);
};

test('while the list is away, every wake brings a merge, and the sweep ends with maintenance', async () => {
  const prefix = site.queues.workflows;
  state.repeats = 1;
  const merge = await start('mergeInbox', messages.mergeInboxId(prefix), { maxDelayMs: 60_000 });
  await until('the re-reads have begun', async () => state.rereads === 1);
  for (let wake = 1; wake <= 3; wake += 1) {
    const before = state.merges;
    await merge.signal(messages.wakeSignal);
    await until('the inbox is merged again', async () => state.merges > before);
  }
  await merge.terminate();
  state.more = true;
  await (await start('sweep', `${prefix}/sweep`, { prefix })).result();
  expect(state.maintained).toBe(1);
  // They run on their own, once.
  expect(state.rereads).toBe(1);
  const rereads = site.client.workflow.getHandle(messages.rereadCallsId(prefix));
  expect((await rereads.describe()).status.name).toBe('RUNNING');
  await rereads.terminate();
});

test('a list that cannot be cut is read by one reader, however many are asked for', async () => {
  state.indivisible = true;
  const backfill = await startBackfill('whole', { from: 0, to: 100 * hour }, 8);
  await until('it reads', async () => state.parts === 1);
  expect(await backfill.query(messages.progressQuery)).toMatchObject({ concurrency: 1, share: 0 });
  await backfill.terminate();
});

test('readers of a backfill split no range into less than a quarter of a good window', async () => {
  state.loading = true;
  const backfill = await startBackfill('short', { from: 0, to: 2 * hour }, 64);
  expect(await backfill.result()).toMatchObject({ state: 'done' });
  expect(state.parts).toBe(8);
});

const top = [{ from: 90 * hour, to: 100 * hour }];
const rest = [
  { from: 50 * hour, to: 90 * hour },
  { from: 0, to: 40 * hour },
];
const seen = { from: 89 * hour, to: 90 * hour, since: 90 * hour, weight: 1 };
const lookback = { axis: 'qualified', at: 100 * hour, covers: [], parts: [] };
const plan: PlannedSync = {
  lookback,
  ...{ axis: 'qualified', top, rest, others: [], settledTo: 99 * hour, direction: 'newest_first' },
  ...{ seconds: 60, everySeconds: 60 },
};

test('continuous sync reads while a backfill holds every slot for reading', async () => {
  state.plan = plan;
  const backfill = await startBackfill('full', { from: 0, to: 100 * hour }, 8);
  await until('both slots are taken', async () => state.parts === 2);
  const sync = await start('syncRecent', `${site.queues.workflows}/sync-beside`);
  expect(await sync.result()).toMatchObject({ calls: 3 });
  expect((await backfill.describe()).status.name).toBe('RUNNING');
  expect(state.parts).toBe(2);
  // A list that cannot be cut is one window: an attempt that ended before it would begin at its first page for ever.
  for (const handle of [backfill, sync]) {
    const { events } = await handle.fetchHistory();
    const scheduled = events?.map((event) => event.activityTaskScheduledEventAttributes) ?? [];
    const parts = scheduled.filter((one) => one?.activityType?.name === 'readRangePart');
    expect(Math.min(...parts.map((one) => Number(one?.startToCloseTimeout?.seconds)))).toBe(86_400);
  }
  await backfill.terminate();
});

test('continuous sync reads the rest where the list does not answer about the lookback', async () => {
  state.refusing = true;
  state.plan = { ...plan, lookback: { ...lookback, parts: [seen] } };
  const sync = await start('syncRecent', `${site.queues.workflows}/sync-refused`);
  await until('the rest is read', async () => state.read.length === top.length + rest.length);
  expect(await sync.result()).toMatchObject({ watermark: 2 });
});

test('continuous sync reads the newest first, the lookback, the rest in order, then problems of other axes', async () => {
  const left = { from: 7 * hour, to: 8 * hour };
  state.plan = { ...plan, lookback: { ...lookback, parts: [seen] }, others: [{ axis: 'timestamp', ranges: [left] }] };
  const sync = await start('syncRecent', `${site.queues.workflows}/sync-whole`);
  expect(await sync.result()).toMatchObject({ calls: 11, changed: 1, watermark: 2 });
  expect(state.lookback).toEqual([seen]);
  expect(state.read).toEqual([...top, ...rest, left]);
  expect(state.axes).toEqual(['qualified', 'qualified', 'qualified', 'timestamp']);
  expect(state.finishes).toBe(2);
});

test('continuous sync reads the newest again at each interval, however long a window of the rest takes', async () => {
  state.plan = { ...plan, everySeconds: 0.2 };
  state.slow = rest[0];
  const sync = await start('syncRecent', `${site.queues.workflows}/sync-slow`);
  const readsOf = (range?: Range) => state.read.filter(({ to }) => to === range?.to).length;
  const isReadAgain = async () => readsOf(top[0]) >= 3 && readsOf(rest[0]) > 0;
  await until('the newest are read three times beside the rest', isReadAgain).finally(() => {
    state.slow = undefined;
  });
  expect(readsOf(rest[0])).toBe(1);
  const { calls } = (await sync.result()) as { calls: number };
  expect(calls).toBe(state.read.length);
  expect(state.read).toContainEqual(rest[1]);
});

test('continuous sync ends when its time is up, with the rest unread, so that the next run plans anew', async () => {
  state.plan = { ...plan, seconds: 0 };
  const sync = await start('syncRecent', `${site.queues.workflows}/sync-short`);
  expect(await sync.result()).toMatchObject({ calls: 1 });
  expect(state.read).toEqual(top);
  expect(state.finishes).toBeGreaterThan(0);
});

test('what is left to be loaded keeps a backfill from saying that it is done', async () => {
  Object.assign(state, { pending: 5, loading: true });
  const backfill = await startBackfill('loading', { from: 0, to: 1 }, 1);
  const running = async () =>
    (await backfill.describe()).raw.pendingActivities?.map(({ activityType }) => activityType?.name);
  await expect.poll(running).toContain('loadPending');
  expect(await backfill.query(messages.progressQuery)).toMatchObject({ state: 'running', share: 1 });
  await backfill.terminate();
});

test('what is left to be loaded is looked at again while a process holds it that may have been killed', async () => {
  state.held = 1;
  const asked = { warehouse: 'main', origin: 'pending' };
  const load = await start('loadWarehouse', `${site.queues.workflows}/load/main`, asked);
  expect(await load.result()).toEqual({ changed: 1 });
  expect(state.held).toBe(0);
});

test('an erasure whose command was killed ends with a signed receipt, and no history names the person', async () => {
  const pipeline = await openPipeline();
  onTestFinished(() => pipeline.close());
  const calls = ['their-call-1', 'their-call-2', 'other-call'];
  await pipeline.send(calls.map((id, at) => ({ unique_id: id, in: { data: at < 2 ? '0611223344' : '0655667788' } })));
  await pipeline.drain();

  let away = true;
  const deps = pipeline.depsWith({
    load: async (batch) => {
      if (away) throw transient('DATABASE_UNREACHABLE', 'The warehouse does not answer.');
      return await pipeline.warehouse.load(batch);
    },
  });
  const requestId = await beginErasure(deps, mean({ kind: 'phone', values: ['+33 6 11 22 33 44'] }), asUsual);
  state.carryOn = (request) => resumeErasure(deps, request);
  const handle = await startErase(site.client, site.queues.workflows, requestId);
  await expect.poll(() => handle.query(messages.erasureProgressQuery)).toEqual({ waiting: ['main'] });
  expect(await finishErasure(deps, requestId, { load: false })).toEqual({ waiting: ['main'], receipt: undefined });
  away = false;
  expect(await handle.result()).toEqual({ receiptId: 1 });

  const { receipt } = await finishErasure(deps, requestId, { load: false });
  expect(receipt).toMatchObject({ calls: 2, erased: 2, found: { warehouses: [{ name: 'main', erased: 2 }] } });
  expect(await pipeline.warehouse.query('SELECT call_id AS id FROM calls')).toEqual([{ id: 'other-call' }]);
  expect(await verifyReceipts(pipeline.store)).toMatchObject({ verdicts: 1, broken: [], cut: [] });
  const encoded = proto.temporal.api.history.v1.History.encode(await handle.fetchHistory()).finish();
  const history = Buffer.from(encoded).toString('latin1');
  expect(history).toContain(requestId);
  expect(history).not.toMatch(/their-call|1.?1.?22.?33.?44/);
});
