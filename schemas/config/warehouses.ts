/** Config section `warehouses:`: a map of name → settings, a variant for each kind of warehouse. */
import { z } from 'zod';
import { bigqueryWarehouseSchema } from '../../src/warehouse/bigquery/config.ts';
import { postgresWarehouseSchema } from '../../src/warehouse/postgres/config.ts';

const warehouseConfigSchema = z.discriminatedUnion('type', [postgresWarehouseSchema, bigqueryWarehouseSchema]);
export const warehousesConfigSchema = z
  .record(z.string().regex(/^[a-z][a-z0-9_-]{0,40}$/), warehouseConfigSchema)
  .default({ postgres: { type: 'postgres', schema: 'calls', documents: false, marts: true } })
  .describe('Warehouses for the call data, each under a name of your choice.');

export type WarehouseConfig = z.infer<typeof warehouseConfigSchema>;
