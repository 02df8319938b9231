import { setFlagsFromString } from 'node:v8';
import { Command, CommanderError, Help } from 'commander';
import { readVersion } from '../../lib/find-built.ts';
import { say } from '../../lib/say.ts';
import { commandsDo } from './commands.ts';
import { endWith, renderExits, reportFailure } from './output.ts';

/**
 * The program with all commands by name and description. Only requested commands load their options, because loading
 * takes time: Temporal's SDK alone takes a second.
 */
export const createProgram = async (isAsked: (name: string) => boolean): Promise<Command> => {
  const program = new Command('callsync')
    .description(
      'Copies the call records of a call-data service into PostgreSQL and BigQuery, without gaps or duplicates, and proves it.',
    )
    .version(readVersion())
    .showHelpAfterError('(see --help)')
    .addHelpText('after', `\nExit codes:\n${renderExits((code, text) => `  ${code.padEnd(13)}  ${text}`)}`)
    // Names alone: the arguments of a command that is not loaded are unknown.
    .configureHelp({
      subcommandTerm: (command) =>
        command.parent?.parent === null ? command.name() : new Help().subcommandTerm(command),
    })
    .exitOverride();
  for (const [name, does] of Object.entries(commandsDo)) {
    const command = program.command(name).description(does);
    if (!isAsked(name)) continue;
    // Loading runs most code once, and would spend a sixth of its time on optimizing it.
    setFlagsFromString('--no-opt');
    const { default: add } = await import(`../commands/${name}.ts`);
    setFlagsFromString('--opt');
    add(command);
  }
  return program.helpCommand('help [command]', 'show the help of a command');
};

/** The command that a command line names: its first word, or the word after `help`. */
const findAskedCommand = (words: readonly string[]): string | undefined => {
  const [first, second] = words.filter((word) => !word.startsWith('-'));
  return first === 'help' ? second : first;
};

/** Runs a command line (without program and script name) and sets the exit code of the process. */
export const runProgram = async (words: readonly string[]): Promise<void> => {
  const asked = findAskedCommand(words);
  let program: Command | undefined;
  try {
    program = await createProgram((name) => name === asked);
    // Commander answers `help nonsense` and `nonsense --help` with the help of all, and names no failure.
    const isUnknown = asked !== undefined && !(asked in commandsDo) && !words[0]?.startsWith('-');
    await program.parseAsync(isUnknown ? [asked] : words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, words.includes('--json'));
    const command = program?.commands.find((candidate) => candidate.name() === asked);
    // Searches and queries may begin with a dash, such as an excluded word or a comment of SQL.
    if (error.code === 'commander.unknownOption' && command?.registeredArguments.length === 1)
      say(`(an argument that begins with a dash comes last, after --: callsync ${asked} -- '-…')`);
    const late = command?.commands.find((one) => one.name() !== words[1] && words.includes(one.name()));
    if (late && error.exitCode !== 0) say(`(options come behind the subcommand: callsync ${asked} ${late.name()} …)`);
    endWith(error.exitCode === 0 ? 'done' : 'usage');
  }
};
