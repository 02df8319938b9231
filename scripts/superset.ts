/** A dashboard for Superset over the marts on PostgreSQL: every file that `superset import-dashboards` reads, by path. */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { marts } from '../src/marts/render-views.ts';

interface Chart {
  readonly title: string;
  readonly mart: string;
  readonly kind: 'bar' | 'line' | 'table' | 'number';
  /** Column, or SQL, of the horizontal axis. */
  readonly x?: string | { readonly label: string; readonly sql: string };
  readonly by?: readonly string[];
  readonly figures: Readonly<Record<string, string>>;
  readonly format?: string;
  readonly limit?: number;
}

const mean = (share: string): string => `SUM(${share} * calls_with_talk) / NULLIF(SUM(calls_with_talk), 0)`;

const charts: readonly Chart[] = [
  {
    title: 'Calls a day and proof',
    ...{ mart: 'completeness_daily', kind: 'bar', x: 'business_day', by: ['completeness'] },
    figures: { Calls: 'SUM(calls)' },
  },
  {
    title: 'Handling time',
    ...{ mart: 'campaign_daily', kind: 'line', x: 'business_day' },
    figures: { 'Mean seconds': 'SUM(duration_seconds) / NULLIF(SUM(calls), 0)' },
  },
  {
    title: 'Talk share of agents',
    ...{ mart: 'campaign_daily', kind: 'line', x: 'business_day', format: '.0%' },
    figures: { 'Talk share': mean('mean_agent_talk_share') },
  },
  {
    title: 'Silence',
    ...{ mart: 'campaign_daily', kind: 'line', x: 'business_day', format: '.0%' },
    figures: { Silence: mean('mean_silence_share') },
  },
  {
    title: 'Overlap',
    ...{ mart: 'talk_weekly', kind: 'line', x: 'week', format: '.1%' },
    figures: { 'Both talk': mean('mean_overlap_share') },
  },
  {
    title: 'Tags, share of the calls of a week',
    ...{ mart: 'tag_weekly', kind: 'line', x: 'week', by: ['tag_name'], format: '.0%' },
    figures: { Share: 'MAX(tag_share)' },
  },
  {
    title: 'Agents',
    ...{ mart: 'agent_daily', kind: 'table', by: ['agent'], limit: 20 },
    figures: {
      Calls: 'SUM(calls)',
      'Mean seconds': 'ROUND((SUM(duration_seconds) / NULLIF(SUM(calls), 0))::numeric)',
      'Talk share': `ROUND((${mean('mean_agent_talk_share')})::numeric, 2)`,
    },
  },
  {
    title: 'Hours of the day',
    ...{ mart: 'hour_daily', kind: 'bar', x: { label: 'hour', sql: "LPAD(business_hour::text, 2, '0')" } },
    figures: { Calls: 'SUM(calls)' },
  },
  {
    title: 'Resolved by the first call, on proven days',
    ...{ mart: 'repeat_calls', kind: 'line', x: 'business_day', format: '.0%' },
    figures: { Resolved: 'AVG((NOT is_called_again)::int) FILTER (WHERE proven_share >= 1)' },
  },
  {
    title: 'New words',
    ...{ mart: 'new_words', kind: 'table', by: ['week', 'word'], limit: 50 },
    // The first figure orders the table: words are only new if there are weeks before.
    figures: { 'Weeks before': 'MAX(weeks_before)', Calls: 'SUM(calls)', Uses: 'SUM(uses)' },
  },
  {
    title: 'Freshness: minutes since the last contact',
    ...{ mart: 'completeness_daily', kind: 'number', format: ',.1f' },
    figures: { Minutes: 'EXTRACT(EPOCH FROM now() - MAX(heartbeat_at)) / 60' },
  },
  {
    title: 'Quarantine',
    ...{ mart: 'delivery_daily', kind: 'bar', x: 'business_day' },
    figures: { Accepted: 'SUM(accepted)', Quarantined: 'SUM(quarantined)', Rejected: 'SUM(rejected)' },
  },
];

const types = {
  bar: 'echarts_timeseries_bar',
  line: 'echarts_timeseries_line',
  table: 'table',
  number: 'big_number_total',
};
const columnTypes: Readonly<Record<string, string>> = {
  timestamp: 'TIMESTAMP WITH TIME ZONE',
  float: 'FLOAT',
  int: 'BIGINT',
  bool: 'BOOLEAN',
};

/** Always the same for a name, so that a second import replaces the first. */
const uuidOf = (name: string): string =>
  createHash('sha256')
    .update(`callsync superset ${name}`)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
const slug = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^a-z]+/g, '_')
    .replace(/_$/, '');

const database = uuidOf('database');
const renderDataset = (name: string) => {
  const { columns = [], description } = marts.find((mart) => mart.name === name) ?? {};
  const isTime = (type: string): boolean => type === 'date' || type === 'timestamp';
  return {
    ...{ table_name: name, main_dttm_col: columns.find(({ type }) => isTime(type))?.name ?? null, description },
    ...{ schema: 'calls_marts', sql: null, params: null, extra: null, metrics: [] },
    columns: columns.map((column) => ({
      ...{ column_name: column.name, is_dttm: isTime(column.type), is_active: true, groupby: true, filterable: true },
      ...{ type: columnTypes[column.type] ?? column.type.toUpperCase(), description: column.description },
    })),
    ...{ uuid: uuidOf(name), version: '1.0.0', database_uuid: database },
  };
};

const renderChart = (chart: Chart) => {
  const { title, mart, kind, x, by = [], figures, format, limit = 10_000 } = chart;
  const metrics = Object.entries(figures).map(([label, sqlExpression]) => ({
    ...{ expressionType: 'SQL', sqlExpression, label, optionName: `metric_${slug(label)}`, hasCustomLabel: true },
  }));
  const axis =
    x === undefined || typeof x === 'string' ? x : { expressionType: 'SQL', label: x.label, sqlExpression: x.sql };
  const isDay = x === 'business_day' || x === 'week';
  const shown = kind === 'bar' || kind === 'line';
  const columns = [
    ...(axis === undefined
      ? []
      : [
          isDay
            ? { timeGrain: 'P1D', columnType: 'BASE_AXIS', sqlExpression: x, label: x, expressionType: 'SQL' }
            : axis,
        ]),
    ...by,
  ];
  return {
    slice_name: title,
    viz_type: types[kind],
    params: {
      viz_type: types[kind],
      ...(shown
        ? { x_axis: axis, metrics, groupby: by, stack: kind === 'bar' ? 'Stack' : null, show_legend: true }
        : {}),
      ...(shown
        ? { x_axis_sort_asc: true, x_axis_sort: isDay ? null : 'name', y_axis_format: format ?? 'SMART_NUMBER' }
        : {}),
      ...(kind === 'bar' || isDay ? { time_grain_sqla: 'P1D', x_axis_time_format: '%d %b' } : {}),
      ...(kind === 'table'
        ? { query_mode: 'aggregate', groupby: by, metrics, order_desc: true, table_timestamp_format: '%Y-%m-%d' }
        : {}),
      ...(kind === 'number' ? { metric: metrics[0], y_axis_format: format } : {}),
      row_limit: limit,
    },
    query_context: JSON.stringify({
      datasource: { id: 0, type: 'table' },
      ...{ force: false, result_format: 'json', result_type: 'full' },
      queries: [
        {
          columns,
          metrics,
          orderby: shown || kind === 'number' ? [] : [[metrics[0], false]],
          filters: [],
          extras: {},
          row_limit: limit,
        },
      ],
    }),
    ...{ cache_timeout: null, uuid: uuidOf(title), version: '1.0.0', dataset_uuid: uuidOf(mart) },
  };
};

const perRow = 3;
const position = () => {
  const rows = Array.from({ length: Math.ceil(charts.length / perRow) }, (_, row) => `ROW-${row}`);
  const grid = {
    ROOT_ID: { id: 'ROOT_ID', type: 'ROOT', children: ['GRID_ID'] },
    GRID_ID: { id: 'GRID_ID', type: 'GRID', children: rows, parents: ['ROOT_ID'] },
  };
  const lines = rows.map((id, row) => {
    const children = charts.slice(row * perRow, (row + 1) * perRow).map(({ title }) => `CHART-${slug(title)}`);
    return [
      id,
      { id, type: 'ROW', children, parents: ['ROOT_ID', 'GRID_ID'], meta: { background: 'BACKGROUND_TRANSPARENT' } },
    ];
  });
  const cells = charts.map(({ title }, at) => {
    const id = `CHART-${slug(title)}`;
    const meta = { width: 12 / perRow, height: 40, chartId: at + 1, sliceName: title, uuid: uuidOf(title) };
    return [
      id,
      { id, type: 'CHART', children: [], parents: ['ROOT_ID', 'GRID_ID', `ROW-${Math.floor(at / perRow)}`], meta },
    ];
  });
  return { DASHBOARD_VERSION_KEY: 'v2', ...grid, ...Object.fromEntries([...lines, ...cells]) };
};

export const renderSupersetFiles = (): Readonly<Record<string, string>> => {
  const files: Record<string, unknown> = {
    'metadata.yaml': { version: '1.0.0', type: 'Dashboard' },
    'databases/callsync.yaml': {
      ...{
        database_name: 'callsync',
        sqlalchemy_uri: 'postgresql://analyst@localhost:5432/callsync',
        expose_in_sqllab: true,
      },
      ...{ allow_csv_upload: false, extra: {}, uuid: database, version: '1.0.0' },
    },
    ...Object.fromEntries(
      [...new Set(charts.map(({ mart }) => mart))].map((name) => [
        `datasets/callsync/${name}.yaml`,
        renderDataset(name),
      ]),
    ),
    ...Object.fromEntries(charts.map((chart) => [`charts/${slug(chart.title)}.yaml`, renderChart(chart)])),
    'dashboards/calls.yaml': {
      ...{ dashboard_title: 'Calls', description: null, css: '', slug: 'callsync-calls', uuid: uuidOf('dashboard') },
      ...{ position: position(), metadata: { color_scheme: 'supersetColors' }, version: '1.0.0' },
    },
  };
  return Object.fromEntries(
    Object.entries(files).map(([path, value]) => [
      `deploy/superset/${path}`,
      `# Generated by \`npm run generate\` from scripts/superset.ts and src/marts.\n${stringify(value, { lineWidth: 0 })}`,
    ]),
  );
};
