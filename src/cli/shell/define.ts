/** Commands as data: options, examples and work, which these functions give to commander. */
import { Argument, type Command, Option } from 'commander';

export interface CommonOptions {
  readonly config?: string;
  readonly json?: boolean;
  readonly logLevel: string;
}

/** Gives a command of commander what it has. */
export type AddCommand = (command: Command) => void;

interface Described {
  /** What it does; commands directly below callsync have it in commands.ts. */
  readonly does?: string;
  readonly examples: readonly string[];
  /** Stands below the examples. */
  readonly remarks?: string | (() => string);
}

interface Leaf extends Described {
  readonly args?: readonly Argument[];
  readonly options?: readonly Option[];
  /** Options that all commands share: by default file, JSON and log. */
  readonly shared?: 'all' | 'json' | 'none';
  readonly run: (...given: never[]) => unknown;
}

interface Group extends Described {
  readonly commands: Readonly<Record<string, AddCommand>>;
  /** Runs where no subcommand is named. */
  readonly standard?: string;
}

const describe = (command: Command, { does, examples, remarks = '' }: Described): void => {
  if (does !== undefined) command.description(does);
  command.addHelpText('after', () => {
    const more = typeof remarks === 'string' ? remarks : remarks();
    return `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}${more === '' ? '' : `\n\n${more}`}`;
  });
};

export const leaf =
  ({ args = [], options = [], shared = 'all', run, ...described }: Leaf): AddCommand =>
  (command) => {
    for (const argument of args) command.addArgument(argument);
    for (const one of [...sharedOptions[shared], ...options]) command.addOption(one);
    describe(command, described);
    command.action(run as (...given: unknown[]) => Promise<void>);
  };

export const group =
  ({ commands, standard, ...described }: Group): AddCommand =>
  (command) => {
    for (const [name, add] of Object.entries(commands)) add(command.command(name, { isDefault: name === standard }));
    describe(command, described);
  };

interface Rules {
  /** @param before what an option that is given several times held so far. */
  readonly parse?: (text: string, before: never) => unknown;
  readonly choices?: readonly string[];
  readonly standard?: unknown;
  /** How the help tells the default. */
  readonly shown?: string;
}

const ruled = <T extends Argument | Option>(one: T, { parse, choices, standard, shown }: Rules): T => {
  if (choices !== undefined) one.choices(choices);
  if (parse !== undefined) one.argParser(parse as (text: string, before: unknown) => unknown);
  if (standard !== undefined) one.default(standard, shown);
  return one;
};

export const option = (flags: string, text: string, rules: Rules = {}): Option => ruled(new Option(flags, text), rules);
export const required = (flags: string, text: string, rules: Rules = {}): Option =>
  option(flags, text, rules).makeOptionMandatory();
export const argument = (name: string, text: string, rules: Rules = {}): Argument =>
  ruled(new Argument(name, text), rules);

export const logLevel = (standard: string): Option =>
  option('--log-level <level>', 'what the process log tells on standard error', {
    choices: ['silent', 'error', 'warn', 'info', 'debug'],
    standard,
  });

const json = option('--json', 'print the result as one JSON line on standard output');
const config = option('-c, --config <file>', 'configuration file (default: CALLSYNC_CONFIG, else ./callsync.yaml)');
const sharedOptions = { none: [], json: [json], all: [config, json, logLevel('warn')] } as const;
