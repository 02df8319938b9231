import { join } from 'node:path';
import { resolveDataDir } from '../../config/data-dir.ts';
import { say } from '../../lib/say.ts';
import { startBigQueryEmulator } from '../../local/bigquery-emulator.ts';
import { flag, leaf, option, parsed, port } from '../shell/define.ts';
import { print, untilStopped } from '../shell/output.ts';

export default leaf({
  shared: 'json',
  options: {
    project: option('--project <id>', 'project of requests that name no project', 'demo'),
    port: parsed('--port <port>', 'REST port; 0 = any free port', port, '9050'),
    grpcPort: parsed('--grpc-port <port>', 'port of the Storage APIs; 0 = any free port', port, '9060'),
    dataDir: option('--data-dir <folder>', 'folder for data and log'),
    ephemeral: flag('--ephemeral', 'keep everything in memory'),
  },
  examples: ['callsync bigquery-emulator --ephemeral'],
  run: async (options) => {
    const { stopped } = untilStopped();
    const { stop, restUrl, grpcAddress, project } = await startBigQueryEmulator({
      dataDir: options.dataDir ?? join(resolveDataDir(undefined), 'bigquery'),
      ephemeral: options.ephemeral === true,
      project: options.project,
      restPort: options.port,
      grpcPort: options.grpcPort,
      log: say,
    });
    const lines = `warehouses:\n  bigquery:\n    type: bigquery\n    project: ${project}\n    api_endpoint: ${restUrl}`;
    print(options, { restUrl, grpcAddress, project }, lines);
    say('This is a local BigQuery without quotas and credentials. Ctrl-C stops it.');
    await stopped();
    await stop();
  },
});
