/** Google's analyzer reads the statements that callsync sends to BigQuery, and those of analysts. */

import { expect, test } from 'vitest';
import { analyticsConfigSchema } from '../../schemas/config/analytics.ts';
import { openColumns, tables, wordsView } from '../../schemas/tables.ts';
import { listBigqueryStatements } from '../../scripts/statements.ts';
import { cookbook } from '../../src/marts/cookbook.ts';
import { martSettings } from '../../src/marts/mart.ts';
import { marts, openMartColumns, renderViews } from '../../src/marts/render-views.ts';
import { grantsSql } from '../../src/warehouse/bigquery/grants.ts';
import { bigquery } from '../../src/warehouse/bigquery/index.ts';
import { viewQuery } from '../../src/warehouse/bigquery/migrate.ts';
import { searchSql } from '../../src/warehouse/bigquery/search.ts';
import { analyze, hasAnalyzer } from '../support/analyzer.ts';
import { configOf, expiring } from '../warehouse/bigquery/config-of.ts';
import { analytics } from './analytics.ts';

const restricted = 'group:others@example.com';
const readers = { analyst: 'group:analysts@example.com', restricted, marts: 'calls_marts' };

const place = (documents: boolean) => configOf({ documents, ...(documents ? {} : expiring) });

/** Those of a name that begins so; the analyzer's catalog has the dataset's own tables only. */
const statementsOf = (documents: boolean, begin: string): readonly string[] =>
  listBigqueryStatements(place(documents))
    .filter(({ name, sql }) => name.startsWith(begin) && !sql.includes('INFORMATION_SCHEMA'))
    .map(({ sql }) => sql);

const makeMarts = (settings: unknown): readonly string[] =>
  renderViews(bigquery.place(place(false)), martSettings(analyticsConfigSchema.parse(settings))).map((view) =>
    viewQuery(`acme-prod.${readers.marts}`, view),
  );

/** The analyzer knows no view of BigQuery's own. */
const informationSchema = `CREATE TABLE \`acme-prod\`.calls.INFORMATION_SCHEMA.SEARCH_INDEXES
  (index_name STRING, coverage_percentage INT64, total_storage_bytes INT64)`;

/** Every combination of conditions. */
const searches = [{}, { from: 0 }, { to: 1 }, { side: 'out' }, { from: 0, to: 1, side: 'out' }].map((request) =>
  searchSql('acme-prod.calls', { limit: 20, ...request }),
);

const questions = cookbook.map(({ sql }) => sql.replaceAll('{marts}', '`acme-prod`.calls_marts'));

/** Queries of every column in the dataset of the restricted: those that it shows, and those that it must not have. */
const listColumns = (): { shown: readonly string[]; closed: readonly string[] } => {
  const fields = Object.values(analytics.fields).map(({ name }) => name);
  const columnsOf = ({ name, columns }: { name: string; columns: readonly { name: string }[] }) => [
    ...columns.map((column) => column.name),
    ...(name === 'calls_wide' ? fields : []),
  ];
  const open: Readonly<Record<string, readonly string[]>> = { ...openColumns, ...openMartColumns };
  const select = (name: string, column: string) => `SELECT ${column} FROM \`acme-prod.calls_restricted.${name}\``;
  return {
    shown: Object.entries(open).flatMap(([name, list]) => list.map((column) => select(name, column))),
    closed: [...tables, wordsView, ...marts].flatMap((one) => {
      const closed = columnsOf(one).filter((column) => open[one.name]?.includes(column) !== true);
      return closed.map((column) => select(one.name, column));
    }),
  };
};

const make = (documents: boolean, settings: unknown, begin = 'ddl/'): readonly string[] => [
  ...statementsOf(documents, begin),
  ...(settings === undefined ? [] : makeMarts(settings)),
  ...grantsSql(place(documents), { ...readers, openMarts: settings === undefined ? {} : openMartColumns }),
];

// Each start of the analyzer takes long: one for every settings of marts and every layout of tables.
test.skipIf(!hasAnalyzer).each([
  { documents: true, settings: analytics },
  { documents: false, settings: {} },
  { documents: true, settings: undefined },
])('every statement, mart, right, search and question, and every open column, is accepted: %j', async (of) => {
  const statements = [
    ...make(of.documents, of.settings, of.settings === undefined ? 'ddl/' : ''),
    informationSchema,
    ...searches,
    ...(of.settings === analytics ? [...questions, ...listColumns().shown] : []),
  ];
  const { checked, failures } = await analyze(statements);
  expect(failures).toEqual([]);
  expect(checked).toBeGreaterThanOrEqual(statements.length);
});

test.skipIf(!hasAnalyzer)('no column or relation that is closed to the restricted is in their dataset', async () => {
  const { closed } = listColumns();
  const { failures } = await analyze([...make(true, analytics), ...closed]);
  expect(failures).toHaveLength(closed.length);
  for (const failure of failures) expect(failure).toMatch(/Unrecognized name|[Nn]ot found/);
});

test('the restricted have a right on their own dataset alone, and lose what they were given on others', () => {
  for (const openMarts of [openMartColumns, {}]) {
    const theirs = grantsSql(place(true), { ...readers, openMarts }).filter((sql) => sql.includes(restricted));
    const viewer = 'roles/bigquery.dataViewer';
    expect(theirs).toEqual([
      `GRANT \`${viewer}\` ON SCHEMA \`acme-prod.calls_restricted\` TO "${restricted}", "${readers.analyst}"`,
      `REVOKE \`${viewer}\` ON SCHEMA \`acme-prod.calls\` FROM "${restricted}"`,
      `REVOKE \`${viewer}\` ON SCHEMA \`acme-prod.calls_marts\` FROM "${restricted}"`,
    ]);
  }
});
