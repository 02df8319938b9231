import type { Command } from 'commander';
import { renderConfigExample } from '../../config/example.ts';
import { loadConfig } from '../../config/load.ts';
import { renderConfigReference } from '../../config/reference.ts';
import { configJsonSchema } from '../../config/schema-node.ts';
import { type CommonOptions, print, withCommonOptions } from '../command.ts';

export const addConfig = (program: Command): void => {
  const config = program
    .command('config')
    .description('example, reference and JSON Schema of the configuration, and a check of yours')
    .addHelpText('after', '\nExamples:\n  callsync config example > callsync.yaml\n  callsync config check');
  config
    .command('example')
    .description('print a configuration file with every key and its meaning')
    .action(() => {
      process.stdout.write(renderConfigExample());
    });
  config
    .command('reference')
    .description('print the reference of all keys as Markdown')
    .action(() => {
      process.stdout.write(renderConfigReference());
    });
  config
    .command('schema')
    .description('print the JSON Schema, for editors')
    .action(() => {
      process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
    });
  withCommonOptions(config.command('check'))
    .description('check the configuration file and the environment')
    .action(async (options: CommonOptions) => {
      const { path } = await loadConfig({ path: options.config });
      print(options, { valid: true, path }, `${path ?? 'The environment'} is valid.`);
    });
};
