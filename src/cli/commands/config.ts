import type { Command } from 'commander';
import { renderConfigExample } from '../../config/example.ts';
import { loadConfig, loadReceiverConfig } from '../../config/load.ts';
import { renderConfigReference } from '../../config/reference.ts';
import { configJsonSchema } from '../../config/schema-node.ts';
import { checkCredentials } from '../parts/check-credentials.ts';
import { checkFiles } from '../parts/check-files.ts';
import { type CommonOptions, print, withCommonOptions } from '../shell/command.ts';
import { withExamples } from '../shell/output.ts';

export const addConfig = (command: Command): void => {
  const config = command.addHelpText(
    'after',
    '\nExamples:\n  callsync config example > callsync.yaml\n  callsync config check',
  );
  withExamples(config.command('example'), ['callsync config example > callsync.yaml'])
    .description('print a configuration file with every key and its meaning')
    .action(() => {
      process.stdout.write(renderConfigExample());
    });
  withExamples(config.command('reference'), ['callsync config reference > config.md'])
    .description('print the reference of all keys as Markdown')
    .action(() => {
      process.stdout.write(renderConfigReference());
    });
  withExamples(config.command('schema'), ['callsync config schema > callsync.schema.json'])
    .description('print the JSON Schema, for editors')
    .action(() => {
      process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
    });
  withExamples(withCommonOptions(config.command('check')), [
    'callsync config check',
    'CALLSYNC_CONFIG=/etc/callsync.yaml callsync config check --json',
  ])
    .description(
      'check the configuration file and the environment: keys, credentials, and that the files they name can be read',
    )
    .option('--receiver', 'check it as the file of a receiver alone (callsync serve), which needs no section source')
    .action(async (options: CommonOptions & { receiver?: boolean }) => {
      const load = options.receiver === true ? loadReceiverConfig : loadConfig;
      const { config: checked, path } = await load({ path: options.config });
      checkCredentials(checked);
      await checkFiles(checked);
      print(options, { valid: true, path }, `${path ?? 'The environment'} is valid.`);
    });
};
