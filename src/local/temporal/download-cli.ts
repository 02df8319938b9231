/** The Temporal CLI from its official release: an archive for each platform, and one file of their checksums. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { EnvHttpProxyAgent, fetch } from 'undici';
import { terminal } from '../../lib/errors.ts';
import { trimSlashes } from '../../lib/trim-slashes.ts';

const run = promisify(execFile);

interface DownloadOptions {
  readonly version: string;
  /** Where the program is to be; its folder is made. */
  readonly target: string;
  /** Proxies: HTTPS_PROXY, HTTP_PROXY, NO_PROXY. A mirror of the releases: CALLSYNC_TEMPORAL_RELEASES. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: (message: string) => void;
}

/** Longest time to find out that the release cannot be reached, in milliseconds. */
const reachMs = 5_000;
/** Longest silence of a transfer that has begun. */
const stallMs = 30_000;

/**
 * Puts the program in its place once its archive has the published checksum. False when the release cannot be reached,
 * has nothing for this platform, or its transfer breaks. @throws CallsyncError TEMPORAL_CLI for a wrong checksum
 */
export const downloadTemporalCli = async (options: DownloadOptions): Promise<boolean> => {
  const { version, target, env, log } = options;
  const base = `${releasesOf(env)}/v${version}`;
  const archive = archiveName(version);
  const agent = createAgent(env);
  try {
    const wanted = await readChecksum(agent, `${base}/checksums.txt`, archive);
    if (wanted === undefined) {
      log(`No release of the Temporal CLI ${version} for this machine could be reached.`);
      return false;
    }
    log(`Downloading the Temporal CLI ${version}, once, into ${dirname(target)}.`);
    await mkdir(dirname(target), { recursive: true });
    const partial = await mkdtemp(join(dirname(target), 'download-'));
    try {
      const file = join(partial, archive);
      if (!(await transfer(agent, `${base}/${archive}`, file))) {
        log('The download of the Temporal CLI broke off.');
        return false;
      }
      if ((await sha256Of(file)) !== wanted) throw wrongChecksum(archive);
      const program = target.slice(dirname(target).length + 1);
      await run('tar', ['-xzf', file, '-C', partial, program]);
      await rename(join(partial, program), target);
      return true;
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
  } finally {
    // Nothing that matters is under way, and a connection to a silent host must not hold up the process.
    await agent.destroy();
  }
};

const releasesOf = (env: NodeJS.ProcessEnv): string =>
  trimSlashes(env.CALLSYNC_TEMPORAL_RELEASES || 'https://github.com/temporalio/cli/releases/download');

const archiveName = (version: string): string => {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  return `temporal_cli_${version}_${platform}_${architecture}.tar.gz`;
};

const createAgent = (env: NodeJS.ProcessEnv): EnvHttpProxyAgent =>
  new EnvHttpProxyAgent({
    httpProxy: env.http_proxy ?? env.HTTP_PROXY ?? '',
    httpsProxy: env.https_proxy ?? env.HTTPS_PROXY ?? '',
    noProxy: env.no_proxy ?? env.NO_PROXY ?? '',
    bodyTimeout: stallMs,
  });

const readChecksum = async (
  dispatcher: EnvHttpProxyAgent,
  url: string,
  archive: string,
): Promise<string | undefined> => {
  try {
    const response = await fetch(url, { dispatcher, signal: AbortSignal.timeout(reachMs) });
    if (!response.ok) return undefined;
    const line = (await response.text()).split('\n').find((one) => one.trim().endsWith(` ${archive}`));
    return /^[0-9a-f]{64}/.exec(line?.trim() ?? '')?.[0];
  } catch {
    return undefined;
  }
};

const transfer = async (dispatcher: EnvHttpProxyAgent, url: string, file: string): Promise<boolean> => {
  try {
    const response = await fetch(url, { dispatcher });
    if (!response.ok || response.body === null) return false;
    await pipeline(Readable.fromWeb(response.body), createWriteStream(file, { mode: 0o600 }));
    return true;
  } catch {
    return false;
  }
};

const sha256Of = async (file: string): Promise<string> => {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
};

const wrongChecksum = (archive: string): Error =>
  terminal('TEMPORAL_CLI', `The downloaded ${archive} does not have its published checksum; it was thrown away.`, {
    hint: 'Ask who runs the proxy or mirror between, or install the Temporal CLI yourself and set temporal.cli.',
  });
