/** Names the preset whose settings agree with what a probe found. */
import type { ListConfig } from '../../../schemas/config/list.ts';
import { listConfigSchema } from '../../../schemas/config/list.ts';
import { listPresets } from '../presets/presets.ts';

/** Settings in which a preset must agree to fit. */
const decisive = (list: ListConfig): string =>
  JSON.stringify([
    list.records,
    list.total_path ?? null,
    list.pagination?.style ?? null,
    list.pagination?.size_param ?? null,
    list.time_format.replace('iso_seconds', 'iso'),
  ]);

const axesOf = (list: ListConfig): string[] => list.axes.map((axis) => `${axis.from_param}/${axis.to_param}`);

/** A preset that uses only some of the axes found still fits. */
const fits = (preset: ListConfig, found: ListConfig): boolean =>
  decisive(preset) === decisive(found) && axesOf(preset).every((axis) => axesOf(found).includes(axis));

export interface PresetFit {
  readonly preset: string;
  readonly description: string;
}

export const matchPreset = async (found: ListConfig, authScheme: string): Promise<PresetFit | undefined> => {
  for (const preset of await listPresets()) {
    const source = preset.config.source as { readonly list?: unknown; readonly auth_scheme?: string } | undefined;
    const list = listConfigSchema.safeParse(source?.list ?? {});
    const scheme = source?.auth_scheme ?? 'bearer';
    if (list.success && fits(list.data, found) && scheme.toLowerCase() === authScheme.toLowerCase()) {
      return { preset: preset.name, description: preset.description };
    }
  }
  return undefined;
};
