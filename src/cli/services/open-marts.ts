import type { Config } from '../../../schemas/config.ts';
import { CallsyncError } from '../../errors.ts';
import { type MartPlace, renderViews } from '../../marts/render-views.ts';
import { martSettings } from '../../marts/settings.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import type { Services } from './services.ts';

type WarehouseConfig = Config['warehouses'][string];

/** Where the marts of a warehouse are. */
export const martPlaceOf = (config: WarehouseConfig): MartPlace => {
  const { type: kind } = config;
  const tables = kind === 'postgres' ? config.schema : config.dataset;
  const marts = config.marts_schema ?? `${tables}_marts`;
  return kind === 'postgres' ? { kind, tables, marts } : { kind, project: config.project, tables, marts };
};

/** Creates the marts of a warehouse, or replaces those that have changed. Loads never wait for them, nor fail with them. */
export const openMarts = async (
  { config, say }: Pick<Services, 'config' | 'say'>,
  warehouse: Pick<Warehouse, 'name' | 'ensureViews'>,
): Promise<void> => {
  const configured = config.warehouses[warehouse.name];
  if (configured?.marts !== true) return;
  const place = martPlaceOf(configured);
  try {
    await warehouse.ensureViews(place.marts, renderViews(place, martSettings(config.analytics)));
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
    say(
      `The marts of warehouse ${warehouse.name} were not created or replaced; the next start tries it again. ${error.message}`,
    );
  }
};
