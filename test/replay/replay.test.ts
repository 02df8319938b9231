/** Histories recorded from released code replay on the present code; broken workflows do not. */
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import proto from '@temporalio/proto';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { describe, expect, test } from 'vitest';
import { useFolder } from '../support/folder.ts';

const root = new URL('../../', import.meta.url).pathname;
const recorded = new URL('histories/', import.meta.url);

const { History } = proto.temporal.api.history.v1;

const readHistories = async () => {
  const files = (await readdir(recorded)).filter((file) => file.endsWith('.history')).sort();
  return await Promise.all(
    files.map(async (file) => ({
      workflowId: file.replace('.history', ''),
      history: History.decode(await readFile(new URL(file, recorded))),
    })),
  );
};

/** Names of the recorded workflows that do not replay on a bundle. */
const replayFailures = async (workflowBundle: { code: string } | { codePath: string }): Promise<string[]> => {
  const failures: string[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories({ workflowBundle }, await readHistories())) {
    if (error !== undefined) failures.push(workflowId);
  }
  return failures;
};

/** Each changes released workflow code in a way that a running workflow would not survive. */
const broken = [
  {
    what: 'an activity is called that was not',
    file: 'backfill.js',
    from: 'await readRanges(',
    to: 'await readActivities(input.queues).planRereads();\n  await readRanges(',
    fails: 'backfill',
  },
  {
    what: 'an activity is no longer called',
    file: 'sync-recent.js',
    from: 'return await finishSync({ seenTo });',
    to: 'return { watermark: null };',
    fails: 'sync-recent',
  },
  {
    what: 'a timer is added',
    file: 'reread-late.js',
    from: 'const plan = await planRereads();',
    to: 'await sleep(1);\n  const plan = await planRereads();',
    fails: 'reread-late',
  },
  {
    what: 'two activities change places',
    file: 'sweep.js',
    from: 'await liveActivities(input.queues).mergeInbox();',
    to: 'await load.listPending();\n  await liveActivities(input.queues).mergeInbox();',
    fails: 'sweep',
  },
  {
    what: 'an activity goes by another name',
    file: 'reconcile.js',
    from: 'await planReconcile(',
    to: 'await readActivities(input.queues).reconcileWindows(',
    fails: 'reconcile',
  },
] as const;

describe('recorded histories', () => {
  const folder = useFolder('replay');

  test('cover every workflow and replay on the present code', async () => {
    const names = (await readHistories()).map((one) => one.workflowId);
    const exported = await readFile(join(root, 'workflows/index.ts'), 'utf8');
    expect(names.length).toBe(exported.match(/^export \{/gm)?.length);
    expect(await replayFailures({ codePath: join(root, 'dist/workflow-bundle.js') })).toEqual([]);
  });

  test('replay on a bundle that a worker holds in few bytes: one for a character, a map of lines alone', async () => {
    const bundle = await readFile(join(root, 'dist/workflow-bundle.js'), 'utf8');
    expect(bundle.match(/[\u0100-\uffff]/g)).toBeNull();
    const map = JSON.parse(Buffer.from(bundle.split('base64,').at(-1) ?? '', 'base64').toString());
    expect(map.sourcesContent).toBeUndefined();
    expect(map.sources).toContain(join(root, 'workflows/backfill.ts'));
  });

  test('do not replay when their workflow is broken, and all others do', async () => {
    // Each change is in the file of one workflow, which no other imports: one bundle shows what each of them does.
    await cp(join(root, 'dist/workflows'), join(folder, 'workflows'), { recursive: true });
    await cp(join(root, 'dist/schemas'), join(folder, 'schemas'), { recursive: true });
    await cp(join(root, 'package.json'), join(folder, 'package.json'));
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const { file, from, to } of broken) {
      const path = join(folder, 'workflows', file);
      const code = await readFile(path, 'utf8');
      expect(code).toContain(from);
      await writeFile(path, `import { sleep } from '@temporalio/workflow';\n${code.replace(from, to)}\nvoid sleep;\n`);
    }
    const bundle = await bundleWorkflowCode({
      workflowsPath: join(folder, 'workflows/index.js'),
      logger: new DefaultLogger('ERROR'),
    });
    const failed = await replayFailures(bundle);
    for (const { what, fails } of broken) expect(failed, what).toContain(fails);
    expect(failed).toHaveLength(broken.length);
  });
});
