/** Forbidden queries of a person, on every server of this machine: the embedded one, and Debian's PostgreSQL 15. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import { openCliFolder, withoutService } from '../support/cli.ts';
import { debian, startDebian } from '../support/installed-postgres.ts';
import { useOpened } from '../support/opened.ts';
import { createDatabase, runOnServer as run, type TestDatabase, urlAs } from '../support/postgres.ts';
import { refusal } from '../support/refusal.ts';

const notReading = /not a read-only query/;
const onlyReads = /cannot execute .* in a read-only transaction/;
const denied = /permission denied|must be a member/;
const oneQuery = /cannot insert multiple commands/;
const words = /syntax error/;

const waysOut = (file: string): readonly (readonly [sql: string, refused: RegExp])[] => [
  [`COPY (SELECT 1) TO PROGRAM 'touch ${file}'`, notReading],
  [`COPY (SELECT 1) TO '${file}'`, notReading],
  ['COPY (SELECT 1) TO STDOUT', notReading],
  [`COPY calls.calls FROM '/etc/passwd'`, notReading],
  ['COPY calls.calls FROM STDIN', notReading],
  [`/* SELECT */ COPY (SELECT 1) TO PROGRAM 'touch ${file}'`, notReading],
  [`-- SELECT 1\nCOPY (SELECT 1) TO PROGRAM 'touch ${file}'`, notReading],
  [`SELECT 1; COPY (SELECT 1) TO PROGRAM 'touch ${file}'`, oneQuery],
  ['SELECT 1; COMMIT; DELETE FROM calls', oneQuery],
  ['SELECT 1 /* */; ROLLBACK', oneQuery],
  [`EXPLAIN ANALYZE COPY (SELECT 1) TO PROGRAM 'touch ${file}'`, words],
  [`DO $$ BEGIN EXECUTE 'DROP SCHEMA calls CASCADE'; END $$`, notReading],
  ['CALL something()', notReading],
  ['SET ROLE callsync', notReading],
  ['RESET ROLE', notReading],
  ['SET SESSION AUTHORIZATION callsync', notReading],
  ['RESET SESSION AUTHORIZATION', notReading],
  [`SELECT set_config('role', 'callsync', false)`, denied],
  [`SELECT set_config('session_authorization', 'callsync', false)`, denied],
  [`SELECT set_config('role', 'none', false), query_to_xml('SELECT * FROM callsync.meta', true, true, '')`, denied],
  [`SELECT set_config('transaction_read_only', 'off', true)`, /must be set before any query/],
  [`SELECT query_to_xml('COMMIT', true, true, '')`, /invalid query/],
  [`SELECT pg_read_file('/etc/passwd')`, denied],
  [`SELECT pg_read_binary_file('postgresql.conf')`, denied],
  [`SELECT pg_ls_dir('/')`, denied],
  [`SELECT pg_stat_file('postgresql.conf')`, denied],
  [`SELECT lo_import('/etc/passwd')`, denied],
  [`SELECT lo_export(1, '${file}')`, denied],
  [
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'callsync' OR pid = (SELECT min(pid) FROM pg_stat_activity)`,
    denied,
  ],
  ['SELECT pg_reload_conf()', denied],
  ['SELECT pg_rotate_logfile()', denied],
  ['SELECT rolpassword FROM pg_authid', denied],
  ['SELECT passwd FROM pg_shadow', denied],
  ['SELECT * FROM callsync.meta', denied],
  ['TABLE callsync.calls', denied],
  [`SELECT dblink_exec('host=127.0.0.1', 'SELECT 1')`, /does not exist/],
  ['CREATE EXTENSION dblink', notReading],
  [`PREPARE stolen AS DELETE FROM calls`, notReading],
  ['EXECUTE stolen', notReading],
  ['DECLARE c CURSOR WITH HOLD FOR SELECT 1', notReading],
  ['DELETE FROM calls', notReading],
  ['WITH gone AS (DELETE FROM calls RETURNING *) SELECT * FROM gone', onlyReads],
  ['EXPLAIN ANALYZE DELETE FROM calls', onlyReads],
  ['SELECT 1 AS one INTO taken', onlyReads],
  ['SELECT * FROM calls FOR UPDATE', onlyReads],
  [`SELECT setval('callsync.rewrite_requests', 9)`, denied],
  [`SELECT nextval('callsync.rewrite_requests')`, denied],
  ['CREATE TEMP TABLE kept AS SELECT 1', notReading],
  ['LOCK TABLE calls', notReading],
  [`NOTIFY callsync`, notReading],
  ['ALTER SYSTEM SET fsync = off', notReading],
  ['VACUUM', notReading],
  ['BEGIN', notReading],
];

const servers: readonly [name: string, isHere: boolean, start: () => Promise<TestDatabase>][] = [
  ['the embedded server', true, createDatabase],
  ['PostgreSQL 15 of Debian', existsSync(debian), startDebian],
];

describe.each(servers.filter(([, isHere]) => isHere))('on %s', (_name, _isHere, start) => {
  const database = useOpened(start, ({ drop }) => drop());
  const folder = useOpened(openCliFolder, ({ remove }) => remove());
  const admin = (sql: string) => run(database.adminUrl, sql);
  const open = (over: object = {}) =>
    createPostgresWarehouse({ name: 'pg', url: database.url, config: { schema: 'calls', documents: false }, ...over });
  beforeAll(async () => {
    await folder.configure(withoutService(database.url));
    const warehouse = open();
    await warehouse.migrate();
    const shown = { name: 'shown', description: '', columns: [], sql: 'SELECT 7 AS n', version: '1' };
    await warehouse.marts.ensure('calls_marts', [shown]);
    await warehouse.close();
  });

  test('a query reads tables and marts by their names', async () => {
    const both = await folder.json(['query', 'SELECT (SELECT count(*) FROM calls) AS calls, n FROM shown']);
    expect(both.rows).toEqual([{ calls: expect.any(Number), n: 7 }]);
    expect((await folder.run(['query', '(SELECT 1) -- only this'])).code).toBe(0);
  });

  test('also where another database of the server made the role, which then has no right here', async () => {
    const role = `"${new URL(database.url).username}_callsync_reader"`;
    await admin(`REVOKE USAGE ON SCHEMA calls, calls_marts FROM ${role}`);
    await folder.json(['query', 'SELECT n FROM shown']);
  });

  test('and finds no way out', async () => {
    const file = join(folder.path, 'out');
    const state = `SELECT (SELECT count(*) FROM calls.calls) AS calls, (SELECT count(*) FROM pg_largeobject_metadata) AS objects,
      (SELECT string_agg(rolname || rolsuper || coalesce(rolpassword = '', true), ',' ORDER BY rolname) FROM pg_authid WHERE rolname ~ '^callsync(_callsync_reader)?$') AS roles,
      (SELECT count(*) FROM pg_class) AS relations`;
    const before = (await admin(state)).rows;
    const found: unknown[] = [];
    for (const [sql, refused] of waysOut(file)) {
      const { code, stdout, stderr } = await folder.run(['query', '--json', '--', sql]);
      const error = (JSON.parse(stdout) as { error?: { code: string } }).error?.code;
      if (code !== 2 || error !== 'QUERY_REFUSED' || !refused.test(stderr)) found.push({ sql, code, error, stderr });
    }
    expect(found).toEqual([]);
    // A large object can be made where the server lets one be, and is gone with the query.
    await folder.run(['query', `SELECT lo_from_bytea(0, 'x')`]);
    expect((await admin(state)).rows).toEqual(before);
    expect(existsSync(file)).toBe(false);
  });

  test('longer than its limit no query runs', async () => {
    const warehouse = open({});
    const reader = warehouse.openReader({ marts: 'calls_marts', queryMs: 300 });
    const asked = reader.ask(`SELECT set_config('statement_timeout', '0', false), pg_sleep(30)`);
    await expect(asked).rejects.toMatchObject({ cause: { code: '57014' } });
    await reader.close();
    await warehouse.close();
  });

  test('a role that may do more is refused, and so is an owner that may not make one', async () => {
    const ask = async (over: object) => {
      const warehouse = open(over);
      const reader = warehouse.openReader({ marts: 'calls_marts' });
      return await reader.ask('SELECT 1 AS one').finally(() => Promise.all([reader.close(), warehouse.close()]));
    };
    for (const readerUrl of [database.url, database.adminUrl])
      expect(await refusal(ask({ readerUrl }))).toMatch(/ QUERY_READER: .*may /);
    const id = new URL(database.url).pathname.slice(-8);
    const owner = new URL(database.url).username;
    const as = (role: string) => urlAs(database.url, role, 'p');
    // SET ROLE needs no inherited right, and leads on from role to role.
    const [between, member, poor] = [`between_${id}`, `member_${id}`, `poor_${id}`];
    await admin(`CREATE ROLE ${between} NOINHERIT IN ROLE ${owner}`);
    await admin(`CREATE ROLE ${member} LOGIN PASSWORD 'p' NOINHERIT IN ROLE ${between}`);
    expect(await refusal(ask({ readerUrl: as(member) }))).toMatch(/ QUERY_READER: .*may .*change rows, read the store/);
    await admin(`DROP ROLE ${member}, ${between}; CREATE ROLE ${poor} LOGIN PASSWORD 'p'`);
    expect(await refusal(ask({ url: as(poor) }))).toMatch(/ QUERY_READER: .*reader_url_file/);
    // As a reader that somebody else made, it will do.
    expect(await ask({ readerUrl: as(poor) })).toEqual([{ one: 1 }]);
    // A role of the name that callsync would give its own stays as it is.
    const passwordOf = `SELECT rolpassword FROM pg_authid WHERE rolname = '${poor}_callsync_reader'`;
    await admin(`ALTER ROLE ${poor} CREATEROLE; CREATE ROLE ${poor}_callsync_reader LOGIN PASSWORD 'p'`);
    const before = (await admin(passwordOf)).rows;
    expect(await refusal(ask({ url: as(poor) }))).toMatch(/ DATABASE_ROLE: .*that callsync did not make/);
    expect((await admin(passwordOf)).rows).toEqual(before);
    await admin(`DROP ROLE ${poor}_callsync_reader, ${poor}`);
  });
});
