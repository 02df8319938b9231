/** The kind `bigquery`. */
import { restrictedName } from '../grants.ts';
import type { WarehouseKind } from '../kind.ts';
import { checkBigqueryAccess } from './check-access.ts';
import { type BigqueryWarehouseConfig, bigqueryWarehouseSchema } from './config.ts';
import { bigqueryFragments } from './dialect.ts';
import { listStatements } from './statements.ts';
import { createBigqueryWarehouse } from './warehouse.ts';

export const bigquery: WarehouseKind<BigqueryWarehouseConfig> = {
  type: 'bigquery',
  config: bigqueryWarehouseSchema,
  create: ({ name, config, lease, memory }) => createBigqueryWarehouse({ name, config, lease, quotaMemory: memory() }),
  checkAccess: ({ name, config }) => checkBigqueryAccess({ name, config }),
  place: (config) => ({
    tables: config.dataset,
    marts: config.marts_schema ?? `${config.dataset}_marts`,
    restrictedMarts: restrictedName(config.dataset),
    // A string of JSON is one of GoogleSQL, too.
    literal: (text) => JSON.stringify(text),
    fragments: bigqueryFragments,
    relation: (dataset, name) => `\`${config.project}.${dataset}.${name}\``,
  }),
  questions: [{ key: 'project', message: 'Google Cloud project', required: true }],
  statements: () => listStatements(bigqueryWarehouseSchema.parse({ type: 'bigquery', project: 'project' })),
};
