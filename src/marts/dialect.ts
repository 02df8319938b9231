/**
 * Differences between the dialects of marts: PostgreSQL, GoogleSQL, and dbt, whose macros choose between the two.
 * Everything else in a definition is SQL for both.
 */

import type { AnalyticsConfig, Unit, UnitField } from '../../schemas/config/analytics.ts';
import type { Fragments } from '../warehouse/fragments.ts';

/** Building blocks of a definition: the fragments of a dialect, its relations, and the settings. */
export interface Dialect extends Omit<Fragments, 'day' | 'day_start'> {
  /** A table of callsync. */
  table(name: string): string;
  /** Another mart. */
  mart(name: string): string;
  /** The business day of an instant. */
  day(instant: string): string;
  day_start(day: string): string;
  /** Side of the agent by an expression of the direction; null where it is unknown. */
  agent_side(direction: string): string;
  /** Seconds of one unit of a field; null while its unit is unknown. */
  factor(field: string): string;
  silence_gap(): string;
  /** `, …` of the configured keys: their texts by call from rows of key and value, and the typed columns of those. */
  field_pivots(): string;
  field_columns(relation: string): string;
}

/** The dialect of a warehouse's views, with the settings written into them. */
export const createDialect = (
  fragments: Fragments,
  settings: MartSettings,
  relations: Pick<Dialect, 'table' | 'mart'>,
): Dialect => ({
  ...fragments,
  ...relations,
  day: (instant) => fragments.day(instant, settings.timeZone),
  day_start: (day) => fragments.day_start(day, settings.timeZone),
  agent_side: (direction) => {
    const { byDirection, otherwise } = settings.agentSide;
    const side = (one: string): string => (one === 'unknown' ? 'NULL' : `'${one}'`);
    const cases = Object.entries(byDirection).map(
      ([name, one]) => `WHEN UPPER(${direction}) = '${name.toUpperCase()}' THEN ${side(one)}`,
    );
    return `CASE ${cases.join(' ')} WHEN 1 = 0 THEN '' ELSE ${side(otherwise)} END`;
  },
  factor: (field) =>
    ({ unknown: fragments.float('NULL'), seconds: '1.0', milliseconds: '0.001' })[settings.unitOf(field)],
  silence_gap: () => String(settings.silenceGap),
  field_pivots: () =>
    settings.fields.map(({ key, name }) => `,\n  MAX(CASE WHEN key = '${key}' THEN value END) AS ${name}`).join(''),
  field_columns: (relation) =>
    settings.fields
      .map(({ name, type }) => `,\n  ${fragments[typedBy(type)](`${relation}.${name}`)} AS ${name}`)
      .join(''),
});

const typedBy = (type: FieldType): `as_${FieldType}` => `as_${type}`;

type FieldType = AnalyticsConfig['fields'][string]['type'];

export interface MartSettings {
  readonly timeZone: string;
  readonly agentSide: { readonly byDirection: Readonly<Record<string, string>>; readonly otherwise: string };
  unitOf(field: string): Unit;
  readonly silenceGap: number;
  readonly fields: readonly { readonly key: string; readonly name: string; readonly type: FieldType }[];
}

/** Settings of the marts from the section `analytics`. `silenceGap` is in seconds. */
export const martSettings = (config: AnalyticsConfig): MartSettings => ({
  timeZone: config.time_zone,
  agentSide: { byDirection: config.agent_side.by_direction, otherwise: config.agent_side.default },
  unitOf: (field) => config.units[field as UnitField],
  silenceGap: config.silence_gap_s,
  fields: Object.entries(config.fields).map(([key, { name, type }]) => ({ key, name, type })),
});
