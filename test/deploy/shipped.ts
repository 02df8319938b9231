/**
 * Processes of the Compose file and of the Kubernetes manifests, each with its command, environment, configuration,
 * secrets and mounts. They run from the build, with paths below a folder here, or in the root of an image.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { findFreePort } from '../../src/local/local-process.ts';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import type { SimulatorAddresses } from '../../src/simulator/start-simulator.ts';
import { read, root } from '../support/repository.ts';
import type { TestTemporal } from '../support/temporal.ts';

export const signingSecret = 'signing-secret-of-the-test';

// biome-ignore lint/suspicious/noExplicitAny: whatever the files hold
export type Any = any;

export const compose: Any = parse(read('docker-compose.yml'), { merge: true });

const kubernetes = 'deploy/kubernetes';
/** All of Kubernetes, each with the name of its file. */
export const manifests = readdirSync(join(root, kubernetes)).flatMap((file) =>
  parseAllDocuments(read(`${kubernetes}/${file}`)).map((document): readonly [string, Any] => [file, document.toJS()]),
);
export const findManifest = (name: string, kind: RegExp): Any =>
  manifests.find(([, one]) => one.metadata?.name === name && kind.test(one.kind))?.[1];

/** Stand-ins for the world around a deployment. */
export interface Surroundings {
  readonly simulator: SimulatorAddresses;
  readonly databaseUrl: string;
  readonly temporal: TestTemporal;
  /** A folder that any account can reach. */
  readonly scratch: string;
  /** More of the configuration that the user fills in. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** The root of an image, and what its configuration says. */
export interface Image {
  readonly root: string;
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly folder: string;
  /** Number of its user, and of that user's group. */
  readonly account: number;
}

export type Started = Awaited<ReturnType<ReturnType<typeof openDeployment>['start']>>;

/**
 * The user fills in the service, and secrets of the account manager. The rest is random, as make-secrets.sh makes it.
 */
const makeSecrets = (names: readonly string[], { simulator, databaseUrl }: Surroundings): Record<string, string> => {
  const made = Object.fromEntries(names.map((name) => [name, randomBytes(24).toString('hex')]));
  const receiver = new URL(databaseUrl);
  [receiver.username, receiver.password] = ['callsync_receiver', made.receiver_password as string];
  const urls = { store_url: databaseUrl, receiver_url: receiver.href };
  return { ...made, ...urls, client_secret: simulator.clientSecret, signing_secret: signingSecret };
};

/**
 * Command and environment of each process, the text of its files, and the folders that it may write to. Folders that
 * several processes share have one name. Paths are those inside the container.
 */
const readCompose = (around: Surroundings) => {
  const secrets = makeSecrets(Object.keys(compose.secrets), around);
  const { client_secret: _secret, ...source } = sourceOf(around.simulator);
  const configured = stringify({
    source: { ...source, list: { preset: 'activate' } },
    webhook: { header_prefix: 'X-Service-' },
    ...around.config,
  });
  return (name: string) => {
    const { command, environment, secrets: named = [], volumes, configs, tmpfs } = compose.services[name];
    return {
      args: command as readonly string[],
      env: environment as Readonly<Record<string, string>>,
      files: Object.fromEntries([
        ...named.map((secret: string) => [`/run/secrets/${secret}`, secrets[secret]]),
        ...configs.map(({ target }: Any) => [target, configured]),
      ]),
      folders: Object.fromEntries([
        ...volumes.map((volume: string) => volume.split(':').reverse()),
        ...tmpfs.map((path: string) => [path, `${name}-tmp`]),
      ]),
    };
  };
};

const readKubernetes = (around: Surroundings): ReturnType<typeof readCompose> => {
  const keys = manifests.flatMap(([, { kind, stringData }]) => (kind === 'Secret' ? Object.keys(stringData) : []));
  const secrets = makeSecrets(keys, around);
  const { client_secret: _secret, ...source } = sourceOf(around.simulator);
  const configOf = (name: string): string => {
    const config = parse(findManifest(name, /ConfigMap/).data['callsync.yaml']);
    if (config.source !== undefined)
      Object.assign(config, { source: { ...config.source, ...source }, ...around.config });
    return stringify(config);
  };
  return (name) => {
    // Its manual has commands run in a pod of a worker.
    const { spec } = findManifest(name === 'cli' ? 'worker' : name, /Deployment|StatefulSet|Job/).spec.template;
    const [container] = spec.containers;
    const files: Record<string, string> = {};
    const folders: Record<string, string> = {};
    for (const { name: mounted, mountPath } of container.volumeMounts) {
      const { configMap, secret } = spec.volumes.find((volume: Any) => volume.name === mounted) ?? {};
      if (configMap !== undefined) files[`${mountPath}/callsync.yaml`] = configOf(configMap.name);
      else if (secret === undefined) folders[mountPath] = mounted === 'erasures' ? 'erasures' : `${name}-${mounted}`;
      else {
        const every = Object.keys(findManifest(secret.secretName, /Secret/).stringData).map((key) => ({
          key,
          path: key,
        }));
        for (const { key, path } of secret.items ?? every) files[`${mountPath}/${path}`] = secrets[key] as string;
      }
    }
    const env = Object.fromEntries(container.env.map((one: Any) => [one.name, one.value]));
    return { args: container.args, env, files, folders };
  };
};

export const deployments = { compose: readCompose, kubernetes: readKubernetes };

/** @param image without one, the build runs */
export const openDeployment = (of: keyof typeof deployments, around: Surroundings, image?: Image) => {
  const find = deployments[of](around);
  // As root, everything could be written to.
  const isRoot = process.getuid?.() === 0;
  const account = image?.account ?? (isRoot ? 65_534 : undefined);
  const running: ChildProcess[] = [];
  let place = 0;

  /** Starts a process; what it gets beyond its file are addresses, which differ here. @param args instead of its own */
  const start = async (name: string, args?: readonly string[]) => {
    const shipped = find(name);
    place += 1;
    const here = join(around.scratch, `${of}-${place}`);
    mkdirSync(join(here, 'home'), { recursive: true });
    chmodSync(join(here, 'home'), 0o555);
    const paths = [...Object.keys(shipped.folders), '/run/secrets', '/etc/callsync'];
    const elsewhere = new RegExp(`(?<![\\w./-])(?:${paths.join('|')})(?![\\w-])`, 'g');
    const moved = (text: string) =>
      image === undefined ? text.replaceAll(elsewhere, (path) => join(here, path)) : text;
    const volumes = Object.entries(shipped.folders).map(([path, volume]) => {
      const shared = join(around.scratch, `${of}-volume-${volume}`);
      mkdirSync(shared, { recursive: true });
      if (account !== undefined) chownSync(shared, account, account);
      return { path, shared };
    });
    for (const [path, text] of Object.entries(shipped.files)) {
      mkdirSync(dirname(join(here, path)), { recursive: true });
      writeFileSync(join(here, path), moved(text));
    }
    const ports = { webhook: await findFreePort(), operations: await findFreePort() };
    const { address, namespace, taskQueue } = around.temporal;
    const env: Record<string, string> = {
      ...Object.fromEntries(Object.entries(shipped.env).map(([key, value]) => [key, moved(String(value))])),
      ...{ CALLSYNC_TEMPORAL__ADDRESS: address, CALLSYNC_TEMPORAL__NAMESPACE: namespace },
      CALLSYNC_TEMPORAL__TASK_QUEUE: taskQueue,
      CALLSYNC_OPERATIONS__PORT: String(ports.operations),
      CALLSYNC_WEBHOOK__SHUTDOWN_DELAY_S: '0',
      CALLSYNC_WEBHOOK__PORT: String(ports.webhook),
    };
    const own = (args ?? shipped.args).map(moved);
    let child: ChildProcess;
    if (image === undefined) {
      for (const { path, shared } of volumes) {
        mkdirSync(dirname(join(here, path)), { recursive: true });
        symlinkSync(shared, join(here, path));
      }
      const settings = { ...env, HOME: join(here, 'home'), PATH: process.env.PATH };
      const identity = isRoot ? { uid: account, gid: account } : {};
      const words = [join(root, 'dist/src/cli/main.js'), ...own];
      child = spawn(process.execPath, words, { cwd: '/', env: settings, ...identity });
    } else {
      const files = ['/run/secrets', '/etc/callsync'].filter((path) =>
        Object.keys(shipped.files).some((file) => file.startsWith(`${path}/`)),
      );
      const readOnly = files.map((path) => ({ path, from: join(here, path), isReadOnly: true }));
      const written = volumes.map(({ path, shared }) => ({ path, from: shared, isReadOnly: false }));
      child = spawnInImage(image, { args: own, env, mounts: [...readOnly, ...written] });
    }
    running.push(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (said += text));
    return { child, said: () => said, ports };
  };

  return {
    start,
    kill: () => {
      for (const child of running.splice(0)) child.kill('SIGKILL');
    },
  };
};

/**
 * In a mount namespace of its own: the image read-only, the mounts above it. The process has the user of the image, no
 * capability, and no way to gain one, as `read_only`, `cap_drop` and `no-new-privileges` say.
 */
const spawnInImage = (
  { root: place, env: ofImage, entrypoint, folder, account }: Image,
  of: {
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly mounts: readonly { readonly path: string; readonly from: string; readonly isReadOnly: boolean }[];
  },
): ChildProcess => {
  // As an engine does in the layer of the container.
  for (const { path } of of.mounts) mkdirSync(join(place, path), { recursive: true });
  const bound = of.mounts.flatMap(({ path, from, isReadOnly }) => [
    `mount --bind "${from}" "${place}${path}"`,
    ...(isReadOnly ? [`mount -o remount,bind,ro "${place}${path}"`] : []),
  ]);
  const script = [
    'set -e',
    `mount --bind "${place}" "${place}"`,
    `mount -o remount,bind,ro "${place}"`,
    `mount -t proc proc "${place}/proc"`,
    `mount --rbind /dev "${place}/dev"`,
    ...bound,
    `exec chroot "${place}" setpriv --reuid=${account} --regid=${account} --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs env --ignore-environment --chdir="${folder}" "$@"`,
  ].join('\n');
  const env = [...ofImage, ...Object.entries(of.env).map(([name, value]) => `${name}=${value}`)];
  return spawn('unshare', ['--mount', 'bash', '-c', script, 'bash', ...env, ...entrypoint, ...of.args]);
};

/** Waits until the port of operations answers well. */
export const becomeHealthy = async ({ child, said, ports }: Started, path: '/readyz' | '/healthz'): Promise<void> => {
  const isWell = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}: ${said()}`);
    const answering = fetch(`http://127.0.0.1:${ports.operations}${path}`);
    return await answering.then(({ ok }) => ok).catch(() => false);
  };
  await expect.poll(isWell, { interval: 25 }).toBe(true);
};

/** Waits for the end of processes, which must be clean. V8 must know all flags: not every version of Node has each. */
export const endWell = async (...all: readonly Started[]): Promise<void> => {
  for (const { child, said } of all) {
    await expect.poll(() => child.exitCode, { timeout: 300_000 }).not.toBe(null);
    expect(child.exitCode, said()).toBe(0);
    expect(said()).not.toContain('unrecognized flag');
  }
};
