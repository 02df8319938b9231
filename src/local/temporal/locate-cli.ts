/** Finds the Temporal CLI, which holds the development server; downloads or builds it when there is none. */
import { spawn } from 'node:child_process';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { terminal } from '../../lib/errors.ts';
import { cacheFolderOf, findOnPath, isExecutable } from '../locate-program.ts';

const temporalCliVersion = '1.5.1';
const program = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

interface LocateTemporalCliOptions {
  /** `temporal.cli` of the configuration; wins over everything, and must exist. */
  readonly configured?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  readonly log: (message: string) => void;
}

/** In this order: configured, CALLSYNC_TEMPORAL_CLI, PATH, our cache, the official release, a build by Go. Returns its path. */
export const locateTemporalCli = async (options: LocateTemporalCliOptions): Promise<string> => {
  const found = await findTemporalCli(options);
  if (found !== undefined) return found;
  const { env = process.env, log } = options;
  const cached = join(cacheFolder(env), program);
  // Its HTTP client is loaded by the few that download.
  const { downloadTemporalCli } = await import('./download-cli.ts');
  const downloaded = await downloadTemporalCli({ version: temporalCliVersion, target: cached, env, log });
  if (!downloaded) await build(cached, env, log);
  return cached;
};

/** The same without download and build: undefined where one of them would be needed. */
export const findTemporalCli = async ({
  configured,
  env = process.env,
}: Omit<LocateTemporalCliOptions, 'log'>): Promise<string | undefined> => {
  const wanted = configured ?? env.CALLSYNC_TEMPORAL_CLI;
  if (wanted) {
    if (await isExecutable(wanted)) return wanted;
    throw terminal('TEMPORAL_CLI', `There is no program at ${wanted}, the configured path of the Temporal CLI.`, {
      hint: 'Correct temporal.cli or CALLSYNC_TEMPORAL_CLI, or leave both out.',
    });
  }
  const installed = await findOnPath(program, env);
  if (installed !== undefined) return installed;
  const cached = join(cacheFolder(env), program);
  return (await isExecutable(cached)) ? cached : undefined;
};

const cacheFolder = (env: NodeJS.ProcessEnv): string => cacheFolderOf(`temporal-${temporalCliVersion}`, env);

const build = async (target: string, env: NodeJS.ProcessEnv, log: (message: string) => void): Promise<void> => {
  const folder = join(target, '..');
  const partial = join(folder, `build-${process.pid}`);
  await mkdir(partial, { recursive: true });
  log(
    `Building the Temporal CLI ${temporalCliVersion} with Go, once, into ${folder}: ` +
      'about 3 minutes on 2 cores, 250 MB, plus 1.5 GB in the cache of Go.',
  );
  const began = Date.now();
  const ticker = setInterval(() => {
    log(`Still building the Temporal CLI (${Math.round((Date.now() - began) / 1000)} s).`);
  }, 30_000);
  try {
    await runGo({ ...env, GOBIN: partial });
    await rename(join(partial, program), target);
    log(`Built the Temporal CLI in ${Math.round((Date.now() - began) / 1000)} s.`);
  } finally {
    clearInterval(ticker);
    await rm(partial, { recursive: true, force: true });
  }
};

const runGo = (env: NodeJS.ProcessEnv): Promise<void> => {
  const hint =
    'Install Go 1.25 or newer, or the Temporal CLI (https://docs.temporal.io/cli), or set temporal.address to a server.';
  return new Promise((done, fail) => {
    const child = spawn('go', ['install', `github.com/temporalio/cli/cmd/temporal@v${temporalCliVersion}`], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-2000);
    });
    child.once('error', (cause) => {
      fail(
        terminal(
          'TEMPORAL_CLI',
          'The Temporal CLI was not found, could not be downloaded, and Go is not installed to build it.',
          {
            hint,
            cause,
          },
        ),
      );
    });
    child.once('exit', (code) => {
      if (code === 0) return done();
      fail(
        terminal('TEMPORAL_CLI', `The Temporal CLI could not be built: ${errors.trim().split('\n').at(-1)}`, { hint }),
      );
    });
  });
};
