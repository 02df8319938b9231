import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument, type Command } from 'commander';
import { terminal } from '../../errors.ts';
import { withExamples } from '../help.ts';
import { readVersion } from '../version.ts';
import { renderCompletion, type Shell, shells } from './completions.ts';
import { describeCommands } from './describe-commands.ts';
import { renderManPages } from './man-pages.ts';

/** @param loadAll the program with every command loaded */
export const addCompletion = (program: Command, loadAll: () => Promise<Command>): void => {
  withExamples(
    program.command('completion'),
    [
      'source <(callsync completion bash)',
      'callsync completion zsh > ~/.zfunc/_callsync',
      'callsync completion fish | source',
    ],
    'Put the line into the start file of your shell.',
  )
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .action(async (shell: Shell) => {
      process.stdout.write(renderCompletion(shell, describeCommands(await loadAll())));
    });
  withExamples(program.command('man'), ['callsync man ~/.local/share/man/man1'])
    .description('write the manual pages into a folder')
    .argument('<folder>', 'made if it does not exist')
    .option('--json', 'print the names of the pages as one JSON line')
    .action(async (folder: string, options: { readonly json?: boolean }) => {
      const pages = renderManPages(describeCommands(await loadAll()), readVersion());
      try {
        await mkdir(folder, { recursive: true });
        for (const [name, text] of Object.entries(pages)) await writeFile(join(folder, name), text);
      } catch (cause) {
        throw terminal('USAGE_FILE', `The folder ${folder} cannot be written (${(cause as { code?: string }).code}).`, {
          hint: 'Name one that you may write to.',
          cause,
        });
      }
      const names = Object.keys(pages);
      const text =
        options.json === true ? JSON.stringify({ folder, pages: names }) : `${names.length} pages in ${folder}`;
      process.stdout.write(`${text}\n`);
    });
};
