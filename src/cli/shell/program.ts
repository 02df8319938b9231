import { Argument, Command, CommanderError, Help } from 'commander';
import { commands } from './commands.ts';
import { describeCommands, renderCompletion, type Shell, shells } from './completions.ts';
import { exitCodeHelp, exitCodes, reportFailure } from './failures.ts';
import { say, withExamples } from './output.ts';
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
const findAskedCommand = (words: readonly string[]): string | undefined => {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  return first === 'help' ? second : first;
};

/** Runs what a command line asks for, without the names of program and script; leaves the exit code in the process. */
export const runProgram = async (words: readonly string[]): Promise<void> => {
  try {
    const asked = findAskedCommand(words);
    const program = await createProgram((name) => name === asked);
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.code === 'commander.unknownOption') await explainDash(words);
      process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    } else process.exitCode = reportFailure(error, words.includes('--json'));
  }
};

/** What a person searches for or asks may begin with a dash, such as an excluded word or a comment of SQL. */
const explainDash = async (words: readonly string[]): Promise<void> => {
  const asked = findAskedCommand(words);
  const program = await createProgram((name) => name === asked);
  const command = program.commands.find((candidate) => candidate.name() === asked);
  if (command?.registeredArguments.length !== 1) return;
  say(`(an argument that begins with a dash comes last, after --: callsync ${asked} -- '-…')`);
};

/** `callsync help backfill watch`: commander's own looks at one word. */
const addHelp = (program: Command): void => {
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

/** @param loadAll the program with every command loaded */
const addCompletion = (program: Command, loadAll: () => Promise<Command>): void => {
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
};
