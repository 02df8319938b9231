/** The configuration file, for commands that write their findings into it. */
import { readFile, stat } from 'node:fs/promises';
import { terminal } from '../../lib/errors.ts';
import { replaceFile } from '../../lib/new-folder.ts';
import { say } from '../shell/output.ts';

/**
 * A function that changes the file and keeps its mode; a reader never sees half a file.
 * @param path of the file that was read; undefined where everything came from the environment.
 * @throws terminal CONFIG_MISSING where there is no file
 */
export const openConfigFile = (path: string | undefined): ((change: (text: string) => string) => Promise<void>) => {
  if (path === undefined)
    throw terminal('CONFIG_MISSING', 'There is no configuration file to write into.', {
      hint: 'Omit --write, and copy the printed lines into your configuration.',
    });
  return async (change) => {
    await replaceFile(path, change(await readFile(path, 'utf8')), (await stat(path)).mode);
    say(`Written to ${path}. Running processes of callsync read it when they start again.`);
  };
};
