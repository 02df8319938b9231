/**
 * Two ways in, each from nothing to the result of the demo: first with empty caches, then again with the caches that
 * this filled. About 15 minutes in all, each case as it says. In the suite, test/docs follows the quickstart with the
 * build. The third way is the campaign `image`.
 */
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testCommands } from '../docs/command-cases.ts';
import { useFolder } from '../support/folder.ts';
import { cleanEnvironment, root, run, timed } from '../support/tools.ts';

const folder = useFolder('installs');

/** @param lines of shell, in an empty folder, the last of which prints the result of a demo */
const testWay = (name: string, lines: readonly string[]): void => {
  test.each([['cold', 600] as const, ['warm', 60] as const])('%s', async (state, limitSeconds) => {
    const cwd = join(folder, `${name}-${state}`);
    await mkdir(cwd);
    const caches = join(folder, `${name}-caches`);
    const kept = { XDG_CACHE_HOME: caches, npm_config_cache: join(caches, 'npm'), GOPATH: join(caches, 'go') };
    const own = { GOFLAGS: '-modcacherw', CALLSYNC_STORE__DATA_DIR: join(cwd, 'data') };
    const env = { ...cleanEnvironment, ...kept, ...own };
    let last = '';
    const { alone } = await timed(`${name}, ${state}`, async () => {
      for (const line of lines) last = await timed(line, () => run(line, { cwd, env })).then(({ result }) => result);
    });
    expect(JSON.parse(last.trim().split('\n').at(-1) ?? '').truth).toMatchObject({ lost: 0, stale: 0, mismatched: 0 });
    expect(alone).toBeLessThanOrEqual(limitSeconds);
  });
};

/** A clone of the last commit. About 7 minutes, 5 of them to build the Temporal server. */
describe('clone', () => {
  const demo = 'npm run --silent demo -- --exit --json --data-dir data';
  testWay('clone', [`git clone --quiet "${root}" .`, 'npm ci', demo]);
});

/** The packed build in an empty folder, then the quickstart with it. About 8 minutes, 5 of them to build the server. */
describe('package', () => {
  testWay('package', [
    `npm pack --silent --ignore-scripts "${root}"`,
    'npm install --silent ./callsync-*.tgz',
    'npx callsync demo --exit --json --data-dir data',
  ]);

  test('is below 2 MB, with the build and its licence, without tests, benches and source maps', async () => {
    const cwd = join(folder, 'package-warm');
    const [packed = ''] = (await readdir(cwd)).filter((name) => name.endsWith('.tgz'));
    const { size } = await stat(join(cwd, packed));
    console.log(`${packed}: ${size} bytes`);
    expect(size).toBeLessThan(2e6);
    const files = (await run(`tar -tzf ${packed}`, { cwd })).split('\n').map((name) => name.replace('package/', ''));
    expect(files).toEqual(expect.arrayContaining(['package.json', 'LICENSE', 'README.md', 'dist/workflow-bundle.js']));
    expect(files.filter((name) => /\.map$|\.test\.|^(src|test|dist\/(bench|scripts))\//.test(name))).toEqual([]);
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    expect(await run('npx callsync --version', { cwd })).toContain(version);
  });

  testCommands('quickstart', () => `"${join(folder, 'package-warm/node_modules/.bin/callsync')}"`);
});
