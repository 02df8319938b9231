/** Erasures, planted personal values and limits of age. About 40 minutes in all, each case as it says. */

import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { privacyConfigSchema } from '../../schemas/config/privacy.ts';
import { sendWebhook } from '../../src/lib/send-webhook.ts';
import { findFreePort } from '../../src/local/local-process.ts';
import { startTemporalDevServer } from '../../src/local/temporal-server.ts';
import { createPrivacy } from '../../src/privacy/privacy.ts';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { installDbt, openDbt, postgresTarget, settingsVars } from '../marts/dbt.ts';
import { keepForAYear } from '../pipeline/load/ages-cases.ts';
import { personOf, recordOf, squeeze, valuesOf } from '../pipeline/load/planted-values.ts';
import { localBigquery, openBigqueryTarget, readBigquery } from '../pipeline/persons/bigquery-target.ts';
import { eraseUnderRestores, openPostgresTarget } from '../pipeline/persons/erasure-cases.ts';
import { readSchemas } from '../pipeline/persons/search-everything.ts';
import { endProcess } from '../support/installation.ts';
import { openPipeline, register } from '../support/pipeline.ts';
import { createDatabase } from '../support/postgres.ts';
import { startProgram } from '../support/program.ts';
import { makeSealingKeys } from '../support/rotated-keys.ts';
import { until } from '../support/until.ts';

/**
 * A thousand persons are erased while ten thousand late, repeated and replayed events arrive. Then ledger and both
 * warehouses are restored to before, and the ledger is lost. About 20 minutes; CALLSYNC_PEOPLE=100 for less.
 */

test('erasure: nothing of erased persons is found anywhere, and receipts verify', async () => {
  const people = Number(process.env.CALLSYNC_PEOPLE ?? 1_000);
  const { pipeline, bigquery } = await openBoth();
  const size = { erased: people, others: Math.ceil(people / 5), events: people * 10 };
  await eraseUnderRestores(pipeline, [await openPostgresTarget(pipeline), bigquery], size);
});

/** A pipeline with documents, and a BigQuery target that its store knows; both are closed at the end of the test. */
const openBoth = async () => {
  const pipeline = await openPipeline({ documents: true });
  onTestFinished(() => pipeline.close());
  await register(pipeline.store, 'bigquery');
  return { pipeline, bigquery: await openBigqueryTarget() };
};

const secret = 'a secret of the planted values';

/** Runs a command to its end. */
const run = async (...args: readonly string[]) => {
  const { ended, stdout, stderr } = startProgram([...args, '--json']);
  return { code: await ended, stdout: stdout(), stderr: stderr() };
};

/** A folder, servers and warehouses of an installation, and configurations of its processes. */
const openPlace = async (name: string) => {
  const folder = mkdtempSync(join(tmpdir(), `callsync-${name}-`));
  const temporal = await startTemporalDevServer({ dataDir: join(folder, 'temporal'), headless: true });
  const database = await createDatabase();
  const bigquery = await localBigquery();
  const pool = new pg.Pool({ connectionString: database.url });
  const running: ChildProcess[] = [];
  onTestFinished(async () => {
    for (const child of running) await endProcess(child, 'SIGKILL');
    await pool.end();
    await temporal.stop();
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });
  const configure = (of: string, more: { store: object; privacy: object; operations?: object }): string => {
    const path = join(folder, `${of}.yaml`);
    const config = {
      source: { base_url: 'http://127.0.0.1:9', token: 'none' },
      temporal: { address: temporal.address },
      warehouses: { postgres: { type: 'postgres', documents: true }, bigquery },
      webhook: { port: 0, secrets: [{ name: 'planted', secret }], spool: { dir: join(folder, `spool-${of}`) } },
      operations: { enabled: false },
      ...more,
      privacy: { profile: 'pseudonymous', ...more.privacy },
    };
    writeFileSync(path, stringify(config), { mode: 0o600 });
    return path;
  };
  /** Starts a process that runs until the end of the test, with the address of its receiver. */
  const start = async (...args: readonly string[]) => {
    const started = startProgram([...args, '--json', '--log-level', 'debug']);
    running.push(started.child);
    const { webhook } = (await started.first()) as { readonly webhook: string };
    return { ...started, webhook, said: () => started.stdout() + started.stderr() };
  };
  return { folder, temporal, databaseUrl: database.url, bigquery, pool, running, configure, start };
};

const settled = (pool: pg.Pool) => {
  const waiting = `SELECT FROM callsync.inbox WHERE outcome = 'pending'
        UNION ALL SELECT FROM callsync.warehouse_calls WHERE pending
        UNION ALL SELECT WHERE NOT EXISTS (SELECT FROM calls.calls)`;
  return until('everything is loaded', async () => (await pool.query(waiting)).rowCount === 0, 600_000);
};

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());

type Sought = ReadonlyMap<string, readonly string[]>;

/** Values of persons by their first eight characters. */
const listSought = (people: number): Sought => {
  const sought = new Map<string, string[]>();
  for (const value of Array.from({ length: people }, (_, index) => valuesOf(index)).flat())
    sought.set(value.slice(0, 8), [...(sought.get(value.slice(0, 8)) ?? []), value]);
  return sought;
};

/** Times of now, as text and as microseconds: the digits of one in some ten thousand are a planted number by chance. */
const times = /\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?|\b1[78]\d{14}\b/g;
const squeezeAll = (text: string): string => squeeze(text.replace(times, ' '));

/** Every value that a text holds; only what has the digits or the name of one is compared with all of them. */
const findIn = (squeezed: string, sought: Sought): string[] => {
  const found = new Set<string>();
  for (let at = 0; at + 8 <= squeezed.length; at += 1) {
    for (const value of sought.get(squeezed.slice(at, at + 8)) ?? [])
      if (squeezed.startsWith(value, at)) found.add(value);
  }
  return [...found];
};

/**
 * 5,000 personal values come in under the profile `pseudonymous`: by webhook, whole, repeated and broken, while the
 * store is away, and by import. Then the test searches the output of every process for them. About 5 minutes;
 * CALLSYNC_PEOPLE=50 for less.
 */
const people = Number(process.env.CALLSYNC_PEOPLE ?? 1_000);

const around = (text: string, value: string): string => {
  const at = text.indexOf(value);
  return `${text.slice(Math.max(0, at - 60), at)}[${value}]${text.slice(at + value.length, at + value.length + 60)}`;
};

test('planted: none is found in store, warehouses, spool, logs, Temporal, metrics or process environments', async () => {
  const sought = listSought(people);
  const { folder, temporal, databaseUrl, bigquery, pool, running, ...place } = await openPlace('planted');
  writeFileSync(join(folder, 'public.pem'), makeSealingKeys().publicKey);
  writeFileSync(join(folder, 'privacy.key'), 'a key of tokens that is long enough');
  const port = await findFreePort();
  const privacy = { key_file: join(folder, 'privacy.key'), seal_key_file: join(folder, 'public.pem') };
  const configure = (name: string, url: string, more = {}): string =>
    place.configure(name, { store: { data_dir: join(folder, 'data'), url }, privacy, ...more });
  const path = configure('up', databaseUrl, { operations: { port } });
  const up = await place.start('up', '--no-schedules', '--config', path);
  // Its store is away: everything it takes stays in its spool.
  const receiver = await place.start('serve', '--config', configure('away', 'postgres://nobody:none@127.0.0.1:9/none'));
  const imported: string[] = [];
  for (let index = 0; index < people; index += 1) {
    const text = JSON.stringify(recordOf(`call-${index}`, index));
    const broken = text.slice(0, -1 - (index % 40));
    const way = index % 5;
    const bodies = way === 0 ? [text, text] : way === 1 ? [broken] : way === 2 ? [text, broken] : [];
    for (const body of bodies) await sendWebhook({ url: up.webhook, body, secret });
    if (way === 3) for (const body of [text, broken]) await sendWebhook({ url: receiver.webhook, body, secret });
    if (way === 4) imported.push(text, broken);
  }
  writeFileSync(join(folder, 'calls.ndjson'), imported.join('\n'));
  const importing = await run('import', join(folder, 'calls.ndjson'), '--config', path);
  rmSync(join(folder, 'calls.ndjson'));
  await settled(pool);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const processes = [...running.map(({ pid }) => pid), temporal.pid].flatMap((pid) =>
    ['environ', 'cmdline'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'latin1')),
  );
  const found: Record<string, number> = {};
  const sizes: Record<string, number> = {};
  /** Where each stands. */
  const hits: string[] = [];
  const look = (place: string, text: string): void => {
    const squeezed = squeezeAll(text);
    const values = findIn(squeezed, sought);
    found[place] = (found[place] ?? 0) + values.length;
    for (const value of values) hits.push(`${place}: ${around(squeezed, value)}`);
    sizes[place] = (sizes[place] ?? 0) + text.length;
  };
  for await (const text of readSchemas(pool, ['callsync', 'calls'])) look('store and PostgreSQL', text);
  for await (const text of readBigquery(bigqueryWarehouseSchema.parse(bigquery))) look('BigQuery', text);
  look('logs', up.said() + receiver.said() + importing.stdout + importing.stderr);
  look('metrics', metrics);
  look('processes', processes.join('\n'));
  await endProcess(receiver.child, 'SIGTERM');
  for (const file of filesIn(folder)) {
    const others = file.startsWith(join(folder, 'temporal/')) ? 'Temporal' : 'other files';
    look(file.includes('spool') ? 'spool' : others, readFileSync(file, 'latin1'));
  }
  const { rows } = await pool.query('SELECT count(*)::int AS calls FROM calls.calls');
  process.stdout.write(`${JSON.stringify({ planted: people * 5, ...rows[0], found, sizes })}\n`);
  expect(hits).toEqual([]);
  expect(sizes.spool).toBeGreaterThan(1_000);
  expect(sizes.Temporal).toBeGreaterThan(1_000);
});

/**
 * A second host with another key is refused at its start. With the same keys, an erasure by telephone number finds the
 * calls of both hosts. Nothing is left of the person. About 3 minutes, too many for the suite, where
 * store/store refuses the other key.
 */

test('hosts: of one installation have one key each, and erase what the other took', async () => {
  expect(await installDbt('postgres')).toBeUndefined();
  const { folder, databaseUrl, bigquery, pool, ...place } = await openPlace('hosts');
  const shared = join(folder, 'shared');
  mkdirSync(shared);
  const configure = (host: string, more = ''): string => {
    const keyOf = (name: string, text = ''): string => {
      const file = join(folder, `${host}-${name}.key`);
      writeFileSync(file, `${name}: a key that is long enough${text}`);
      return file;
    };
    const store = {
      ...{ url: databaseUrl, data_dir: join(folder, host) },
      ...{ tombstone_key_file: keyOf('tombstone'), proof_key_file: keyOf('proof') },
      ...{ proof_heads_file: join(shared, 'heads.json'), erasure_log: join(shared, 'erasures.log') },
    };
    return place.configure(host, { store, privacy: { key_file: keyOf('privacy', more), unreadable: 'drop' } });
  };
  const paths = { first: configure('first'), second: configure('second'), other: configure('other', '!') };
  const up = await place.start('up', '--no-schedules', '--config', paths.first);
  for (const command of [['serve'], ['worker'], ['up', '--no-schedules']]) {
    const refused = await run(...command, '--config', paths.other);
    process.stdout.write(`${command[0]}: exit ${refused.code}, ${refused.stderr.trim().split('\n').at(-1)}\n`);
    expect(refused.code).not.toBe(0);
    expect(refused.stdout + refused.stderr).toMatch(/PRIVACY_KEY/);
  }
  const second = await place.start('serve', '--config', paths.second);
  for (const person of [0, 1, 2])
    for (const [host, { webhook: url }] of Object.entries({ up, second })) {
      const text = JSON.stringify(recordOf(`${host}-${person}`, person));
      for (const body of [text, text, text.slice(0, -9)]) await sendWebhook({ url, body, secret });
    }
  await settled(pool);
  expect((await run('warehouse', 'search-index', 'create', 'postgres', '--config', paths.first)).code).toBe(0);
  const dbt = await openDbt({ adapter: 'postgres', folder, target: postgresTarget(databaseUrl, 'dbt') });
  const vars = { ...settingsVars, callsync_schema: 'calls' };
  await dbt.run(['run'], vars);

  const { phone } = personOf(0);
  const config = privacyConfigSchema.parse({ profile: 'pseudonymous', unreadable: 'drop' });
  const keys = { token: readFileSync(join(folder, 'first-privacy.key')), seal: undefined };
  const [token] = createPrivacy(config, keys).tokensOf(phone);
  const sought = listSought(1);
  const read = async function* (): AsyncGenerator<[place: string, text: string]> {
    for (const [place, schemas] of Object.entries({ callsync: ['callsync'], calls: ['calls'], dbt: dbtSchemas }))
      for await (const text of readSchemas(pool, schemas)) yield [place, text];
    for await (const text of readBigquery(bigqueryWarehouseSchema.parse(bigquery))) yield ['BigQuery', text];
    for (const file of filesIn(shared)) yield ['shared files', readFileSync(file, 'latin1')];
    yield ['search', (await run('search', 'compte', '--limit', '1000', '--config', paths.second)).stdout];
  };
  const { rows } = await pool.query<{ name: string }>(`SELECT schema_name AS name FROM information_schema.schemata
      WHERE schema_name LIKE '%dbt%' OR schema_name LIKE 'stg\\_%'`);
  const dbtSchemas = rows.map(({ name }) => name);
  const count = async (): Promise<Record<string, number>> => {
    const found: Record<string, number> = {};
    for await (const [place, text] of read()) {
      const isFound =
        text.includes(token) || /"(?:up|second)-0"/.test(text) || findIn(squeezeAll(text), sought).length > 0;
      found[place] = (found[place] ?? 0) + Number(isFound);
    }
    return found;
  };
  const before = await count();
  writeFileSync(join(folder, 'numbers.txt'), `${phone}\n`);
  const by = ['--by', 'phone', '--file', join(folder, 'numbers.txt')];
  const erased = await run('erase', ...by, '--yes', '--config', paths.second);
  process.stdout.write(erased.stdout + erased.stderr);
  expect(JSON.parse(erased.stdout) as { calls: number; erased: number }).toMatchObject({ calls: 2, erased: 2 });
  await settled(pool);
  await dbt.run(['run'], vars);
  await dbt.close();
  const after = await count();
  process.stdout.write(`${JSON.stringify({ before, after })}\n`);
  for (const place of ['callsync', 'calls', 'dbt', 'BigQuery', 'search']) expect(before[place]).toBeGreaterThan(0);
  // The ledger keeps the ids of tombstones, by which it knows the calls again.
  const { callsync: ids, ...places } = after;
  expect(places).toEqual(Object.fromEntries(Object.keys(places).map((place) => [place, 0])));
  const left = `SELECT call_id AS id FROM callsync.ledger WHERE tombstone AND call_id LIKE '%-0' ORDER BY 1`;
  expect((await pool.query(left)).rows).toEqual([{ id: 'second-0' }, { id: 'up-0' }]);
  expect(ids).toBeLessThan(before.callsync ?? 0);
});

/**
 * A year of simulated days under limits of age: nothing older than its class allows, in ledger, PostgreSQL and
 * BigQuery, and all that is younger. About 15 minutes; CALLSYNC_STEP=7 looks every seventh day.
 */

test('retention: after a year nothing is older than its class allows, and everything younger is there', async () => {
  const { pipeline, bigquery } = await openBoth();
  const step = Number(process.env.CALLSYNC_STEP ?? 1);
  await keepForAYear(pipeline, [pipeline.target, bigquery.target], { step, callsPerDay: 5 });
});
