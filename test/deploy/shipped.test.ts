/**
 * The processes that are shipped really start: role, receiver and two workers of the Compose file and of the Kubernetes manifests, from
 * the build, each with its command, environment, configuration, secrets and mounts, which lie in a folder here. Nothing else can be
 * written to, as in a container whose root is read-only.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { sendWebhook } from '../../src/cli/commands/webhook/send.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { sourceOf } from '../../src/simulator/demo/simulator-process.ts';
import { type Simulator, startSimulator } from '../../src/simulator/start-simulator.ts';
import { createDatabase, makeServerFolder, type TestDatabase } from '../support/postgres.ts';
import { type TestTemporal, useTemporal } from '../support/temporal.ts';

const root = resolve(import.meta.dirname, '../..');
const program = join(root, 'dist/src/cli/main.js');
/** Nobody's: as root, everything could be written to. */
const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** One process of a shipped file: paths are those inside the container. */
interface Shipped {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Text of each file, by path. */
  readonly files: Readonly<Record<string, string>>;
  /** Folders that it may write to, with a name for those that several processes share. */
  readonly folders: Readonly<Record<string, string>>;
}

let simulator: Simulator;
let database: TestDatabase;
let temporal: TestTemporal;
let scratch: string;
const running: ChildProcess[] = [];
beforeAll(async () => {
  [simulator, scratch] = await Promise.all([startSimulator({ calls: { count: 20 } }), makeServerFolder()]);
});
beforeEach(async () => {
  [database, temporal] = await Promise.all([createDatabase(), useTemporal()]);
});
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  await database.drop();
});
afterAll(async () => {
  await Promise.all([simulator.stop(), rm(scratch, { recursive: true, force: true })]);
});

/** What the user fills in: the service, and secrets of the account manager. */
const secretOf = (name: string, made: Readonly<Record<string, string>>): string => {
  const receiver = new URL(database.url);
  [receiver.username, receiver.password] = ['callsync_receiver', made.receiver_password as string];
  const given: Readonly<Record<string, string>> = {
    client_secret: simulator.clientSecret,
    store_url: database.url,
    receiver_url: receiver.href,
    signing_secret: 'signing-secret-of-the-test',
  };
  return given[name] ?? made[name] ?? '';
};
const makeSecrets = (names: Iterable<string>): Record<string, string> => {
  const made = Object.fromEntries([...names].map((name) => [name, randomBytes(24).toString('hex')]));
  return Object.fromEntries(Object.keys(made).map((name) => [name, secretOf(name, made)]));
};

const read = (name: string): string => readFileSync(join(root, name), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: whatever the files hold
type Any = any;

const ofCompose = (): ((name: string) => Shipped) => {
  const compose: Any = parse(read('docker-compose.yml'), { merge: true });
  const secrets = makeSecrets(Object.keys(compose.secrets));
  const { client_secret: _secret, ...source } = sourceOf(simulator);
  const configured = stringify({
    source: { ...source, list: { preset: 'activate' } },
    webhook: { header_prefix: 'X-Service-' },
  });
  return (name) => {
    const { command, environment, secrets: named = [], volumes, configs, tmpfs } = compose.services[name];
    return {
      args: command,
      env: environment,
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

const ofKubernetes = (): ((name: string) => Shipped) => {
  const folder = 'deploy/kubernetes';
  const manifests: Any[] = readdirSync(join(root, folder)).flatMap((file) =>
    parseAllDocuments(read(`${folder}/${file}`)).map((document) => document.toJS()),
  );
  const find = (name: string, kind: RegExp) =>
    manifests.find((one) => one.metadata?.name === name && kind.test(one.kind));
  const keys = manifests.filter(({ kind }) => kind === 'Secret').flatMap(({ stringData }) => Object.keys(stringData));
  const secrets = makeSecrets(keys);
  const { client_secret: _secret, ...source } = sourceOf(simulator);
  const configOf = (name: string): string => {
    const config = parse(find(name, /ConfigMap/).data['callsync.yaml']);
    if (config.source !== undefined) Object.assign(config.source, source);
    return stringify(config);
  };
  return (name) => {
    const { spec } = find(name, /Deployment|StatefulSet|Job/).spec.template;
    const [container] = spec.containers;
    const files: Record<string, string> = {};
    const folders: Record<string, string> = {};
    for (const { name: mounted, mountPath } of container.volumeMounts) {
      const { configMap, secret } = spec.volumes.find((volume: Any) => volume.name === mounted) ?? {};
      if (configMap !== undefined) files[`${mountPath}/callsync.yaml`] = configOf(configMap.name);
      else if (secret === undefined) folders[mountPath] = mounted === 'erasures' ? 'erasures' : `${name}-${mounted}`;
      else {
        const every = Object.keys(find(secret.secretName, /Secret/).stringData).map((key) => ({ key, path: key }));
        for (const { key, path } of secret.items ?? every) files[`${mountPath}/${path}`] = secrets[key] as string;
      }
    }
    const env = Object.fromEntries(container.env.map((one: Any) => [one.name, one.value]));
    return { args: container.args, env, files, folders };
  };
};

interface Started {
  readonly child: ChildProcess;
  readonly said: () => string;
  readonly ports: { readonly webhook: number; readonly operations: number };
}

let place = 0;
/** Starts a process with its paths below a folder of its own; what `over` sets are addresses, which differ here. */
const start = async (of: string, { args, env, files, folders }: Shipped): Promise<Started> => {
  place += 1;
  const here = join(scratch, `${of}-${place}`);
  mkdirSync(join(here, 'home'), { recursive: true });
  const paths = [...Object.keys(folders), '/run/secrets', '/etc/callsync'].join('|');
  const moved = (text: string): string =>
    text.replaceAll(new RegExp(`(?<![\\w./-])(?:${paths})(?![\\w-])`, 'g'), (path) => join(here, path));
  for (const [path, name] of Object.entries(folders)) {
    const shared = join(scratch, `${of}-volume-${name}`);
    mkdirSync(shared, { recursive: true });
    if (account.uid !== undefined) chownSync(shared, account.uid, account.gid);
    mkdirSync(join(here, path, '..'), { recursive: true });
    symlinkSync(shared, join(here, path));
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(here, path, '..'), { recursive: true });
    writeFileSync(join(here, path), moved(text));
  }
  chmodSync(join(here, 'home'), 0o555);
  const ports = { webhook: await findFreePort(), operations: await findFreePort() };
  const settings: Record<string, string> = {
    ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, moved(String(value))])),
    CALLSYNC_TEMPORAL__ADDRESS: temporal.address,
    CALLSYNC_TEMPORAL__NAMESPACE: temporal.namespace,
    CALLSYNC_TEMPORAL__TASK_QUEUE: temporal.taskQueue,
    CALLSYNC_OPERATIONS__PORT: String(ports.operations),
    CALLSYNC_WEBHOOK__PORT: String(ports.webhook),
    HOME: join(here, 'home'),
    PATH: process.env.PATH ?? '',
  };
  const child = spawn(process.execPath, [program, ...args.map(moved)], { cwd: '/', env: settings, ...account });
  running.push(child);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
  }
  return { child, said: () => said, ports };
};

const healthy = async ({ child, said, ports }: Started, path: string): Promise<void> => {
  await expect
    .poll(
      async () => {
        if (child.exitCode !== null) throw new Error(`ended with ${child.exitCode}: ${said()}`);
        return await fetch(`http://127.0.0.1:${ports.operations}${path}`).then(
          ({ ok }) => ok,
          () => false,
        );
      },
      { timeout: 60_000 },
    )
    .toBe(true);
};

test.each([
  ['compose', ofCompose],
  ['kubernetes', ofKubernetes],
] as const)('role, receiver and workers of %s', { timeout: 240_000 }, async (of, files) => {
  const shipped = files();
  const role = await start(of, shipped('store-role'));
  await expect.poll(() => role.child.exitCode, { timeout: 60_000 }).not.toBe(null);
  expect(role.child.exitCode, role.said()).toBe(0);
  const receiver = await start(of, shipped('receiver'));
  const workers = [await start(of, shipped('worker')), await start(of, shipped('worker'))];
  await healthy(receiver, '/readyz');
  for (const worker of workers) await healthy(worker, '/healthz');
  const sent = await sendWebhook({
    url: `http://127.0.0.1:${receiver.ports.webhook}/webhook`,
    body: `{"unique_id":"shipped-${of}","status":"new"}`,
    secret: 'signing-secret-of-the-test',
    deliveryId: `shipped-${of}`,
    retry: false,
  });
  expect(sent, receiver.said()).toMatchObject({ delivered: true });
  for (const { child } of [receiver, ...workers]) child.kill('SIGTERM');
  for (const { child, said } of [receiver, ...workers]) {
    await expect.poll(() => child.exitCode, { timeout: 60_000 }).not.toBe(null);
    expect(child.exitCode, said()).toBe(0);
  }
});
