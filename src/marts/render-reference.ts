/** The marts in Markdown. */
import { renderMermaid } from './er-diagram.ts';
import type { Mart } from './mart.ts';
import { marts, openMartColumns } from './marts.ts';
import { modelNameOf } from './render-dbt.ts';

/** docs/marts.md. */
export const renderMartReference = (): string =>
  [
    '# Marts',
    '',
    'Generated from src/marts by `npm run generate`. callsync creates these views in a schema or dataset of their own (`calls_marts`',
    'beside `calls`; `warehouses.NAME.marts` and `marts_schema`), in PostgreSQL and in BigQuery, and replaces those whose definition',
    'has changed. The package in [`dbt/`](../dbt/README.md) builds the same as dbt models. The settings are those of the section',
    '`analytics` of the [configuration](config.md): time zone of business days, side of the agent, units (`callsync calibrate` finds',
    'them out), and metadata keys that become columns of `calls_wide`. A figure that needs a setting is null while it is unknown, and',
    'a status column beside it says so.',
    '',
    'Ask them with `callsync query` (any warehouse), psql or any tool that speaks to the warehouse:',
    '',
    '```sh',
    "callsync query 'SELECT * FROM calls_marts.agent_daily ORDER BY business_day DESC LIMIT 10'",
    '```',
    '',
    '`callsync demo` makes them too, with settings that fit its calls, and prints that command with its configuration; with',
    '`--warehouse bigquery` or `both` it asks a local BigQuery while the demo stays up. Its days are proven once something asks for it:',
    '`callsync await` with its configuration, while it stays up. In psql, `SET search_path TO calls_marts, calls` finds marts and tables',
    'without their schema; `callsync query` wants it before the name.',
    '',
    'Metadata keys become columns by `analytics.fields`, such as `UDF_num_07: {name: deal_value, type: numeric}`. After a change of',
    '`analytics`, `callsync warehouse fill NAME` makes the views anew, as does the next start of a worker. The demo writes its',
    'configuration at each start: change a copy. A key that no call has is a column without values; `SELECT DISTINCT key FROM calls.metadata`',
    'lists those that there are.',
    '',
    'Views are worked out at each query: `call_talk` reads every utterance. Who joins it, or asks often, makes a table of it first',
    '(`CREATE TEMPORARY TABLE talk AS SELECT * FROM calls_marts.call_talk`).',
    '',
    '`callsync await --proven --from DAY --to DAY` waits until days are proven and every warehouse has the verdicts, and then ends with',
    '0, so that a pipeline starts on proof and not on a clock:',
    '',
    '```sh',
    '# cron: every night, at most two hours',
    `5 2 * * *  TZ=Europe/Paris; export TZ; callsync await --proven --from "$(date -d yesterday +\\%F)" --to "$(date +\\%F)" --timeout 2h && dbt build`,
    '```',
    '',
    'Cron starts in the home folder with few variables: in a clone, `cd` into it first, write `npx callsync`, and name the configuration',
    'with `--config`.',
    '',
    'Dates of `await` are business days of `analytics.time_zone`, as in the marts: give `date` the same zone. `--last-week` is the last',
    'whole week of that zone, from Monday to Sunday. `CURRENT_DATE` in SQL is a day of the zone of the session, in BigQuery of UTC.',
    '',
    '**What proven says.** The service listed these calls, and this warehouse holds them. Each verdict has a level. At `guards`, callsync',
    'compared revision, content hash and numbers of rows of each call; it does not see a value that somebody altered in a row. At `rows`, it',
    'compared every stored value. `completeness` counts both; `rows_proven_share` counts `rows` alone. callsync compares the rows of changed',
    'days at once, and of every day within 30 days ([how it works](how-it-works.md)).',
    '',
    'Whether last week is complete: a day with neither calls nor verdicts has no row, so days are counted too.',
    '',
    '```sql',
    "SELECT count(*) = 7 AND bool_and(completeness = 'proven') AS complete, sum(calls) AS calls",
    '  FROM calls_marts.completeness_daily',
    " WHERE business_day >= date_trunc('week', current_date)::date - 7 AND business_day < date_trunc('week', current_date)::date",
    '```',
    '',
    'In Airflow it is a `BashOperator` before the dbt task (exit code 5 fails it, 4 is worth a retry); in Dagster, a step that runs',
    'the same command and raises for any other code than 0.',
    '',
    '```mermaid',
    renderMermaid(),
    '```',
    '',
    ...marts.filter(({ intermediate }) => intermediate !== true).map(section),
    '# Views behind the marts',
    '',
    ...marts.filter(({ intermediate }) => intermediate === true).map(section),
  ].join('\n');

/** What `callsync grants` lets the restricted role read. */
const openness = ({ name, columns, intermediate }: Mart): string => {
  if (intermediate === true) return '';
  const open = openMartColumns[name];
  if (open === undefined) return ' The restricted role does not read it.';
  const closed = columns.filter((column) => !open.includes(column.name)).map((column) => column.name);
  const rest = [...closed, ...(name === 'calls_wide' ? ['the configured keys'] : [])];
  return ` The restricted role reads it${rest.length === 0 ? '' : `, without ${rest.join(', ')}`}.`;
};

const section = (mart: Mart): string =>
  [
    `## ${mart.name}`,
    '',
    `${mart.description} Grain: ${mart.grain}. Key: ${mart.key.join(', ')}. In dbt: \`${modelNameOf(mart)}\`.${openness(mart)}`,
    '',
    '| column | type | meaning |',
    '|---|---|---|',
    ...mart.columns.map(({ name, type, description }) => `| ${name} | ${type} | ${description} |`),
    '',
  ].join('\n');
