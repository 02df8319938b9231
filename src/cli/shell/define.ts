/** Commands as data: options, their parsers, examples and work, which these functions give to commander. */

import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { parseInstant } from '../../../schemas/instant.ts';
import type { CommonOptions } from '../../app/services.ts';
import { type Exit, endWith, print, renderTable } from './output.ts';

/** An option, or an argument, with the type of its value. */
type OptionOf<T> = Option & { readonly holds?: T };
type ArgumentOf<T> = Argument & { readonly holds?: T };
type Options = Readonly<Record<string, OptionOf<unknown>>>;
type Arguments = readonly ArgumentOf<unknown>[];

/** Options of a command by their names, beside the shared ones. */
export type Given<O extends Options> = CommonOptions & {
  readonly [K in Certain<O>]: Value<O[K]>;
} & { readonly [K in Exclude<keyof O, Certain<O>>]?: Value<O[K]> };

type Value<O> = O extends OptionOf<infer T> ? T : never;
type Values<A extends Arguments> = { [K in keyof A]: A[K] extends ArgumentOf<infer T> ? T : never };
/** Options that always have a value. */
type Certain<O> = { [K in keyof O]: undefined extends Value<O[K]> ? never : K }[keyof O];

/** Adds options, arguments and action to a command of commander. */
type AddCommand = (command: Command) => void;

interface Described {
  /** One line of help; commands directly below callsync have theirs in commands.ts. */
  readonly does?: string;
  readonly examples: readonly string[];
  /** Stands below the examples. */
  readonly remarks?: string | (() => string);
}

/** The result of a command for --json, the same as a text, and how the command ends; a table and `done` by default. */
export type Answer = readonly [result: unknown, text?: string, exit?: Exit | false];
type Answered = Answer | void | Promise<void> | Promise<Answer | undefined>;

/** @typeParam W parts that `within` opens */
interface Leaf<A extends Arguments, O extends Options, W extends readonly unknown[]> extends Described {
  readonly args?: A;
  readonly options?: O;
  /** Shared options of the command; by default file, JSON and log. */
  readonly shared?: 'all' | 'json' | 'none';
  /** Opens the parts that `run` needs, and closes them afterwards. */
  readonly within?: (options: CommonOptions, work: (...opened: W) => Promise<unknown>) => Promise<unknown>;
  /** Gets the arguments, the options and the opened parts. A command without an answer prints by itself. */
  readonly run: (...given: [...Values<A>, Given<O>, ...W]) => Answered;
}

/** The help of a group shows the first example of each command. */
interface Group extends Omit<Described, 'examples'> {
  readonly commands: Readonly<Record<string, AddCommand>>;
  /** Runs where no subcommand is named. */
  readonly standard?: string;
}

const examplesOf = new WeakMap<Command, readonly string[]>();

const describe = (command: Command, { does, examples, remarks = '' }: Described): void => {
  examplesOf.set(command, examples);
  if (does !== undefined) command.description(does);
  command.addHelpText('after', () => {
    const more = typeof remarks === 'string' ? remarks : remarks();
    return `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}${more === '' ? '' : `\n\n${more}`}`;
  });
};

export const leaf =
  <const A extends Arguments = [], O extends Options = Record<never, never>, W extends readonly unknown[] = []>({
    args,
    options,
    shared = 'all',
    within,
    run,
    ...described
  }: Leaf<A, O, W>): AddCommand =>
  (command) => {
    for (const argument of args ?? []) command.addArgument(argument);
    for (const one of sharedOptions[shared]) command.addOption(one);
    for (const [name, one] of Object.entries(options ?? {})) {
      if (one.attributeName() !== name) throw new Error(`${one.long} is given as ${one.attributeName()}, not ${name}`);
      command.addOption(one);
    }
    describe(command, described);
    // The option in the place of a required one may be mistyped.
    Object.assign(command, {
      missingMandatoryOptionValue: ({ flags }: Option) => {
        const unknown = command.args.find((word) => word.startsWith('-'));
        command.error(
          unknown ? `error: unknown option '${unknown}'` : `error: required option '${flags}' not specified`,
        );
      },
    });
    command.action(async (...given: unknown[]) => {
      // Commander adds the command itself.
      const typed = given.slice(0, -1);
      const common = typed.at(-1) as CommonOptions;
      const act = async (...opened: readonly unknown[]): Promise<void> => {
        const answer = await (run as (...all: unknown[]) => Answered)(...typed, ...opened);
        if (!answer) return;
        const [result, text = renderTable([result].flat() as readonly object[]), exit] = answer;
        print(common, result, text);
        if (exit) endWith(exit);
      };
      await (within === undefined ? act() : within(common, act));
    });
  };

export const group =
  ({ commands, standard, ...described }: Group): AddCommand =>
  (command) => {
    for (const [name, add] of Object.entries(commands)) add(command.command(name, { isDefault: name === standard }));
    const examples = command.commands.flatMap((one) => examplesOf.get(one)?.slice(0, 1) ?? []);
    describe(command, { ...described, examples });
  };

/** A list where the flags end with `...`. */
type Taken<F extends string, T> = F extends `${string}...${string}` ? readonly T[] : T;

/** An option with a text as value. */
export const option = <F extends string, S extends string | undefined = undefined>(
  flags: F,
  text: string,
  standard?: S,
): OptionOf<Taken<F, string> | NoInfer<S>> => new Option(flags, text).default(standard);

type Parse<T> = (text: string, before: never) => T;

/**
 * @param parse gets the value so far too, for an option that may be repeated.
 * @param standard the default as a user would write it; the help shows it so.
 */
export const parsed = <T, S extends string | undefined = undefined>(
  flags: string,
  text: string,
  parse: Parse<T>,
  standard?: S,
): OptionOf<NoInfer<S extends string ? T : T | undefined>> =>
  new Option(flags, text).argParser(parse as never).default(standard && parse(standard, undefined as never), standard);

/** An option whose values are among `choices`. */
export const choice = <F extends string, const T, S extends T | undefined = undefined>(
  flags: F,
  text: string,
  choices: readonly T[],
  standard?: S,
): OptionOf<NoInfer<Taken<F, T> | S>> =>
  new Option(flags, text).choices(choices as readonly string[]).default(standard);

/** The same option, without which the command does not run. */
export const required = <T>(one: OptionOf<T | undefined>): OptionOf<T> => one.makeOptionMandatory() as OptionOf<T>;

/** An option without a value. If its name begins with --no-, giving it means false. */
export const flag = (flags: string, text: string): OptionOf<boolean | undefined> => new Option(flags, text);

type Typed<N extends string> = N extends `${string}...${string}`
  ? readonly string[]
  : N extends `[${string}`
    ? string | undefined
    : string;

export const argument = <N extends string, T = Typed<N>>(
  name: N,
  text: string,
  parse?: Parse<T>,
  standard?: NoInfer<T>,
): ArgumentOf<NoInfer<T>> => new Argument(name, text).argParser(parse as never).default(standard);

const levels = ['silent', 'error', 'warn', 'info', 'debug'];

export const logLevel = (standard: string): OptionOf<string> =>
  choice('--log-level <level>', 'least severity in the process log, on standard error', levels, standard);

const json = flag('--json', 'print the result as one JSON line on standard output');
const config = option('-c, --config <file>', 'configuration file (default: CALLSYNC_CONFIG, else ./callsync.yaml)');
const sharedOptions = { none: [], json: [json], all: [config, json, logLevel('warn')] } as const;

// Parsers of arguments and options.

/** The value, or the refusal of the option. */
export const orRefuse = <T>(value: T | undefined, advice: string): T => {
  if (value === undefined) throw new InvalidArgumentError(advice);
  return value;
};

export const wholeNumber =
  (least: number, most: number = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = Number(text);
    const isOne = text.trim() !== '' && Number.isSafeInteger(value) && value >= least && value <= most;
    const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`;
    return orRefuse(isOne ? value : undefined, `Use a whole number from ${least}${upTo}.`);
  };

export const port = wholeNumber(0, 65_535);

/** A date (UTC) or a date-time with its zone → microseconds since the epoch. */
export const instant = (text: string): number =>
  orRefuse(parseInstant(text), 'Use a date or date-time such as 2025-01-31 or 2025-01-31T08:00:00Z.');

/** For commands that bring calls in. */
export const acceptSource = flag(
  '--accept-source',
  'accept another address or client id of the same service, after a move',
);
