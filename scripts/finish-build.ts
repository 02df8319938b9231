/**
 * Completes dist/ after tsc: removes files without a source, copies files that are not TypeScript, and makes the
 * command executable. Bundles the workflows once, so that no worker needs webpack at its start.
 */
import { chmod, cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { removeStale } from './remove-stale.ts';

const dist = resolve(import.meta.dirname, '..');
const root = resolve(dist, '..');

await removeStale(root, dist);
await copyAssets();
await finishCommand();
await bundleWorkflows();
// Read by is-current: everything in dist belongs to sources that are older than this.
await writeFile(join(dist, 'built'), '');

async function copyAssets(): Promise<void> {
  for (const folder of ['src', 'schemas']) {
    for (const entry of await readdir(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name.endsWith('.ts')) continue;
      const source = join(entry.parentPath, entry.name);
      const target = join(dist, relative(root, source));
      await mkdir(dirname(target), { recursive: true });
      await cp(source, target);
    }
  }
}

async function finishCommand(): Promise<void> {
  const command = join(dist, 'src/cli/main.js');
  const text = await readFile(command, 'utf8');
  if (!text.startsWith('#!/usr/bin/env node\n')) throw new Error(`${command} has lost its shebang.`);
  const { mode } = await stat(command);
  await chmod(command, mode | 0o111);
}

async function bundleWorkflows(): Promise<void> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(dist, 'workflows/index.js'),
    logger: new DefaultLogger('WARN'),
    // A worker holds the map four times. A stack trace needs no sources and no columns.
    webpackConfigHook: (config) => ({ ...config, devtool: 'inline-nosources-cheap-module-source-map' }),
  });
  // With a character beyond Latin-1, V8 holds two bytes for each one of the text.
  const escaped = code.replace(/[\u0100-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  await writeFile(join(dist, 'workflow-bundle.js'), escaped);
}
