/** Settings that users, operators and hosts give a server, a database, a role, a pooler or a process: none changes what callsync does. */
import fc from 'fast-check';
import { onTestFinished } from 'vitest';
import { ownRoleUrl } from '../../src/postgres/own-role.ts';
import { startBouncer } from '../support/pgbouncer.ts';
import { connect, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { observe, openSource, tellError } from './settings-work.ts';

/** Values of settings as SQL writes them. Those that a server does not know are left out. */
const settings: Readonly<Record<string, readonly string[]>> = {
  // Texts of values.
  DateStyle: ['German', 'SQL, DMY', 'Postgres, MDY', 'ISO, DMY'],
  IntervalStyle: ['sql_standard', 'postgres_verbose', 'iso_8601'],
  TimeZone: ['Europe/Paris', 'Asia/Kolkata', 'America/St_Johns', 'CET', '<+03>-03'],
  extra_float_digits: ['-15', '0', '3'],
  bytea_output: ['escape'],
  timezone_abbreviations: ['India'],
  xmlbinary: ['hex'],
  xmloption: ['document'],
  lc_numeric: ['C', 'C.utf8'],
  lc_monetary: ['C.utf8'],
  lc_time: ['C.utf8'],
  client_encoding: ['LATIN1', 'SQL_ASCII'],
  // Statements.
  standard_conforming_strings: ['off'],
  escape_string_warning: ['off'],
  backslash_quote: ['off', 'on'],
  array_nulls: ['off'],
  transform_null_equals: ['on'],
  quote_all_identifiers: ['on'],
  search_path: ['nowhere', 'pg_catalog', '"$user"'],
  default_text_search_config: ['pg_catalog.french'],
  gin_fuzzy_search_limit: ['1'],
  row_security: ['off'],
  check_function_bodies: ['off'],
  client_min_messages: ['debug1', 'error'],
  password_encryption: ['md5'],
  // Transactions and time-outs.
  default_transaction_isolation: ['repeatable read', 'serializable', 'read uncommitted'],
  default_transaction_deferrable: ['on'],
  synchronous_commit: ['off', 'local', 'remote_apply'],
  commit_delay: ['500'],
  lock_timeout: ['1ms'],
  statement_timeout: ['3s'],
  idle_in_transaction_session_timeout: ['3s'],
  idle_session_timeout: ['1s'],
  transaction_timeout: ['2s'],
  // Plans.
  ...Object.fromEntries(
    'hashjoin hashagg indexscan seqscan sort nestloop mergejoin bitmapscan material memoize'
      .split(' ')
      .map((name) => [`enable_${name}`, ['off']]),
  ),
  plan_cache_mode: ['force_generic_plan', 'force_custom_plan'],
  work_mem: ['64kB'],
  from_collapse_limit: ['1'],
  join_collapse_limit: ['1'],
  geqo_threshold: ['2'],
  constraint_exclusion: ['off', 'on'],
  synchronize_seqscans: ['off'],
  parallel_setup_cost: ['0'],
  min_parallel_table_scan_size: ['0'],
  debug_parallel_query: ['on', 'regress'],
  force_parallel_mode: ['on', 'regress'],
  random_page_cost: ['1000'],
  effective_io_concurrency: ['0'],
};

/** `all` = every role in the database; `process` = PGOPTIONS, which a pooler refuses. */
const places = ['server', 'database', 'role', 'roleInDatabase', 'all', 'process'] as const;

const setting = fc.constantFrom(...Object.keys(settings)).chain((name) =>
  fc.record({
    name: fc.constant(name),
    value: fc.constantFrom(...(settings[name] as string[])),
    place: fc.constantFrom(...places),
  }),
);

const drawn = fc.record({
  settings: fc.uniqueArray(setting, { minLength: 1, maxLength: 10, selector: ({ name, place }) => `${place} ${name}` }),
  /** TZ of the process. */
  zone: fc.constantFrom('UTC', 'Europe/Paris', 'America/St_Johns', 'Asia/Kolkata', 'Pacific/Apia'),
  /** Options of CREATE DATABASE. Marts and the search need UTF-8. */
  created: fc.constantFrom(
    '',
    "LOCALE_PROVIDER icu ICU_LOCALE 'fr'",
    "LOCALE_PROVIDER icu ICU_LOCALE 'en-u-kn-true'",
    "LOCALE_PROVIDER icu ICU_LOCALE 'tr'",
    "LOCALE_PROVIDER libc LC_COLLATE 'C.utf8' LC_CTYPE 'C'",
    "LOCALE_PROVIDER libc LOCALE 'C' ENCODING 'UTF8'",
  ),
  pooled: fc.boolean(),
});

type Drawn = typeof drawn extends fc.Arbitrary<infer D> ? D : never;

/** The same for a seed in every run. */
const drawSettings = (seed: number): Drawn => fc.sample(drawn, { seed, numRuns: 1 })[0] as Drawn;

// A server with a database for each seed, one after the other.

type Server = Pick<TestDatabase, 'url' | 'adminUrl'>;

const firstDifference = (expected = '', found = ''): string => {
  let at = 0;
  while (at < found.length && expected[at] === found[at]) at += 1;
  return `${expected.slice(Math.max(0, at - 60), at + 60)} | ${found.slice(Math.max(0, at - 20), at + 60)}`;
};

const quoteValue = (name: string, value: string): string => (/path$/.test(name) ? value : `'${value}'`);

/** A line for each difference under the settings of these seeds. PgBouncer stands before the server until the end of the test. */
export const compareSeeds = async (server: Server, seeds: readonly number[]): Promise<readonly string[]> => {
  const bouncer = await startBouncer(server.url, 'session', [ownRoleUrl(server.url, 'reader')]);
  onTestFinished(bouncer.close);
  const { compare, close } = await openSettingsServer(server, bouncer.url);
  onTestFinished(close);
  const differences: string[] = [];
  for (const [index, seed] of seeds.entries()) {
    const found = await compare(seed);
    for (const one of found) console.log(one);
    differences.push(...found);
    if ((index + 1) % 25 === 0) console.log(`${index + 1} of ${seeds.length} seeds: ${differences.length} differences`);
  }
  return differences;
};

/** @param server whose owner of databases may create roles @param pooledUrl of the same server behind a pooler in session mode */
export const openSettingsServer = async ({ url, adminUrl }: Server, pooledUrl?: string) => {
  const admin = await connect(adminUrl);
  // Drawn for the server, these would end our own connection.
  for (const name of ['idle_session_timeout', 'statement_timeout', 'lock_timeout'])
    await admin.query(`SET ${name} = 0`);
  const owner = decodeURIComponent(new URL(url).username);
  const { rows } = await admin.query(`SELECT current_setting('server_version_num')::int >= 150000
    AND EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS providers`);
  const known = new Set((await admin.query('SELECT name FROM pg_settings')).rows.map(({ name }) => name));
  const run = async (statements: readonly string[]): Promise<void> => {
    for (const sql of statements) await admin.query(sql);
  };
  const source = await openSource();
  let count = 0;

  /** Statements that set what was drawn, by place. */
  const statementsOf = (drawnSettings: Drawn['settings'], database: string) => {
    const targets = {
      server: 'SYSTEM',
      database: `DATABASE ${database}`,
      role: `ROLE ${owner}`,
      roleInDatabase: `ROLE ${owner} IN DATABASE ${database}`,
      all: `ROLE ALL IN DATABASE ${database}`,
    };
    return drawnSettings.flatMap(({ name, value, place }) =>
      place === 'process' ? [] : [`ALTER ${targets[place]} SET ${name} = ${quoteValue(name, value)}`],
    );
  };
  /** New connections begin with the configuration files as they are. */
  const reload = async (): Promise<void> => {
    const name = 'log_autovacuum_min_duration';
    count += 1;
    await run([`ALTER SYSTEM SET ${name} = ${count}`, 'SELECT pg_reload_conf()']);
    await until('the server has read its files', async () => {
      const { rows } = await admin.query(`SELECT setting FROM pg_settings WHERE name = '${name}'`);
      return rows[0].setting === String(count);
    });
  };

  const under = async <T>(drawn: Drawn, work: (database: TestDatabase) => Promise<T>): Promise<T> => {
    count += 1;
    const name = `settings_${count}`;
    const ours = drawn.settings.filter((one) => known.has(one.name));
    const statements = statementsOf(ours, name);
    const isServer = ours.some(({ place }) => place === 'server');
    const pooled = drawn.pooled && pooledUrl !== undefined;
    const environment = { TZ: process.env.TZ, PGOPTIONS: process.env.PGOPTIONS };
    const options = ours
      .filter(({ place }) => place === 'process')
      .map((one) => `-c ${one.name}=${one.value.replaceAll(' ', '\\ ')}`);
    try {
      await run([
        `CREATE DATABASE ${name} OWNER ${owner} TEMPLATE template0 ${rows[0].providers ? drawn.created : ''}`,
        // Settings make plans so dear that the compilation of each query would take seconds.
        `ALTER DATABASE ${name} SET jit = off`,
        ...statements,
      ]);
      if (isServer) await reload();
      process.env.TZ = drawn.zone;
      if (options.length > 0 && !pooled) process.env.PGOPTIONS = options.join(' ');
      return await work({
        url: new URL(`/${name}`, pooled ? pooledUrl : url).href,
        adminUrl: new URL(`/${name}`, adminUrl).href,
        drop: async () => undefined,
      });
    } finally {
      for (const [key, value] of Object.entries(environment)) {
        if (value === undefined) delete process.env[key];
        else process.env[key] = value;
      }
      const ofRole = ours.filter(({ place }) => place === 'role').map((one) => `ALTER ROLE ${owner} RESET ${one.name}`);
      await run([`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, ...ofRole]);
      if (isServer) {
        await run(['ALTER SYSTEM RESET ALL']);
        await reload();
      }
    }
  };

  /** All parts that callsync read and wrote under these settings. */
  const observeUnder = (drawn: Drawn): ReturnType<typeof observe> =>
    under(drawn, (database) => observe(database, source)).catch((error) => ({ error: tellError(error) }));
  const expected = await observeUnder({ settings: [], zone: 'UTC', created: '', pooled: false });
  if (expected.error !== undefined) throw new Error(expected.error);
  return {
    /** A line for each part that is another one under the settings of a seed. */
    compare: async (seed: number): Promise<readonly string[]> => {
      const drawn = drawSettings(seed);
      const found = await observeUnder(drawn);
      const parts = Object.keys({ ...expected, ...found }).filter((name) => expected[name] !== found[name]);
      // After an error, all other parts are missing.
      const told = found.error === undefined ? parts : ['error'];
      return told.map(
        (name) => `seed ${seed}, ${name}: ${firstDifference(expected[name], found[name])}; ${JSON.stringify(drawn)}`,
      );
    },
    close: async () => {
      await admin.end();
      await source.close();
    },
  };
};
