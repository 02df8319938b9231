/** Histories recorded from released code replay on the present code; broken workflows do not. */
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import proto from '@temporalio/proto';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { useFolder } from '../support/folder.ts';

const root = new URL('../../', import.meta.url).pathname;
const recorded = new URL('histories/', import.meta.url);

const { History } = proto.temporal.api.history.v1;

const readHistories = async () => {
  const files = (await readdir(recorded)).filter((file) => file.endsWith('.history')).sort();
  const readHistory = async (file: string) => ({
    ...{ workflowId: file.replace('.history', ''), history: History.decode(await readFile(new URL(file, recorded))) },
  });
  return await Promise.all(files.map(readHistory));
};

type Recorded = Awaited<ReturnType<typeof readHistories>>;

/** Names of the workflows that do not replay on a bundle. */
const replayFailures = async (workflowBundle: { code: string } | { codePath: string }, histories?: Recorded) => {
  const failures: string[] = [];
  const given = histories ?? (await readHistories());
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, given)) {
    if (error !== undefined) failures.push(workflowId);
  }
  return failures;
};

const read = 'await readActivities(input.queues)';
const reading = 'await readRanges(';
const finishing = 'const finished = await finishSync({ seenTo });';
const planning = 'const plan = await planRereads();';
const merging = 'await liveActivities(input.queues).mergeInbox();';
/** Each changes released workflow code in a way that a running workflow would not survive: what, which one, from, to. */
const broken = [
  ['an activity is called that was not', 'backfill', reading, `${read}.planRereads();\n  ${reading}`],
  ['an activity is no longer called', 'sync-recent', finishing, 'const finished = { watermark: null };'],
  ['a timer is added', 'reread-late', planning, `await pause(1);\n  ${planning}`],
  ['two activities change places', 'sweep', merging, `await load.listPending();\n  ${merging}`],
  ['an activity goes by another name', 'reconcile', 'await planReconcile(', `${read}.reconcileWindows(`],
] as const;

const folder = useFolder('replay');

test('recorded histories cover every workflow and replay on the present code', async () => {
  const exported = await readFile(join(root, 'workflows/index.ts'), 'utf8');
  expect((await readHistories()).length).toBe(exported.match(/^export \{/gm)?.length);
  expect(await replayFailures({ codePath: join(root, 'dist/workflow-bundle.js') })).toEqual([]);
});

test('a sync of an older worker replays although a newer one planned it', async () => {
  const sync = (await readHistories()).filter(({ workflowId }) => workflowId === 'sync-recent');
  const events = sync[0]?.history.events ?? [];
  const [planned] = events.flatMap((one) => one.activityTaskCompletedEventAttributes?.result?.payloads ?? []);
  const plan = JSON.parse(`${planned?.data}`);
  const parts = [{ from: plan.top[0].from, to: plan.top[0].from + 1, since: null, weight: 1 }];
  const lookback = { axis: plan.axis, at: plan.settledTo, covers: [], parts };
  Object.assign(planned ?? {}, { data: Buffer.from(JSON.stringify({ ...plan, lookback })) });
  expect(await replayFailures({ codePath: join(root, 'dist/workflow-bundle.js') }, sync)).toEqual([]);
});

test('recorded histories replay on a bundle that a worker holds in one byte a character', async () => {
  const bundle = await readFile(join(root, 'dist/workflow-bundle.js'), 'utf8');
  expect(bundle.match(/[\u0100-\uffff]/g)).toBeNull();
  const map = JSON.parse(Buffer.from(bundle.split('base64,').at(-1) ?? '', 'base64').toString());
  expect(map.sourcesContent).toBeUndefined();
  expect(map.sources).toContain(join(root, 'workflows/backfill.ts'));
});

test('recorded histories do not replay when their workflow is broken, and all others do', async () => {
  // Each change is in the file of one workflow, which no other imports: one bundle shows what each of them does.
  for (const name of ['dist/workflows', 'dist/schemas', 'package.json'])
    await cp(join(root, name), join(folder, basename(name)), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [_, name, from, to] of broken) {
    const path = join(folder, 'workflows', `${name}.js`);
    const code = await readFile(path, 'utf8');
    expect(code).toContain(from);
    const importing = `import { sleep as pause } from '@temporalio/workflow';`;
    await writeFile(path, `${importing}\n${code.replace(from, to)}\nvoid pause;\n`);
  }
  const workflowsPath = join(folder, 'workflows/index.js');
  const failed = await replayFailures(await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') }));
  for (const [what, name] of broken) expect(failed, what).toContain(name);
  expect(failed).toHaveLength(broken.length);
});
