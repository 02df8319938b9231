/** Finds the Temporal CLI, which holds the development server; downloads or builds it when there is none. */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { terminal } from '../../lib/errors.ts';
import { trimSlashes } from '../../lib/trim-slashes.ts';
import { cacheFolderOf, findInstalled, isExecutable, makeCacheFolder } from '../locate-program.ts';

const run = promisify(execFile);
const version = '1.5.1';
const isWindows = process.platform === 'win32';
const program = isWindows ? 'temporal.exe' : 'temporal';
/** Longest time to find out that the release cannot be reached, in milliseconds. */
const reachMs = 5_000;
/** Longest silence of a transfer that has begun. */
const stallMs = 30_000;

interface LocateTemporalCliOptions {
  /** `temporal.cli` of the configuration; wins over everything, and must exist. */
  readonly configured?: string | undefined;
  /**
   * Environment with proxies of the download (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) and a mirror of the releases
   * (CALLSYNC_TEMPORAL_RELEASES). By default, the environment of this process.
   */
  readonly env?: NodeJS.ProcessEnv;
  readonly log: (message: string) => void;
}

/** In this order: configured, CALLSYNC_TEMPORAL_CLI, PATH, our cache, the official release, a build by Go. Returns its path. */
export const locateTemporalCli = async (options: LocateTemporalCliOptions): Promise<string> => {
  const found = await findTemporalCli(options);
  if (found !== undefined) return found;
  const { env = process.env, log } = options;
  const folder = cacheFolder(env);
  await makeCacheFolder(folder);
  const partial = await mkdtemp(join(folder, 'partial-'));
  try {
    if (!(await download(partial, env, log))) await build(partial, env, log);
    await rename(join(partial, program), join(folder, program));
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return join(folder, program);
};

/** The same without download and build; undefined if either would be needed. */
export const findTemporalCli = async (options: Omit<LocateTemporalCliOptions, 'log'>): Promise<string | undefined> => {
  const { configured, env = process.env } = options;
  const installed = await findInstalled(program, {
    configured: configured ?? env.CALLSYNC_TEMPORAL_CLI,
    env,
    refuse: (path) =>
      terminal('TEMPORAL_CLI', `There is no program at ${path}, the configured path of the Temporal CLI.`, {
        hint: 'Correct temporal.cli or CALLSYNC_TEMPORAL_CLI, or remove both.',
      }),
  });
  const cached = join(cacheFolder(env), program);
  return installed ?? ((await isExecutable(cached)) ? cached : undefined);
};

const cacheFolder = (env: NodeJS.ProcessEnv): string => cacheFolderOf(`temporal-${version}`, env);

/**
 * Unpacks the program of the official release into a folder once its archive has the published checksum. False when the release cannot
 * be reached, has nothing for this platform, or its transfer breaks. @throws CallsyncError TEMPORAL_CLI for a wrong checksum
 */
const download = async (folder: string, env: NodeJS.ProcessEnv, log: (message: string) => void): Promise<boolean> => {
  const releases = env.CALLSYNC_TEMPORAL_RELEASES || 'https://github.com/temporalio/cli/releases/download';
  const base = `${trimSlashes(releases)}/v${version}`;
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const archive = `temporal_cli_${version}_${isWindows ? 'windows' : process.platform}_${architecture}.tar.gz`;
  // An HTTP client that knows proxies is loaded by the few that download.
  const { EnvHttpProxyAgent, fetch } = await import('undici');
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: env.http_proxy ?? env.HTTP_PROXY ?? '',
    httpsProxy: env.https_proxy ?? env.HTTPS_PROXY ?? '',
    noProxy: env.no_proxy ?? env.NO_PROXY ?? '',
    bodyTimeout: stallMs,
  });
  const get = async (url: string, signal: AbortSignal | null = null): Promise<Buffer | undefined> => {
    const response = await fetch(url, { dispatcher, signal }).catch(() => undefined);
    return response?.ok === true ? await response.arrayBuffer().then(Buffer.from, () => undefined) : undefined;
  };
  try {
    const sums = (await get(`${base}/checksums.txt`, AbortSignal.timeout(reachMs)))?.toString().split('\n') ?? [];
    const wanted = /^[0-9a-f]{64}/.exec(sums.find((one) => one.trim().endsWith(` ${archive}`))?.trim() ?? '')?.[0];
    if (wanted === undefined) {
      log(`No release of the Temporal CLI ${version} for this machine could be reached.`);
      return false;
    }
    log(`Downloading the Temporal CLI ${version}, once, into ${cacheFolder(env)}.`);
    const bytes = await get(`${base}/${archive}`);
    if (bytes === undefined) {
      log('The download of the Temporal CLI failed.');
      return false;
    }
    if (hash('sha256', bytes) !== wanted)
      throw terminal(
        'TEMPORAL_CLI',
        `The downloaded ${archive} does not have its published checksum; callsync deleted it.`,
        { hint: 'Install the Temporal CLI yourself and set temporal.cli, or ask the operator of the proxy.' },
      );
    await writeFile(join(folder, archive), bytes, { mode: 0o600 });
    await run('tar', ['-xzf', join(folder, archive), '-C', folder, program]);
    return true;
  } finally {
    // Nothing that matters is under way, and a connection to a silent host must not hold up the process.
    await dispatcher.destroy();
  }
};

/** @throws CallsyncError TEMPORAL_CLI */
const build = async (folder: string, env: NodeJS.ProcessEnv, log: (message: string) => void): Promise<void> => {
  log(
    `Building the Temporal CLI ${version} with Go, once, into ${cacheFolder(env)}: ` +
      'about 3 minutes on 2 cores, 250 MB, plus 1.5 GB in the cache of Go.',
  );
  const began = Date.now();
  try {
    await run('go', ['install', `github.com/temporalio/cli/cmd/temporal@v${version}`], {
      env: { ...env, GOBIN: folder },
    });
  } catch (cause) {
    const { code, stderr = '' } = cause as { readonly code?: unknown; readonly stderr?: string };
    const said =
      code === 'ENOENT'
        ? 'The Temporal CLI was not found, could not be downloaded, and Go is not installed to build it.'
        : `The Temporal CLI could not be built: ${stderr.trim().split('\n').at(-1)}`;
    throw terminal('TEMPORAL_CLI', said, {
      hint: 'Install Go 1.25 or newer, or the Temporal CLI (https://docs.temporal.io/cli), or set temporal.address to a server.',
      cause,
    });
  }
  log(`Built the Temporal CLI in ${Math.round((Date.now() - began) / 1000)} s.`);
};
