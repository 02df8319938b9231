import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { Config } from '../../../schemas/config.ts';
import { makeDataDir, resolveDataDir } from '../../config/data-dir.ts';
import { CallsyncError } from '../../lib/errors.ts';
import { keepServer } from '../../local/keep-server.ts';
import { isTemporalRunning, startTemporalDevServer } from '../../local/temporal/dev-server.ts';
import { connectClient } from '../../temporal/connect.ts';
import type { Services } from './services.ts';

export interface TemporalService {
  readonly client: Client;
  readonly address: string;
  readonly uiUrl: string | undefined;
}

/** The configured cluster, or the development server, which is started where it does not run. */
export const openTemporal = async (
  services: Services<Pick<Config, 'store' | 'temporal'>>,
): Promise<TemporalService> => {
  const { temporal } = services.config;
  let address = temporal.address;
  let uiUrl = temporal.ui_url;
  if (address === undefined) {
    const dataDir = resolveDataDir(services.config.store.data_dir);
    await makeDataDir(dataDir);
    const start = (port: number) =>
      startTemporalDevServer({
        dataDir: join(dataDir, 'temporal'),
        port,
        uiPort: temporal.ui_port,
        cliPath: temporal.cli,
        namespaces: temporal.namespace === 'default' ? [] : [temporal.namespace],
        log: services.say,
      });
    const server = await start(temporal.port);
    const kept = keepServer(server, () => start(Number(server.address.split(':')[1])), services.say);
    services.defer(() => kept.stop());
    address = server.address;
    uiUrl ??= server.uiUrl;
  }
  const { client, connection } = await connectClient(temporal, address);
  services.defer(() => connection.close());
  return { client, address, uiUrl };
};

/** As `openTemporal`, where a server answers; nothing is started. */
export const findTemporal = async (
  services: Services<Pick<Config, 'store' | 'temporal'>>,
): Promise<TemporalService | undefined> => {
  const { store, temporal } = services.config;
  const home = join(resolveDataDir(store.data_dir), 'temporal');
  if (temporal.address === undefined && !(await isTemporalRunning(home))) return undefined;
  try {
    return await openTemporal(services);
  } catch (error) {
    if (error instanceof CallsyncError && error.code === 'TEMPORAL_UNREACHABLE') return undefined;
    throw error;
  }
};
