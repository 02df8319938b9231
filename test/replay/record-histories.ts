/**
 * Records a history of every workflow from the built code into test/replay/histories: `npm run replay:record`, from a
 * released checkout, never from the branch under test. About a minute.
 */
import { writeFile } from 'node:fs/promises';
import proto from '@temporalio/proto';
import { expect, test } from 'vitest';
import { openErasure } from '../../src/store/persons/receipts.ts';
import { sumPurged } from '../../src/store/persons/texts.ts';
import { startErase, startLoadWarehouse, wakeMergeInbox } from '../../src/temporal/workflow-client.ts';
import {
  backfillId,
  eraseId,
  loadWarehouseId,
  mergeInboxId,
  pauseUpdate,
  resumeUpdate,
  setConcurrencyUpdate,
  taskQueuesOf,
} from '../../workflows/messages.ts';
import { install } from '../support/installation.ts';

const { History } = proto.temporal.api.history.v1;

test('records a history of every workflow', async () => {
  const site = await install({
    simulator: { seed: 11, calls: { count: 400, utterances: 2 }, rateLimit: { requests: 0 } },
    source: { limits: { requests: 400, per_s: 1 } },
    config: { sync: { window: { target_calls: 10, max: '1d' }, start_from: '2d' } },
  });
  try {
    await site.startWorker();
    const queues = taskQueuesOf(site.prefix);
    const { workflow } = site.client;
    const save = async (name: string, workflowId: string, runId?: string): Promise<void> => {
      const history = await workflow.getHandle(workflowId, runId).fetchHistory();
      await writeFile(new URL(`histories/${name}.history`, import.meta.url), History.encode(history).finish());
    };

    const { result } = await site.backfill('recorded', { concurrency: 2 });
    const handle = workflow.getHandle(backfillId(site.prefix, 'recorded'));
    await handle.executeUpdate(pauseUpdate);
    await handle.executeUpdate(setConcurrencyUpdate, { args: [3] });
    await handle.executeUpdate(resumeUpdate);
    expect((await result).state).toBe('done');
    await save('backfill', handle.workflowId);

    for (const [name, type] of [
      ['sync-recent', 'syncRecent'],
      ['sweep', 'sweep'],
      ['reread-calls', 'rereadCalls'],
      ['reread-late', 'rereadLate'],
    ] as const) {
      const workflowId = `${site.prefix}/${name}`;
      await workflow.execute(type, {
        workflowId,
        taskQueue: queues.workflows,
        args: [{ queues, prefix: site.prefix }],
      });
      await save(name, workflowId);
    }
    const reconcileId = `${site.prefix}/reconcile`;
    await workflow.execute('reconcile', {
      workflowId: reconcileId,
      taskQueue: queues.workflows,
      args: [{ queues, request: {} }],
    });
    await save('reconcile', reconcileId);

    await (await startLoadWarehouse(site.client, site.prefix, { warehouse: 'postgres', origin: 'rebuild' })).result();
    await save('load-warehouse', loadWarehouseId(site.prefix, 'postgres'));

    const draft = { known: 0, erased: 0, purged: sumPurged() };
    const requestId = await openErasure(site.store, { draft, callIds: [], subjects: [] });
    await (await startErase(site.client, site.prefix, requestId)).result();
    await save('erase', eraseId(site.prefix, requestId));

    await wakeMergeInbox(site.client, site.prefix);
    await wakeMergeInbox(site.client, site.prefix);
    await workflow.getHandle(mergeInboxId(site.prefix)).result();
    await save('merge-inbox', mergeInboxId(site.prefix));
  } finally {
    await site.dispose();
  }
}, 300_000);
