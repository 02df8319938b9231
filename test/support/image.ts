/**
 * Builds deploy/Dockerfile with buildah where no container engine runs. The stand-in for its first image is made of
 * Debian's debootstrap and Node from its npm package. Needs root.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolderOf } from '../../src/local/locate-program.ts';
import type { Image } from '../deploy/shipped.ts';
import { installDebian, installNode, root, run } from './tools.ts';

const certificates = process.env.NODE_EXTRA_CA_CERTS;

/** As node:MAJOR-bookworm-slim: Debian, Node with npm, and the account node. Kept in the cache, and in buildah's store. */
const provideBase = async (name: string, major: number): Promise<void> => {
  if ((await run(`buildah images --quiet localhost/${name} 2>/dev/null || true`)).trim() !== '') return;
  const programs = await installNode(major);
  const version = (await run(`"${programs}/node" --version`)).trim();
  const archive = join(cacheFolderOf(`image-base-${version}`, process.env), 'root.tar');
  if (!existsSync(archive)) {
    console.log('Making the image to begin with, once.');
    await run(`
      set -e
      place="$(mktemp -d)"
      debootstrap --variant=minbase bookworm "$place"
      install -D "${programs}/node" "$place/usr/local/bin/node"
      npm install --silent --global --prefix "$place/usr/local" npm@11
      chroot "$place" groupadd --gid 1000 node
      chroot "$place" useradd --uid 1000 --gid node --shell /bin/bash --create-home node
      ${certificates === undefined ? '' : `cp "${certificates}" "$place/usr/local/share/authorities.pem"`}
      mkdir -p "${join(archive, '..')}"
      tar -C "$place" -cf "${archive}.partial" . && mv "${archive}.partial" "${archive}"
      rm -rf "$place"`);
  }
  await run(`
    set -e
    working="$(buildah from scratch)"
    buildah add --quiet "$working" "${archive}" /
    buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      ${certificates === undefined ? '' : '--env NODE_EXTRA_CA_CERTS=/usr/local/share/authorities.pem'} --cmd node "$working"
    buildah commit --quiet --rm "$working" localhost/${name}`);
};

/** Steps that were built before come from buildah's cache, unless the build is cold. */
export const buildImage = async (state: 'cold' | 'warm'): Promise<void> => {
  await installDebian({ buildah: '/usr/bin/buildah', debootstrap: '/usr/sbin/debootstrap' });
  const [, base = '', major] =
    /^FROM (node:(\d+)-bookworm-slim)/m.exec(await readFile(join(root, 'deploy/Dockerfile'), 'utf8')) ?? [];
  await provideBase(base, Number(major));
  const cache = state === 'cold' ? '--no-cache' : '';
  await run(
    `buildah bud --isolation chroot --pull=never --layers ${cache} --tag localhost/callsync:local --file deploy/Dockerfile .`,
  );
};

/** A container of the built image, whose files can be read until it is closed. */
export const openImage = async (): Promise<Image & { close(): Promise<unknown> }> => {
  const name = (await run('buildah from --pull=never localhost/callsync:local')).trim();
  const place = (await run(`buildah mount ${name}`)).trim();
  const { OCIv1 } = JSON.parse(await run(`buildah inspect ${name}`)) as {
    OCIv1: { config: { User: string; Env: string[]; Entrypoint: string[]; WorkingDir: string } };
  };
  const { User, Env, Entrypoint, WorkingDir } = OCIv1.config;
  const account = Number(await run(`chroot "${place}" id --user "${User}"`));
  return {
    root: place,
    env: Env,
    entrypoint: Entrypoint,
    folder: WorkingDir,
    account,
    close: () => run(`buildah rm ${name}`),
  };
};
