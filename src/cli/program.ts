import { Command, Help } from 'commander';
import { commands } from './commands.ts';
import { exitCodeHelp } from './exit-codes.ts';
import { addHelp } from './help.ts';
import { addCompletion } from './shell/add-completion.ts';
import { readVersion } from './version.ts';

/**
 * The program with all commands by name and description, and with the options of those that are asked for: each loads
 * what it needs, and Temporal's SDK alone takes a second.
 */
export const createProgram = async (isAsked: (name: string) => boolean): Promise<Command> => {
  const program = new Command('callsync')
    .description(
      'Brings the call records of a call-data service into Postgres and BigQuery: completely, once, and proves it.',
    )
    .version(readVersion())
    .showHelpAfterError('(see --help)')
    .addHelpText('after', `\n${exitCodeHelp}`)
    // Names alone: the arguments of a command that is not loaded are unknown.
    .configureHelp({
      subcommandTerm: (command) => (isTop(command) ? command.name() : new Help().subcommandTerm(command)),
    })
    .exitOverride();
  for (const { name, does, load } of commands) {
    const command = program.command(name).description(does);
    if (isAsked(name)) (await load())(command);
  }
  addCompletion(program, () => createProgram(() => true));
  addHelp(program);
  return program;
};

const isTop = (command: Command): boolean => command.parent?.parent === null;

/** The command that a command line names: its first word, or the word after `help`. */
export const findAskedCommand = (words: readonly string[]): string | undefined => {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  return first === 'help' ? second : first;
};
