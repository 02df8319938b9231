/** PostgreSQL warehouses in a database of their own. */
import { createPostgresWarehouse } from '../../src/warehouse/postgres/warehouse.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { connect, createDatabase } from './postgres.ts';

type Options = Parameters<typeof createPostgresWarehouse>[0];

export const openPostgres = async (config: Options['config']) => {
  const database = await createDatabase();
  /** A connection of the owner. */
  const admin = await connect(database.url);
  const opened: Warehouse[] = [];
  /** Another warehouse of the same tables. */
  const open = (over: Partial<Options> = {}) => {
    const warehouse = createPostgresWarehouse({ name: 'pg', url: database.url, config, ...over });
    opened.push(warehouse);
    return warehouse;
  };
  const close = async (): Promise<void> => {
    for (const warehouse of opened) await warehouse.close();
    await admin.end();
    await database.drop();
  };
  return { database, admin, open, close };
};
