/** Managed services give no superuser: store, warehouse, marts, search, receiver and readers need the documented rights alone. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { analyticsConfigSchema } from '../../schemas/config/analytics.ts';
import { martSettings } from '../../src/marts/mart.ts';
import { renderViews } from '../../src/marts/render-views.ts';
import { setUpReceiverRole } from '../../src/store/delivery/inbox-writer.ts';
import { openStore } from '../../src/store/store.ts';
import { postgresWarehouseSchema } from '../../src/warehouse/postgres/config.ts';
import { postgres } from '../../src/warehouse/postgres/index.ts';
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import { useOpened } from '../support/opened.ts';
import { runOnServer, urlAs, useDatabase } from '../support/postgres.ts';
import { refusal } from '../support/refusal.ts';
import { makeBatch } from '../warehouse/batches.ts';
import { findAll, spoken } from '../warehouse/postgres/spoken-calls.ts';

/**
 * The administrator that each service gives its customer, with the attributes that its documentation names. The groups
 * (`cloudsqlsuperuser`, `rds_superuser`, `azure_pg_admin`) give more, but no page lists all of it. Azure allows an
 * extension only if azure.extensions names it. Read on 2026-11-23: docs.cloud.google.com/sql/docs/postgres/users,
 * docs.aws.amazon.com/AmazonRDS (Understanding the rds_superuser role), learn.microsoft.com (built-in server roles).
 */
describe.each([
  ['Cloud SQL and RDS', 'CREATEROLE CREATEDB'],
  ['Azure', 'CREATEROLE CREATEDB REPLICATION'],
])('%s', (service, attributes) => {
  const role = `managed_${service.replaceAll(' ', '_').toLowerCase()}_${process.pid}`;
  // Once the database is gone, which is theirs.
  afterAll(async () => {
    const roles = [`receiver_${role}`, `${role}_callsync_reader`, role].join(', ');
    await runOnServer(new URL('/postgres', database.adminUrl).href, `DROP ROLE IF EXISTS ${roles}`);
  });
  const database = useDatabase();
  beforeAll(async () => {
    const name = new URL(database.url).pathname.slice(1);
    await runOnServer(
      database.adminUrl,
      `CREATE ROLE ${role} LOGIN PASSWORD 'managed' NOSUPERUSER NOBYPASSRLS ${attributes};
       ALTER DATABASE ${name} OWNER TO ${role};
       CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
         IF session_user = '${role}' THEN RAISE 'extension is not allow-listed' USING ERRCODE = '0A000'; END IF; END $$;
       CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION') EXECUTE FUNCTION public.refuse()`,
    );
  });
  const ownUrl = () => urlAs(database.url, role, 'managed');
  const store = useOpened(() => openStore({ url: ownUrl(), max: 2 }));
  const config = { schema: 'calls', documents: true };
  const warehouse = useOpened(async () => createPostgresWarehouse({ name: 'pg', url: ownUrl(), config }));

  test('store, receiver, warehouse, marts and readers work', async () => {
    await setUpReceiverRole(store, `receiver_${role}`, 'secret');
    await warehouse.migrate();
    await warehouse.load(makeBatch({ calls: [spoken({ callId: 'a', says: [['agent', 'bonjour']] })] }));
    const place = { ...postgres.place(postgresWarehouseSchema.parse({ type: 'postgres' })), marts: 'calls_marts' };
    const views = renderViews(place, martSettings(analyticsConfigSchema.parse({})));
    expect(await warehouse.marts.ensure('calls_marts', views)).toHaveLength(views.length);
    const reader = warehouse.openReader({ marts: 'calls_marts' });
    expect(await reader.ask('SELECT call_id FROM calls').finally(reader.close)).toEqual([{ call_id: 'a' }]);
  });

  test('without the extension unaccent only search is lost, clearly, until an administrator creates it', async () => {
    expect(await refusal(warehouse.search.create())).toMatch(/^terminal SEARCH_UNACCENT: .*CREATE EXTENSION unaccent/);
    await runOnServer(database.adminUrl, 'CREATE EXTENSION unaccent');
    await warehouse.search.create();
    expect((await findAll(warehouse, { text: 'bonjour', limit: 5 })).calls).toMatchObject([{ callId: 'a' }]);
  });
});
