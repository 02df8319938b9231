/** The rights of the two roles of readers: every present relation and function, tried as the restricted role. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { analyticsConfigSchema } from '../../../schemas/config/analytics.ts';
import { openColumns, tables } from '../../../schemas/tables.ts';
import { martSettings } from '../../../src/marts/mart.ts';
import { openMartColumns, renderViews } from '../../../src/marts/render-views.ts';
import { postgresWarehouseSchema } from '../../../src/warehouse/postgres/config.ts';
import { postgres } from '../../../src/warehouse/postgres/index.ts';
import { openPostgres } from '../../support/open-postgres.ts';
import { connect } from '../../support/postgres.ts';
import { makeBatch, makeCall } from '../batches.ts';

const config = { schema: 'calls', documents: true } as const;
const secrets = ['transcriptcanary', '33199001234', 'freecanary'];
/** Roles belong to the whole server, which other tests share. */
const mark = `${process.pid}_${Date.now()}`;
const [analyst, restricted] = [`analyst "${mark}"`, `restricted '${mark}'`];
const readers = { analyst, restricted, marts: 'marts', openMarts: openMartColumns };
const quote = (role: string): string => `"${role.replaceAll('"', '""')}"`;

const { database, admin, open, close } = await openPostgres(config);
afterAll(close);
const catalog = await connect(database.adminUrl);
afterAll(() => catalog.end());
const warehouse = open();

beforeAll(async () => {
  await warehouse.migrate();
  const free = 'freecanary';
  const contact = { label: free, data: '+33 199 00 12 34', type: 'PHONE' };
  const extra = {
    in: { ...contact, data: '33199001234' },
    out: contact,
    metadata: {
      ...{ ANI: '33199001234', UDF_num_01: '33199001234', AudioFileLocation: '/33199001234.wav' },
      ...{ ClientID: free, ClientCaptureDate: free, UDF_text_01: free, freecanary: free },
    },
    tags: [
      { unique_id: 't', display_name: 'Tag', type: 'text', value: 'freecanary' },
      { unique_id: 'u', display_name: 'Tag', type: 'number', value: 33199001234 },
    ],
    ...{ visit: { page: free }, tracking_info: { page: free }, qualification: { page: free } },
    ...{ freecanary: free, ivr_end: { freecanary: 1 } },
  };
  await warehouse.load(makeBatch({ calls: [makeCall({ callId: 'a', text: 'transcriptcanary', extra })] }));
  await warehouse.search.create();
  await makeMarts({ metadata: 'UDF_text_01' });
  // Tables of others in the same database, such as the store.
  await admin.query(`CREATE VIEW marts.theirs AS SELECT * FROM calls.utterances;
    CREATE SCHEMA callsync; CREATE TABLE callsync.ledger AS SELECT 'freecanary' AS document`);
});

const place = { ...postgres.place(postgresWarehouseSchema.parse({ type: 'postgres' })), marts: 'marts' };

/** Marts with a column of its own for a free field. */
const makeMarts = (column: { readonly metadata: string; readonly name?: string }) => {
  const fields = { [column.metadata]: { name: column.name ?? 'free' } };
  return warehouse.marts.ensure('marts', renderViews(place, martSettings(analyticsConfigSchema.parse({ fields }))));
};

const relations = async (): Promise<string[]> => {
  const { rows } = await admin.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
};

/** The text of every row that the role can read, by relation: in whole, or in the columns that are open to it. */
const readAs = async (role: string): Promise<Map<string, string>> => {
  const client = await connect(database.adminUrl);
  await client.query(`SET SESSION AUTHORIZATION ${quote(role)}`);
  const read = new Map<string, string>();
  for (const name of await relations()) {
    const { rows: columns } = await catalog.query<{ name: string; open: boolean }>(
      `SELECT quote_ident(attname) AS name, has_column_privilege($1, attrelid, attnum, 'SELECT') AS open
         FROM pg_attribute WHERE attrelid = to_regclass($2) AND attnum > 0 AND NOT attisdropped`,
      [role, name],
    );
    const some = columns.filter(({ open }) => open).map((column) => column.name);
    const what = some.length === columns.length ? 't' : `row(${some.join(', ')})`;
    await client.query(`SELECT ${what}::text AS row FROM ${name} t`).then(
      ({ rows }) => read.set(name, rows.map((row: { row: string }) => row.row).join('\n')),
      () => undefined,
    );
  }
  await client.end();
  return read;
};

test('the restricted role reads its views, and finds no transcript, number or free field anywhere', async () => {
  // Rights given to the role by mistake are removed.
  await admin.query(`CREATE ROLE ${quote(readers.restricted)}; GRANT USAGE ON SCHEMA calls TO PUBLIC;
    GRANT SELECT ON calls.utterances TO ${quote(readers.restricted)}; GRANT SELECT ON calls.metadata TO PUBLIC`);
  await warehouse.grants.apply(readers);
  await admin.query('CREATE VIEW on_restricted AS SELECT call_id FROM calls_restricted.calls');
  const wider = `SELECT ${openColumns.tags}, value_text FROM calls.tags`;
  await admin.query(`CREATE OR REPLACE VIEW calls_restricted.tags AS ${wider}`);
  await warehouse.grants.apply(readers);
  const read = await readAs(readers.restricted);
  const own = [...read.keys()].filter((name) => !/^(pg_catalog|information_schema)\./.test(name));
  const named = (schema: string, names: readonly string[]) => [...names].sort().map((name) => `${schema}.${name}`);
  const open = { calls_restricted: openColumns, marts: openMartColumns };
  expect(own).toEqual(Object.entries(open).flatMap(([schema, names]) => named(schema, Object.keys(names))));
  for (const name of ['calls_restricted.calls', 'marts.calls_wide', 'marts.campaign_daily'])
    expect(read.get(name), name).toContain('spring');
  const leaks = [...read].filter(([, rows]) => secrets.some((secret) => rows.includes(secret))).map(([name]) => name);
  expect(leaks).toEqual([]);

  // The analyst reads all of it, marts too, so that what is looked for is there.
  const all = await readAs(readers.analyst);
  for (const secret of secrets) expect([...all.values()].join('\n')).toContain(secret);
  for (const name of ['marts.transcripts', 'marts.theirs', ...tables.map((one) => `calls.${one.name}`)])
    expect([...all.keys()]).toContain(name);

  const { rows: functions } = await admin.query(
    `SELECT p.oid::regprocedure AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND has_schema_privilege($1, n.oid, 'USAGE') AND has_function_privilege($1, p.oid, 'EXECUTE')`,
    [readers.restricted],
  );
  expect(functions).toEqual([]);
});

test('what is added later is open to analysts and hidden from the restricted', async () => {
  await warehouse.search.drop();
  await warehouse.search.create();
  await admin.query(`CREATE VIEW marts.later AS SELECT content FROM calls.utterances; CREATE TABLE calls.later AS SELECT 'freecanary' AS text;
    CREATE FUNCTION calls.tell() RETURNS text LANGUAGE sql SECURITY DEFINER AS $$ SELECT content FROM calls.utterances $$`);
  const byAnalyst = await readAs(readers.analyst);
  expect(byAnalyst.get('calls.later')).toContain('freecanary');
  expect(byAnalyst.get('marts.later')).toContain('transcriptcanary');
  const byRestricted = await readAs(readers.restricted);
  const open = [...byRestricted.keys()].filter((name) => /^(calls|marts)\./.test(name));
  const openMarts = Object.keys(openMartColumns).map((name) => `marts.${name}`);
  expect(open.sort()).toEqual(openMarts.sort());
  await admin.query(`SET ROLE ${quote(readers.restricted)}`);
  await expect(admin.query('SELECT calls.tell()')).rejects.toThrow(/permission denied/);
  await admin.query('RESET ROLE');
});

test('marts that are dropped and made again, as they lost a column, are open to whom they were', async () => {
  await admin.query(`DROP VIEW marts.later; GRANT SELECT ON marts.transcripts TO PUBLIC`);
  expect(await makeMarts({ metadata: 'UDF_text_01', name: 'other' })).toContain('calls_wide');
  const byRestricted = await readAs(readers.restricted);
  expect(byRestricted.get('marts.calls_wide')).toContain('spring');
  expect(byRestricted.get('marts.transcripts')).toContain('transcriptcanary');
  expect((await readAs(readers.analyst)).get('marts.calls_wide')).toContain('freecanary');
  // Somebody renames the table under them: views follow it, and another takes its place.
  await admin.query('ALTER TABLE calls.utterances RENAME TO spoken');
  await warehouse.migrate();
  expect(await makeMarts({ metadata: 'UDF_text_01', name: 'other' })).toContain('transcripts');
  expect(await makeMarts({ metadata: 'UDF_text_01', name: 'other' })).toEqual([]);
  for (const view of ['marts.transcripts', 'calls.words'])
    expect((await admin.query(`SELECT * FROM ${view}`)).rows).toEqual([]);
});
