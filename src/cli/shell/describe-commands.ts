/** The command definitions as data: what completions and man pages are made from. */
import type { Argument, Command, Option } from 'commander';

export interface DescribedOption {
  readonly short: string | undefined;
  readonly long: string;
  readonly flags: string;
  readonly description: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

export interface DescribedCommand {
  /** Below the program: `backfill`, `list`. */
  readonly path: readonly string[];
  readonly description: string;
  readonly usage: string;
  readonly arguments: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly DescribedOption[];
  readonly commands: readonly DescribedCommand[];
  /** What follows the options in its help: examples and remarks. */
  readonly remarks: string;
}

const describeOption = (option: Option): DescribedOption => ({
  short: option.short,
  long: option.long ?? option.flags,
  flags: option.flags,
  description: option.description,
  takesValue: option.required || option.optional,
  choices: option.argChoices ?? [],
});

const describeArgument = (argument: Argument) => ({ name: argument.name(), description: argument.description });

/** The command with all below it; `program` must have loaded every command. */
export const describeCommands = (command: Command, path: readonly string[] = []): DescribedCommand => {
  const help = command.createHelp();
  // What runs when no subcommand is named: `callsync backfill --from …` is `callsync backfill start --from …`.
  const fallback: unknown = Reflect.get(command, '_defaultCommandName');
  return {
    path,
    description: command.description(),
    usage: help.commandUsage(command),
    arguments: command.registeredArguments.map(describeArgument),
    options: [...help.visibleOptions(command), ...(fallback === undefined ? [] : optionsBelow(command, fallback))].map(
      describeOption,
    ),
    commands: help
      .visibleCommands(command)
      .filter((one) => path.length === 0 || one.name() !== 'help')
      .map((one) => describeCommands(one, [...path, one.name()])),
    remarks: remarksOf(command),
  };
};

const optionsBelow = (command: Command, name: unknown): readonly Option[] => {
  const below = command.commands.find((one) => one.name() === name);
  return (
    below
      ?.createHelp()
      .visibleOptions(below)
      .filter(({ long }) => long !== '--help') ?? []
  );
};

/** commander keeps added help text in listeners, so it is what the whole help has more than the plain one. */
const remarksOf = (command: Command): string => {
  let whole = '';
  command.configureOutput({
    writeOut: (text) => {
      whole += text;
    },
  });
  command.outputHelp();
  return whole.replace(command.helpInformation(), '').trim();
};

/** Every command, the program first. */
export const listCommands = (root: DescribedCommand): readonly DescribedCommand[] => [
  root,
  ...root.commands.flatMap(listCommands),
];
