/** Worker versioning on a real server: running workflows move on to the current build. */
import type { ChildProcess } from 'node:child_process';
import type proto from '@temporalio/proto';
import { expect, test } from 'vitest';
import { wakeMergeInbox } from '../../src/temporal/workflow-client.ts';
import { mergeInboxId } from '../../workflows/messages.ts';
import { endProcess, useInstallation } from '../support/installation.ts';
import { deliver } from '../support/pipeline.ts';
import { settledRange } from '../support/settled-range.ts';
import { until } from '../support/until.ts';

const site = useInstallation(() => ({
  simulator: { seed: 41, calls: { count: 300, utterances: 2, ...settledRange } },
  source: { limits: { requests: 400, per_s: 1, headers_timeout_s: 600, total_timeout_s: 600 } },
  config: { sync: { window: { target_calls: 20 } } },
}));
const deploymentName = () => `callsync-${site.prefix}`;
const startBuild = async (buildId: string): Promise<ChildProcess> => {
  const deployment = { name: deploymentName(), build_id: buildId };
  const path = await site.reconfigure(({ temporal }) => Object.assign(temporal, { deployment }), `${buildId}.yaml`);
  return await site.startWorker(['--config', path]);
};

/** The effect of `temporal worker deployment set-current-version`, once the server knows the build. */
const makeCurrent = (buildId: string): Promise<void> =>
  until(`build ${buildId} is current`, async () => {
    try {
      const version = { namespace: 'default', deploymentName: deploymentName(), buildId, identity: 'test' };
      await site.client.workflowService.setWorkerDeploymentCurrentVersion(version);
      return true;
    } catch (error) {
      if (/not found|no.*poller|missing|yet/i.test(String((error as Error).message))) return false;
      throw error;
    }
  });

/** Each value once that the events of a workflow have, in the order of the first one. */
const tellAll = async <T>(workflowId: string, tell: (event: proto.temporal.api.history.v1.IHistoryEvent) => T) => {
  const { events } = await site.client.workflow.getHandle(workflowId).fetchHistory();
  return [...new Set((events ?? []).map(tell))].filter((told) => told !== undefined && told !== null);
};
/** The builds whose workers completed tasks of a workflow. */
const buildsOf = (workflowId: string) =>
  tellAll(workflowId, (event) => event.workflowTaskCompletedEventAttributes?.deploymentVersion?.buildId);
/** Process ids of the workers that took activities. */
const readersOf = (workflowId: string) =>
  tellAll(workflowId, (event) => event.activityTaskStartedEventAttributes?.identity?.split('@')[0]);

const isRunning = (workflowId: string, activity: string): Promise<void> =>
  until(`${activity} is under way`, async () => {
    const { raw } = await site.client.workflow.getHandle(workflowId).describe();
    return (raw.pendingActivities ?? []).some(({ activityType }) => activityType?.name === activity);
  });

test('a backfill and the merge go on with the current build when theirs is gone for good', async () => {
  const one = await startBuild('1');
  await makeCurrent('1');
  const landed = async (callId: string): Promise<void> => {
    await deliver(site.store, [{ body: JSON.stringify({ unique_id: callId, status: 'void' }), deliveryId: null }]);
    await wakeMergeInbox(site.client, site.prefix);
    const isMerged = async () => !(await site.store.has`SELECT FROM inbox WHERE outcome = 'pending'`);
    await until(`the delivery of ${callId} is merged`, isMerged);
  };
  await landed('before');
  expect(await buildsOf(mergeInboxId(site.prefix))).toEqual(['1']);
  site.gate.shut();
  const first = await site.backfill('first');
  site.gate.grant(4);
  await isRunning(first.workflowId, 'readRangePart');

  const two = await startBuild('2');
  await makeCurrent('2');
  await endProcess(one, 'SIGKILL');
  const second = await site.backfill('second', { force: true });
  await isRunning(second.workflowId, 'countRange');
  await landed('after');
  expect(await buildsOf(mergeInboxId(site.prefix))).toContain('2');
  site.gate.open();
  expect((await first.result).state).toBe('done');
  expect((await second.result).state).toBe('done');

  expect(await buildsOf(first.workflowId)).toEqual(['1', '2']);
  expect(await readersOf(first.workflowId)).toContain(String(two.pid));
  expect(await buildsOf(second.workflowId)).toEqual(['2']);
  expect(await readersOf(second.workflowId)).toEqual([String(two.pid)]);
});
