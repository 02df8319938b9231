import { readFile } from 'node:fs/promises';
import { listPresets, readPreset } from '../../source/presets/presets.ts';
import { argument, group, leaf } from '../shell/define.ts';

export default group({
  remarks: 'Set source.list.preset to the name of a preset (activate), or to the path of a changed copy.',
  standard: 'list',
  commands: {
    list: leaf({
      does: 'list the presets',
      shared: 'json',
      examples: ['callsync presets', 'callsync presets list --json'],
      run: async () => {
        const all = await listPresets();
        const width = Math.max(...all.map(({ name }) => name.length));
        return [
          all.map(({ name, description, file }) => ({ name, description, file })),
          all.map(({ name, description }) => `${name.padEnd(width)}  ${description}`).join('\n'),
        ];
      },
    }),
    show: leaf({
      does: 'print the YAML of a preset',
      shared: 'json',
      args: [argument('<name>', 'name of the preset')],
      examples: ['callsync presets show activate > activate-changed.yaml'],
      run: async (name) => {
        const { description, config, file } = await readPreset(name);
        return [{ name, description, config }, (await readFile(file, 'utf8')).trimEnd()];
      },
    }),
  },
});
