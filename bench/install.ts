/**
 * The package installed as a user does: packed, then `npm install --omit=dev` in an empty folder with an empty cache. Prints
 * each package from 2 MB on, and the parts of the two largest ones. Then the first demo from it. The Temporal server, which
 * the demo builds where it is missing, is printed apart. Options: --json FILE, --no-demo. About 2 minutes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { startTemporalDevServer } from '../src/local/temporal-server.ts';

const { values: flags } = parseArgs({
  options: { json: { type: 'string' }, 'no-demo': { type: 'boolean', default: false } },
});
const root = resolve(import.meta.dirname, '../..');
const shownMegabytes = 2;
const blockBytes = 512;

/** Megabytes (2^20 bytes) that a file or folder takes on the disk, as `du` counts. */
const weigh = async (path: string): Promise<number> => {
  const own = await lstat(path);
  const inside = own.isDirectory()
    ? await Promise.all((await readdir(path)).map((name) => weigh(join(path, name))))
    : [];
  return inside.reduce((sum, one) => sum + one, (own.blocks * blockBytes) / 2 ** 20);
};

const runTimed = async (line: string, cwd: string, env: NodeJS.ProcessEnv) => {
  const begun = performance.now();
  const child = spawn('bash', ['-c', line], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const printed = await text(child.stdout);
  const [code] = await ended;
  if (code !== 0) throw new Error(`${line} ended with ${code}.`);
  return { printed, seconds: (performance.now() - begun) / 1_000 };
};

/** Folders of packages below node_modules, those with a scope too. */
const listPackages = async (modules: string): Promise<readonly string[]> => {
  const names = (await readdir(modules)).filter((name) => !name.startsWith('.'));
  const all = await Promise.all(
    names.map(async (name) =>
      name.startsWith('@') ? (await readdir(join(modules, name))).map((inner) => join(name, inner)) : [name],
    ),
  );
  return all.flat();
};

const show = (name: string, value: number, unit: string): void =>
  console.log(`${name.padEnd(60)} ${value.toFixed(1).padStart(7)} ${unit}`);

const showParts = async (modules: string): Promise<void> => {
  const names = await listPackages(modules);
  const parts = await Promise.all(names.map(async (name) => ({ name, megabytes: await weigh(join(modules, name)) })));
  parts.sort((left, right) => right.megabytes - left.megabytes);
  for (const [index, { name, megabytes }] of parts.entries()) {
    if (megabytes < shownMegabytes) break;
    show(name, megabytes, 'MB');
    const inner = ['releases', 'native'].map((folder) => join(modules, name, folder)).find(existsSync);
    if (index > 1 || inner === undefined) continue;
    for (const part of await readdir(inner)) show(`  ${part}`, await weigh(join(inner, part)), 'MB');
  }
  const small = parts.filter(({ megabytes }) => megabytes < shownMegabytes);
  const rest = small.reduce((sum, { megabytes }) => sum + megabytes, 0);
  show(`${small.length} packages below ${shownMegabytes} MB`, rest, 'MB');
};

const folder = await mkdtemp(join(tmpdir(), 'callsync-install-'));
// PostgreSQL of a demo by root runs as another account.
await chmod(folder, 0o755);
try {
  const { npm_config_cache: _cache, ...inherited } = process.env;
  const env = Object.fromEntries(Object.entries(inherited).filter(([name]) => !/^(npm_|CALLSYNC_)/i.test(name)));
  const cold = { ...env, npm_config_cache: join(folder, 'npm') };
  await runTimed(`npm pack --silent --ignore-scripts "${root}"`, folder, env);
  await writeFile(join(folder, 'package.json'), '{}');
  const install = await runTimed('npm install --silent --omit=dev ./callsync-*.tgz', folder, cold);
  const modules = join(folder, 'node_modules');
  const megabytes = await weigh(modules);
  await showParts(modules);
  show('installed', megabytes, 'MB');
  show('npm install, with an empty cache', install.seconds, 's');
  const summary: Record<string, number> = { megabytes, install_seconds: install.seconds };
  if (!flags['no-demo']) {
    const begun = performance.now();
    await (await startTemporalDevServer({ dataDir: join(folder, 'temporal'), headless: true })).stop();
    show('Temporal server, built where it is missing, and started once', (performance.now() - begun) / 1_000, 's');
    const demo = await runTimed('npx callsync demo --exit --json --data-dir data', folder, cold);
    const { truth } = JSON.parse(demo.printed.trim().split('\n').at(-1) ?? '');
    show('first demo', demo.seconds, 's');
    show('install and first demo', install.seconds + demo.seconds, 's');
    console.log(`truth: ${JSON.stringify(truth)}`);
    summary.demo_seconds = demo.seconds;
  }
  if (flags.json !== undefined) await writeFile(flags.json, `${JSON.stringify(summary, null, 2)}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
