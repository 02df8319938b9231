import { CallsyncError } from '../../lib/errors.ts';
import { renderViews } from '../../marts/render-views.ts';
import { martSettings } from '../../marts/settings.ts';
import { kindOf } from '../../warehouse/kinds.ts';
import type { Warehouse } from '../../warehouse/warehouse.ts';
import type { Services } from './services.ts';

/** Creates the marts of a warehouse, or replaces those that have changed. Loads never wait for them, nor fail with them. */
export const openMarts = async (
  { config, say }: Pick<Services, 'config' | 'say'>,
  warehouse: Pick<Warehouse, 'name' | 'ensureViews'>,
): Promise<void> => {
  const configured = config.warehouses[warehouse.name];
  if (configured?.marts !== true) return;
  const place = kindOf(configured).place(configured);
  try {
    await warehouse.ensureViews(place.marts, renderViews(place, martSettings(config.analytics)));
  } catch (error) {
    if (!(error instanceof CallsyncError)) throw error;
    say(
      `The marts of warehouse ${warehouse.name} were not created or replaced; the next start tries it again. ${error.message}`,
    );
  }
};
