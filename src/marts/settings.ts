/** The settings that marts are written with, from the section `analytics` of the configuration. */
import type { AnalyticsConfig, Unit, UnitField } from '../../schemas/config/analytics.ts';

export type FieldType = AnalyticsConfig['fields'][string]['type'];

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
