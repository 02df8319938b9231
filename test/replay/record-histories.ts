/**
 * Records a history of every workflow from the built code into test/replay/histories. It also records a store and a
 * spool into test/store/released: `npm run replay:record`, from a released checkout, never from the branch under test.
 * About a minute.
 */
import { cp, writeFile } from 'node:fs/promises';
import proto from '@temporalio/proto';
import { expect, test } from 'vitest';
import { openErasure } from '../../src/store/persons/receipts.ts';
import { sumPurged } from '../../src/store/persons/texts.ts';
import { recordWindow } from '../../src/store/windows/windows.ts';
import { startErase, startLoadWarehouse, wakeMergeInbox } from '../../src/temporal/workflow-client.ts';
import { openSpool } from '../../src/webhook/spool/spool.ts';
import * as messages from '../../workflows/messages.ts';
import { dumpStore, releaseFolder } from '../store/released.ts';
import { useFolder } from '../support/folder.ts';
import { installForTest } from '../support/installation.ts';
import { deliver, observationOf, usePipeline } from '../support/pipeline.ts';
import { makeDelivery } from '../webhook/support/deliveries.ts';

const { History } = proto.temporal.api.history.v1;

test('records a history of every workflow', async () => {
  const site = await installForTest({
    simulator: { seed: 11, calls: { count: 400, utterances: 2 } },
    config: { sync: { window: { target_calls: 10, max: '1d' }, start_from: '2d' } },
  });
  await site.startWorker();
  const queues = messages.taskQueuesOf(site.prefix);
  const { workflow } = site.client;
  const save = async (name: string, workflowId: string, runId?: string): Promise<void> => {
    const history = await workflow.getHandle(workflowId, runId).fetchHistory();
    await writeFile(new URL(`histories/${name}.history`, import.meta.url), History.encode(history).finish());
  };

  const { result } = await site.backfill('recorded', { concurrency: 2 });
  const handle = workflow.getHandle(messages.backfillId(site.prefix, 'recorded'));
  await handle.executeUpdate(messages.pauseUpdate);
  await handle.executeUpdate(messages.setConcurrencyUpdate, { args: [3] });
  await handle.executeUpdate(messages.resumeUpdate);
  expect((await result).state).toBe('done');
  await save('backfill', handle.workflowId);

  for (const name of ['sync-recent', 'sweep', 'reread-calls', 'reread-late', 'reconcile']) {
    const type = name.replace(/-(\w)/, (_, letter: string) => letter.toUpperCase());
    const workflowId = `${site.prefix}/${name}`;
    const args = [{ queues, ...(name === 'reconcile' ? { request: {} } : { prefix: site.prefix }) }];
    await workflow.execute(type, { workflowId, taskQueue: queues.workflows, args });
    await save(name, workflowId);
  }

  await (await startLoadWarehouse(site.client, site.prefix, { warehouse: 'postgres', origin: 'rebuild' })).result();
  await save('load-warehouse', messages.loadWarehouseId(site.prefix, 'postgres'));

  const draft = { known: 0, erased: 0, purged: sumPurged() };
  const requestId = await openErasure(site.store, { draft, callIds: [], subjects: [] });
  await (await startErase(site.client, site.prefix, requestId)).result();
  await save('erase', messages.eraseId(site.prefix, requestId));

  await wakeMergeInbox(site.client, site.prefix);
  await wakeMergeInbox(site.client, site.prefix);
  await workflow.getHandle(messages.mergeInboxId(site.prefix)).result();
  await save('merge-inbox', messages.mergeInboxId(site.prefix));
});

const pipeline = usePipeline();
const dir = useFolder('released');
test('keeps a store and a spool', async () => {
  const { store } = pipeline;
  const at = Date.UTC(2026, 0, 2) * 1000;
  const fields = { status: 'qualified', timestamp: '2026-01-01T12:00:00Z' };
  await pipeline.observe(['a', 'b', 'c'].map((id) => observationOf(id, at, fields)));
  const window = { axis: 'timestamp', from: at - 86_400_000_000, to: at };
  await recordWindow(store, { ...window, calls: 3, shown: 'total', origin: 'test' });
  await deliver(store, [{ body: { unique_id: 'd', status: 'void' }, deliveryId: '1767312000.25' }]);
  await dumpStore(store);

  const config = { max_bytes: 1_000_000, min_free_bytes: 0, segment_bytes: 100_000, damaged_retention: 86_400_000 };
  const spool = await openSpool({ dir, config, lockWaitMs: 0, log: { info() {}, warn() {}, error() {} } });
  await spool.append(['e', 'f'].map((id) => makeDelivery(id)));
  // As a kill leaves it.
  await cp(dir, new URL('spool', releaseFolder), { recursive: true, filter: (path) => !path.includes('lock') });
  await spool.close();
});
