/**
 * Builds the image, looks into it, and runs every service of docker-compose.yml and deploy/kubernetes from it,
 * read-only and as its user. The cases are webhooks, a backfill, workers that end and are killed, everything down and
 * up again. About 8 minutes in all, each case as it says. Needs root. In the suite, test/deploy starts the same
 * services from the build.
 */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cacheFolderOf } from '../../src/local/locate-program.ts';
import { checkTruth, type TruthReport } from '../../src/simulator/demo/check-truth.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import { becomeHealthy, endWell, type Image, openDeployment, type Started, signingSecret } from '../deploy/shipped.ts';
import { useFolder } from '../support/folder.ts';
import { isWanted } from '../support/installation.ts';
import { useOpened } from '../support/opened.ts';
import { databaseForTest, makeServerFolder } from '../support/postgres.ts';
import { openSimulator } from '../support/simulator.ts';
import { useTemporal } from '../support/temporal.ts';
import { installDebian, installNode, root, run, timed } from '../support/tools.ts';

const certificates = process.env.NODE_EXTRA_CA_CERTS;

/**
 * The images that Dockerfile begins with, in buildah's store: Debian without its documentation, as debian:bookworm-slim,
 * and the same with Node and npm, as node:MAJOR-bookworm-slim. Their files are kept in the cache.
 */
const provideBases = async (): Promise<void> => {
  const [, withNode = '', major] =
    /^FROM (node:(\d+)-bookworm-slim)/m.exec(await readFile(join(root, 'deploy/Dockerfile'), 'utf8')) ?? [];
  const images = (await run('buildah images --format "{{.Name}}:{{.Tag}}"')).split('\n');
  const missing = ['debian:bookworm-slim', withNode].filter((name) => !images.includes(`localhost/${name}`));
  if (missing.length === 0) return;
  const programs = await installNode(Number(major));
  const archive = join(cacheFolderOf('image-base-debian', process.env), 'root.tar');
  if (!existsSync(archive)) {
    console.log('Making the images to begin with, once.');
    await run(`
      set -e
      place="$(mktemp -d)"
      debootstrap --variant=minbase bookworm "$place"
      rm -rf "$place"/var/cache/apt/* "$place"/var/lib/apt/lists/* "$place"/usr/share/{doc,man,info,locale}
      ${certificates === undefined ? '' : `cp "${certificates}" "$place/usr/local/share/authorities.pem"`}
      mkdir -p "${join(archive, '..')}"
      tar -C "$place" -cf "${archive}.partial" . && mv "${archive}.partial" "${archive}"
      rm -rf "$place"`);
  }
  for (const name of missing)
    await run(`
      set -e
      working="$(buildah from scratch)"
      buildah add --quiet "$working" "${archive}" /
      if [ ${name} = ${withNode} ]; then
        buildah copy --quiet "$working" "${programs}/node" /usr/local/bin/node
        npm install --silent --global --prefix "$(buildah mount "$working")/usr/local" npm@11
      fi
      buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${certificates === undefined ? '' : '--env NODE_EXTRA_CA_CERTS=/usr/local/share/authorities.pem'} "$working"
      buildah commit --quiet --rm "$working" localhost/${name}`);
};

/** Steps that were built before come from buildah's cache, unless the build is cold. */
const buildImage = async (state: 'cold' | 'warm'): Promise<void> => {
  await installDebian({ buildah: '/usr/bin/buildah', debootstrap: '/usr/sbin/debootstrap' });
  await provideBases();
  const cache = state === 'cold' ? '--no-cache' : '';
  const options = `--isolation chroot --pull=never --layers ${cache} --tag localhost/callsync:local`;
  await run(`buildah bud ${options} --file deploy/Dockerfile .`);
};

/** A container of the built image, whose files can be read until it is closed. */
const openImage = async (): Promise<Image & { close(): Promise<unknown> }> => {
  const name = (await run('buildah from --pull=never localhost/callsync:local')).trim();
  const place = (await run(`buildah mount ${name}`)).trim();
  const { OCIv1 } = JSON.parse(await run(`buildah inspect ${name}`)) as {
    OCIv1: { config: { User: string; Env: string[]; Entrypoint: string[]; WorkingDir: string } };
  };
  const { User, Env, Entrypoint, WorkingDir } = OCIv1.config;
  const account = Number(await run(`chroot "${place}" id --user "${User}"`));
  const image = { root: place, env: Env, entrypoint: Entrypoint, folder: WorkingDir, account };
  return { ...image, close: () => run(`buildah rm ${name}`) };
};

const useImage = () => useOpened(() => buildImage('warm').then(openImage), undefined, 1_200_000);

/** About 4 minutes, and one to make the image that it begins with. */

test('build: cold, then warm', async () => {
  for (const [state, most] of [['cold', 600] as const, ['warm', 60] as const])
    expect((await timed(`built ${state}`, () => buildImage(state))).alone).toBeLessThanOrEqual(most);
});

/** Half a minute. */
describe('content', () => {
  const image = useImage();
  const folder = useFolder('sbom');

  test('has the packages of production that package-lock.json names, and no other', async () => {
    const megabytes = async (path: string) => Number((await run(`du -sm --apparent-size "${path}"`)).split('\t')[0]);
    const [whole, own] = [await megabytes(image.root), await megabytes(join(image.root, image.folder))];
    console.log(`image: ${whole} MB, of them callsync ${own} MB`);
    expect(whole).toBeLessThanOrEqual(400);
    const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>;
    };
    const { '': _ours, ...others } = packages;
    for (const [path, { dev = false, optional = false, devOptional = false }] of Object.entries(others))
      expect(existsSync(join(image.root, 'app', path, 'package.json')), path).toBe(!dev && !optional && !devOptional);
  });

  test('has a bill of materials that names every package in it', async () => {
    const options = `--omit dev --omit optional --flatten-components --output-file "${folder}/sbom.json"`;
    await run(`npx --yes @cyclonedx/cyclonedx-npm@6.0.1 ${options}`);
    const { components } = JSON.parse(await readFile(join(folder, 'sbom.json'), 'utf8')) as {
      components: { readonly name: string; readonly group?: string }[];
    };
    const found = await run(`find "${image.root}/app/node_modules" -name package.json -exec dirname {} +`);
    const names = found.matchAll(/.*node_modules\/((?:@[^/\n]+\/)?[^/\n]+)$/gm);
    const installed = new Set(Array.from(names, ([, name = '']) => name));
    const named = new Set(components.map(({ group, name }) => (group === undefined ? name : `${group}/${name}`)));
    console.log(`${installed.size} packages; the bill of materials names ${named.size}`);
    expect([...installed].filter((name) => !named.has(name))).toEqual([]);
  });

  test('has no embedded server, no configuration and no secret', async () => {
    const places = ['app', 'var/lib/callsync', 'home', 'root'].map((name) => `"${image.root}/${name}"`);
    const found = await run(`find ${places.join(' ')} -type f`);
    const suspicious = /\/(initdb|postgres|temporal|callsync\.yaml|\.npmrc|.*\.(key|pem|env))$|\/secrets\//gm;
    expect(found.match(suspicious) ?? []).toEqual([]);
  });
});

/** About 2 minutes each. */
describe('services', () => {
  const image = useImage();

  test.each(['compose', 'kubernetes'] as const)('%s: the truth outlives workers and a restart', async (of) => {
    const simulator = await openSimulator({
      seed: 26,
      calls: { count: 600, utterances: 3, to: new Date(Date.now() - 1_800_000).toISOString() },
      live: { callsPerSecond: 1, processingSeconds: 1 },
      webhooks: { secret: signingSecret },
    });
    const [database, temporal] = await Promise.all([databaseForTest(), useTemporal()]);
    const scratch = await makeServerFolder();
    const config = { sync: { interval: '5s', settle: '1s', start_from: '1h' } };
    const around = { simulator, databaseUrl: database.url, temporal, scratch, config };
    const { start, kill } = openDeployment(of, around, image);
    const tables = { schema: 'calls', documents: false };
    const warehouse = createPostgresWarehouse({ name: 'postgres', url: database.url, config: tables });
    const startHealthy = async (service: 'receiver' | 'worker', path: '/healthz' | '/readyz'): Promise<Started> => {
      const started = await start(service);
      await becomeHealthy(started, path);
      return started;
    };
    const startWorker = () => startHealthy('worker', '/healthz');
    const up = async () => {
      const ready = () => startHealthy('receiver', '/readyz');
      const { result: receiver, alone } = await timed(`${of}: the receiver is ready`, ready);
      expect(alone).toBeLessThanOrEqual(2);
      await simulator.startWebhooks({ url: `http://127.0.0.1:${receiver.ports.webhook}/webhook` });
      return { receiver, workers: [await startWorker(), await startWorker()] as const };
    };
    const down = async (...all: readonly Started[]): Promise<void> => {
      for (const { child } of all) child.kill('SIGTERM');
      await endWell(...all);
    };
    let truth: TruthReport | undefined;
    const countWrong = async (): Promise<number> => {
      truth = await checkTruth(simulator, warehouse, isWanted);
      return truth.lost + truth.stale + truth.mismatched + truth.duplicated;
    };
    onTestFinished(async () => {
      kill();
      await warehouse.close();
      await rm(scratch, { recursive: true, force: true });
    });
    await endWell(await start('store-role'));
    const first = await up();
    const { from, to } = simulator.range;
    const backfill = await start('cli', ['backfill', '--from', from, '--to', to]);
    await down(first.workers[0]);
    first.workers[1].child.kill('SIGKILL');
    const successors = [await startWorker(), await startWorker()];
    await endWell(backfill);
    await simulator.stopWebhooks(true);
    await down(first.receiver, ...successors);

    const second = await up();
    await endWell(await start('cli', ['status']));
    await simulator.configure({ live: { callsPerSecond: 0 } });
    await expect.poll(countWrong, { timeout: 180_000, interval: 2_000 }).toBe(0);
    console.log(`${of}: ${JSON.stringify(truth)}`);
    expect(truth?.calls).toBeGreaterThan(500);
    await down(second.receiver, ...second.workers);
  });
});
