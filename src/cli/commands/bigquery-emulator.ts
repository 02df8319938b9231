import { join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { resolveDataDir } from '../../config/data-dir.ts';
import { startBigQueryEmulator } from '../../local/bigquery/emulator.ts';
import { print, say, untilStopped } from '../shell/command.ts';

interface EmulatorOptions {
  readonly json?: boolean;
  readonly project: string;
  readonly port: number;
  readonly grpcPort: number;
  readonly dataDir?: string;
  readonly ephemeral?: boolean;
}

const port = (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('Use a port, 0 to 65535.');
  return value;
};

const run = async (options: EmulatorOptions): Promise<void> => {
  const { stopped } = untilStopped();
  const emulator = await startBigQueryEmulator({
    dataDir: options.dataDir ?? join(resolveDataDir(undefined), 'bigquery'),
    ephemeral: options.ephemeral === true,
    project: options.project,
    restPort: options.port,
    grpcPort: options.grpcPort,
    log: say,
  });
  const { restUrl, grpcAddress, project } = emulator;
  print(
    options,
    { restUrl, grpcAddress, project },
    `warehouses:
  bigquery:
    type: bigquery
    project: ${project}
    api_endpoint: ${restUrl}`,
  );
  say('This is a local stand-in without quotas and credentials, not BigQuery. Ctrl-C stops it.');
  await stopped;
  await emulator.stop();
};

export const addBigqueryEmulator = (command: Command): void => {
  command
    .option('--project <id>', 'project of requests that name none', 'demo')
    .option('--port <port>', 'REST port; 0 = any free one', port, 9050)
    .option('--grpc-port <port>', 'port of the Storage APIs; 0 = any free one', port, 9060)
    .option('--data-dir <folder>', 'where it keeps its data and log')
    .option('--ephemeral', 'keep everything in memory')
    .option('--json', 'print its addresses as one JSON line')
    .addHelpText('after', '\nExamples:\n  callsync bigquery-emulator --ephemeral')
    .action(run);
};
