/**
 * Rights of readers in BigQuery. Analysts view the dataset. Restricted readers view a second dataset, whose views the first dataset authorises. A right on the whole project overrides both.
 */

import { openColumns } from '../../../schemas/tables.ts';
import { terminal } from '../../lib/errors.ts';
import { type Grants, type Readers, restrictedName } from '../grants.ts';
import type { Rest } from './client.ts';
import type { BigqueryWarehouseConfig } from './config.ts';
import type { Queries } from './queries.ts';
import { failTo } from './retry.ts';

export const createGrants = (queries: Queries, rest: Rest, config: BigqueryWarehouseConfig): Grants => ({
  statements: (readers) => [...grantsSql(config, readers), ...accessOf(config, readers).map(noteOf)],
  async apply(readers) {
    for (const sql of grantsSql(config, readers)) await queries.run({ sql });
    for (const access of accessOf(config, readers))
      await authorise(rest, access).catch(failTo('authorise the restricted views'));
  },
});

/** A principal as GRANT takes it; anything else could end the statement. */
const principal = /^(user|group|domain|serviceAccount|specialGroup):[\w.+@-]+$/;

const grantee = (reader: string): string => {
  if (principal.test(reader)) return `"${reader}"`;
  throw terminal('USAGE_GRANTS', 'BigQuery grants rights to principals, not to roles.');
};

export const grantsSql = (config: BigqueryWarehouseConfig, readers: Readers): readonly string[] => {
  const { project, location } = config;
  const dataset = `${project}.${config.dataset}`;
  const marts = `${project}.${readers.marts}`;
  const views = `${project}.${restrictedName(config.dataset)}`;
  const viewOf = (from: string, [name, columns]: readonly [string, readonly string[]]): string =>
    `CREATE OR REPLACE VIEW \`${views}.${name}\` AS SELECT ${columns.join(', ')} FROM \`${from}.${name}\``;
  return [
    `GRANT \`roles/bigquery.dataViewer\` ON SCHEMA \`${dataset}\` TO ${grantee(readers.analyst)}`,
    `CREATE SCHEMA IF NOT EXISTS \`${marts}\` OPTIONS (location = '${location}')`,
    `GRANT \`roles/bigquery.dataViewer\` ON SCHEMA \`${marts}\` TO ${grantee(readers.analyst)}`,
    `CREATE SCHEMA IF NOT EXISTS \`${views}\` OPTIONS (location = '${location}')`,
    ...Object.entries(openColumns).map((one) => viewOf(dataset, one)),
    ...Object.entries(readers.openMarts).map((one) => viewOf(marts, one)),
    `GRANT \`roles/bigquery.dataViewer\` ON SCHEMA \`${views}\` TO ${grantee(readers.restricted)}, ${grantee(readers.analyst)}`,
    // Marts also show transcripts.
    ...[dataset, marts].map(
      (name) => `REVOKE \`roles/bigquery.dataViewer\` ON SCHEMA \`${name}\` FROM ${grantee(readers.restricted)}`,
    ),
  ];
};

/** Lets the views of a dataset read the tables of another dataset, for every user. */
type Authorisation = ReturnType<typeof accessOf>[number];

/** A restricted view of a mart reads the mart, which reads the tables: each of the two steps is authorised. */
const accessOf = ({ project, dataset }: BigqueryWarehouseConfig, readers: Readers) => {
  const access = (on: string, views: string) => ({
    dataset: on,
    entry: { dataset: { dataset: { projectId: project, datasetId: views }, targetTypes: ['VIEWS'] } },
  });
  const restricted = restrictedName(dataset);
  return [
    access(dataset, restricted),
    ...(Object.keys(readers.openMarts).length === 0
      ? []
      : [access(readers.marts, restricted), access(dataset, readers.marts)]),
  ];
};

const noteOf = ({ dataset, entry }: Authorisation): string =>
  `-- No SQL: add to the access of dataset ${dataset} (datasets.patch): ${JSON.stringify(entry)}`;

/** No SQL statement can do this. */
const authorise = async (rest: Rest, { dataset, entry }: Authorisation): Promise<void> => {
  const path = `/datasets/${dataset}`;
  const { access = [] } = await rest<{ readonly access?: readonly Partial<Authorisation['entry']>[] }>({ path });
  const views = entry.dataset.dataset.datasetId;
  if (access.some((one) => one.dataset?.dataset.datasetId === views)) return;
  await rest({ method: 'PATCH', path, json: { access: [...access, entry] } });
};
