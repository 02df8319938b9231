import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { listPresets, readPreset } from '../../source/presets/presets.ts';
import { type CommonOptions, print } from '../shell/command.ts';
import { withExamples } from '../shell/output.ts';

export const addPresets = (command: Command): void => {
  const presets = command.addHelpText(
    'after',
    `
Examples:
  callsync presets
  callsync presets show activate > activate-changed.yaml

Use one by its name (source.list.preset: activate), or a changed copy by its path.`,
  );
  withExamples(presets.command('list', { isDefault: true }), ['callsync presets', 'callsync presets list --json'])
    .description('list the presets')
    .option('--json', 'print the result as one JSON line on standard output')
    .action(async (options: CommonOptions) => {
      const all = await listPresets();
      const width = Math.max(...all.map(({ name }) => name.length));
      print(
        options,
        all.map(({ name, description, file }) => ({ name, description, file })),
        all.map(({ name, description }) => `${name.padEnd(width)}  ${description}`).join('\n'),
      );
    });
  withExamples(presets.command('show <name>'), ['callsync presets show activate > activate-changed.yaml'])
    .description('print the YAML of a preset')
    .option('--json', 'print it as one JSON line')
    .action(async (name: string, options: CommonOptions) => {
      const preset = await readPreset(name);
      const { description, config } = preset;
      print(options, { name, description, config }, (await readFile(preset.file, 'utf8')).trimEnd());
    });
};
