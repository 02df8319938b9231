import { type Command, CommanderError } from 'commander';
import { exitCodes } from './exit-codes.ts';

/** The lines of examples at the end of a command's help, and what else is to be known. */
export const withExamples = (command: Command, examples: readonly string[], remarks = ''): Command =>
  command.addHelpText(
    'after',
    `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}${remarks === '' ? '' : `\n\n${remarks}`}`,
  );

/** `callsync help backfill watch`: commander's own looks at one word. */
export const addHelp = (program: Command): void => {
  program.helpCommand(false);
  withExamples(program.command('help'), ['callsync help backfill', 'callsync help backfill watch'])
    .description('show the help of a command')
    .argument('[command...]', 'the command, word by word')
    .action((words: readonly string[]) => find(program, words).outputHelp());
};

const find = (program: Command, words: readonly string[]): Command => {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((candidate) => candidate.name() === word || candidate.aliases().includes(word));
    if (next === undefined) {
      process.stderr.write(`error: unknown command '${words.join(' ')}'\n(see callsync help)\n`);
      throw new CommanderError(exitCodes.usage, 'commander.unknownCommand', 'unknown command');
    }
    command = next;
  }
  return command;
};
