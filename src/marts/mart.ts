/** A mart: one query for both warehouses and for dbt, and the meaning of its columns. */

import type { AnalyticsConfig, UnitField } from '../../schemas/config/analytics.ts';
import { type TableName, tableOf, udfKey } from '../../schemas/tables.ts';
import { terminal } from '../lib/errors.ts';
import type { Fragments } from '../warehouse/fragments.ts';
import type { Place } from '../warehouse/kind.ts';

export type MartType = 'text' | 'int' | 'float' | 'bool' | 'date' | 'timestamp' | 'json';

interface MartColumn {
  readonly name: string;
  readonly type: MartType;
  readonly description: string;
  /** The restricted role may read it, in a mart whose key is open. */
  readonly open?: true;
}

export interface Mart {
  readonly name: string;
  /** Made for other marts and not for analysts. */
  readonly intermediate?: true;
  /** Rows of a call depend on this call alone, so that dbt may build the rows of changed calls alone. */
  readonly perCall?: true;
  readonly grain: string;
  readonly description: string;
  /** Columns that together are unique; none may be null where `keyMayBeNull` is absent. */
  readonly key: readonly string[];
  readonly keyMayBeNull?: true;
  /** In the order of the query; the configured fields of calls_wide follow them. */
  readonly columns: readonly MartColumn[];
  readonly query: (d: MartDialect) => string;
}

/**
 * Renders the last SELECT list of a mart: its columns, in their order, from the relation of `alias`. Other relations have those of
 * `others`, by alias and names; `expressions` compute the rest.
 */
type Select = (
  alias: string,
  expressions?: Readonly<Record<string, string>>,
  others?: Readonly<Record<string, string>>,
) => string;

/**
 * A mart from texts. `columns` has one a line: `name type description`. A `+` before the name opens the column. `table.name` stands
 * for a column as in that table.
 */
export const defineMart = ({
  columns: text,
  query,
  ...mart
}: Omit<Mart, 'columns' | 'query'> & {
  readonly columns: string;
  query(d: MartDialect, select: Select): string;
}): Mart => {
  const columns = text.trim().split('\n').map(readColumn);
  const select: Select = (alias, expressions = {}, others = {}) => {
    const places = Object.entries(others).flatMap(([other, names]) => names.split(' ').map((name) => [name, other]));
    const aliases = Object.fromEntries(places) as Readonly<Record<string, string>>;
    return columns
      .map(({ name }) => {
        const computed = expressions[name];
        if (computed !== undefined) return `${computed} AS ${name}`;
        const from = aliases[name] ?? alias;
        return from === '' ? name : `${from}.${name}`;
      })
      .join(',\n  ');
  };
  return { ...mart, columns, query: (d) => query(d, select) };
};

const readColumn = (line: string): MartColumn => {
  const [, table, plain] = /^(\w+)\.(\w+)$/.exec(line) ?? [];
  if (plain !== undefined) return plainColumn(table as TableName, plain);
  const [, mark, name, type, description] = /^(\+?)(\S+) (\S+) (.+)$/.exec(line) as unknown as string[];
  return { name, type, description, ...(mark === '+' ? { open: true } : {}) } as MartColumn;
};

const plainColumn = (table: TableName, wanted: string): MartColumn => {
  const found = tableOf(table).columns.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`no column ${wanted} in table ${table}`);
  const { name, type, description, open } = found;
  return { name, type: type as MartType, description, ...(open === true ? { open } : {}) };
};

/** Lines of columns, every column open. */
export const openAll = (text: string): string => text.trim().replaceAll(/^(?=\w+ )/gm, '+');

// Differences between the dialects of marts: PostgreSQL, GoogleSQL, and dbt, whose macros choose between the two.
// Everything else in a definition is SQL for both.

type Named = 'table' | 'mart' | 'day' | 'hour' | 'day_start' | 'agent_side' | 'factor' | 'field_columns';
type Configured = 'silence_gap' | 'repeat_days' | 'field_pivots' | 'field_keys';

/**
 * Building blocks of a definition: the fragments of a dialect, its relations, and the settings.
 * `table` = a table of callsync.
 * `mart` = another mart.
 * `day` = the business day of an instant.
 * `agent_side` = side of the agent by an expression of the direction, null where it is unknown.
 * `factor` = seconds of one unit of a field, null while its unit is unknown.
 * `field_pivots` = `, …` of the configured keys: their texts by call from rows of key and value, and the typed columns of those.
 * `field_keys` = condition on the rows of key and value that they are of a configured key.
 * `field_columns` = those of the configured keys in a relation.
 */
export interface MartDialect
  extends Omit<Fragments, 'day' | 'day_start' | 'hour'>,
    Record<Named, (x: string) => string>,
    Record<Configured, () => string> {
  /** Joins of each configured key to a call `c`; absent where mart field_texts has them all. */
  field_joins?(): string;
  /** Joins rows that `query` makes of each call to the calls `c`. Relations in it must fulfil the condition `isOfCall`. */
  join_by_call(alias: string, query: (isOfCall: (alias: string) => string) => string): string;
}

/** @param isLateral the rows of a call are found by an index: a question about few calls then reads no others. */
export const joinByCall =
  (isLateral: boolean): MartDialect['join_by_call'] =>
  (alias, query) => {
    const isOfCall = (one: string) => (isLateral ? `${one}.call_id = c.call_id` : 'TRUE');
    return `LEFT JOIN${isLateral ? ' LATERAL' : ''} (\n${query(isOfCall)}\n) AS ${alias} ON ${alias}.call_id = c.call_id`;
  };

/** The dialect of a warehouse's views, with the settings written into them. */
export const createDialect = (
  { fragments, literal, joinsByCall }: Pick<Place, 'fragments' | 'literal' | 'joinsByCall'>,
  settings: MartSettings,
  relations: Pick<MartDialect, 'table' | 'mart'>,
): MartDialect => ({
  ...fragments,
  ...relations,
  day: (instant) => fragments.day(instant, settings.timeZone),
  hour: (instant) => fragments.hour(instant, settings.timeZone),
  day_start: (day) => fragments.day_start(day, settings.timeZone),
  agent_side: (direction) => agentSideSql(settings, direction),
  factor: (field) =>
    ({ unknown: fragments.float('NULL'), seconds: '1.0', milliseconds: '0.001' })[settings.unitOf(field)],
  silence_gap: () => String(settings.silenceGap),
  repeat_days: () => String(settings.repeatDays),
  field_pivots: () =>
    settings.fields
      .map(({ key, name }) => `,\n  MAX(CASE WHEN key = ${literal(key)} THEN value END) AS ${name}`)
      .join(''),
  field_keys: () => `key IN (${settings.fields.map(({ key }) => literal(key)).join(', ') || 'NULL'})`,
  ...(joinsByCall && {
    // Each with its typed value: an outer join computes it once, however often a question names the column.
    field_joins: () =>
      settings.fields
        .map((field, at) => {
          const [, kind, index] = udfKey.exec(field.key) ?? [];
          const isKey = kind ? `udf_index = ${Number(index)} AND kind = '${kind}'` : `key = ${literal(field.key)}`;
          // Fewer rows than in metadata, with the same texts.
          const [table, text] = kind ? ['udfs', 'value_text'] : ['metadata', 'value'];
          const columns = `call_id, ${text} AS text, ${typedSql(fragments, field, text)} AS value`;
          const rows = `SELECT ${columns} FROM ${relations.table(table)} WHERE ${isKey}`;
          return `\nLEFT JOIN (${rows}) AS f${at} ON f${at}.call_id = c.call_id`;
        })
        .join(''),
  }),
  join_by_call: joinByCall(joinsByCall === true),
  field_columns: (relation) =>
    settings.fields
      .map((field, at) => {
        const { name, type } = field;
        const text = joinsByCall ? `f${at}.text` : `${relation}.${name}`;
        if (type === 'text') return `,\n  ${text} AS ${name}`;
        const value = joinsByCall ? `f${at}.value` : typedSql(fragments, field, text);
        const unparsable = `COALESCE(TRIM(${text}) <> '' AND (${value}) IS NULL, FALSE)`;
        return `,\n  ${value} AS ${name},\n  ${text} AS ${name}_as_sent,\n  ${unparsable} AS ${name}_unparsable`;
      })
      .join(''),
});

/** The value of a configured key, read as the type of its column. */
const typedSql = (fragments: Fragments, { type, decimal }: MartSettings['fields'][number], text: string): string => {
  if (type === 'text') return text;
  const isWritten = decimal !== undefined && ['numeric', 'integer'].includes(type);
  const [mark, other] = decimal === 'comma' ? [',', '.'] : ['.', ','];
  return fragments[`as_${type}`](isWritten ? fragments.plain_number(text, mark, other) : text);
};

const agentSideSql = ({ agentSide }: Pick<MartSettings, 'agentSide'>, direction: string): string => {
  const side = (one: string): string => (one === 'unknown' ? 'NULL' : `'${one}'`);
  const cases = Object.entries(agentSide.byDirection).map(
    ([name, one]) => `WHEN UPPER(${direction}) = UPPER('${name}') THEN ${side(one)}`,
  );
  return `CASE ${cases.join(' ')} WHEN 1 = 0 THEN '' ELSE ${side(agentSide.otherwise)} END`;
};

/** @param side as sent, such as in; or agent or customer, which the setting of the agent's side tells apart */
export const readSpeaker = (side: string | undefined, config: AnalyticsConfig) => {
  if (side !== 'agent' && side !== 'customer') return { side };
  const settings = martSettings(config);
  const { byDirection, otherwise } = settings.agentSide;
  if ([otherwise, ...Object.values(byDirection)].every((one) => one === 'unknown'))
    throw terminal('USAGE_SEARCH', 'The side of the agent is unknown.', {
      hint: 'Set analytics.agent_side, or search by --side in or --side out.',
    });
  const operator = side === 'agent' ? '=' : '<>';
  const speaker = (said: string, direction: string): string =>
    `NULLIF(${said}, '') ${operator} ${agentSideSql(settings, direction)}`;
  return { speaker };
};

export type MartSettings = ReturnType<typeof martSettings>;

/** Settings of the marts from the section `analytics`. `silenceGap` is in seconds. */
export const martSettings = (config: AnalyticsConfig) => ({
  timeZone: config.time_zone,
  agentSide: { byDirection: config.agent_side.by_direction, otherwise: config.agent_side.default },
  unitOf: (field: string) => config.units[field as UnitField],
  silenceGap: config.silence_gap_s,
  repeatDays: config.repeat_days,
  fields: Object.entries(config.fields).map(([key, field]) => ({ key, ...field })),
});
