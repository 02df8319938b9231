/** Completion scripts: made once from the command definitions, so that a press of the tab key starts no process. */
import type { Command, Option } from 'commander';

interface DescribedCommand {
  /** Below the program: `backfill`, `list`. */
  readonly path: readonly string[];
  readonly description: string;
  readonly options: readonly Option[];
  readonly commands: readonly DescribedCommand[];
}

/** The command with all below it; `program` must have loaded every command. */
export const describeCommands = (command: Command, path: readonly string[] = []): DescribedCommand => {
  const help = command.createHelp();
  // The default subcommand: `callsync backfill --from …` is `callsync backfill start --from …`.
  const fallback: unknown = Reflect.get(command, '_defaultCommandName');
  const below = command.commands.find((one) => one.name() === fallback);
  const inherited = below === undefined ? [] : help.visibleOptions(below).filter(({ long }) => long !== '--help');
  return {
    path,
    description: command.description(),
    options: [...help.visibleOptions(command), ...inherited],
    commands: help
      .visibleCommands(command)
      .filter((one) => path.length === 0 || one.name() !== 'help')
      .map((one) => describeCommands(one, [...path, one.name()])),
  };
};

/** Every command, the program first. */
export const listCommands = (root: DescribedCommand): readonly DescribedCommand[] => [
  root,
  ...root.commands.flatMap(listCommands),
];

export const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

export const renderCompletion = (shell: Shell, root: DescribedCommand): string =>
  shell === 'fish' ? renderFish(root) : shell === 'zsh' ? renderZsh(root) : renderBash(root);

const namesOf = (options: readonly Option[]): readonly string[] =>
  options.flatMap(({ short, long }) => [short, long].filter((name) => name !== undefined));

const takesValue = (option: Option): boolean => option.required || option.optional;

/** Names hold no character that a shell reads. */
const bashCase = (pattern: string, words: readonly string[]): string =>
  `    '${pattern}') words='${words.join(' ')}' ;;`;

const renderBash = (root: DescribedCommand): string => {
  const all = listCommands(root);
  const key = ({ path }: DescribedCommand): string => path.join(' ');
  const values = all.flatMap((command) =>
    command.options.flatMap((option) =>
      namesOf(option.argChoices ? [option] : []).map((name) =>
        bashCase(`${key(command)} ${name}`.trim(), option.argChoices ?? []),
      ),
    ),
  );
  const takers = [...new Set(all.flatMap(({ options }) => namesOf(options.filter(takesValue))))];
  return `# Completion of callsync for bash: source <(callsync completion bash)
_callsync_words() {
  local words=''
  case "$1" in
${all.map((command) => bashCase(key(command), [...command.commands.map(({ path }) => path.at(-1) ?? ''), ...namesOf(command.options)])).join('\n')}
  esac
  echo "$words"
}
_callsync_choices() {
  local words=''
  case "$1" in
${values.join('\n')}
  esac
  echo "$words"
}
_callsync() {
  local path='' word previous='' index
  local current="\${COMP_WORDS[COMP_CWORD]}"
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [[ " ${takers.join(' ')} " != *" $previous "* && "$word" != -* ]]; then
      local next="\${path:+$path }$word"
      [[ -n "$(_callsync_words "$next")" ]] && path="$next"
    fi
    previous="$word"
  done
  local choices
  choices="$(_callsync_choices "\${path:+$path }$previous")"
  if [[ -n "$choices" ]]; then
    COMPREPLY=($(compgen -W "$choices" -- "$current"))
  elif [[ -n "$previous" && " ${takers.join(' ')} " == *" $previous "* ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  else
    COMPREPLY=($(compgen -W "$(_callsync_words "$path")" -- "$current"))
  fi
}
complete -o default -F _callsync callsync
`;
};

/** zsh runs completions of bash. */
const renderZsh = (root: DescribedCommand): string => `#compdef callsync
# Completion of callsync for zsh: source <(callsync completion zsh)
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
${renderBash(root).replace(/^#.*\n/, '')}`;

const fishQuote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const renderFish = (root: DescribedCommand): string => {
  const lines = listCommands(root).flatMap((command) => {
    const at = `-n ${fishQuote(`__callsync_at ${command.path.join(' ')}`.trim())}`;
    return [
      ...command.commands.map(
        ({ path, description }) => `complete -c callsync -f ${at} -a ${path.at(-1)} -d ${fishQuote(description)}`,
      ),
      ...command.options.map((option) => {
        const short = option.short === undefined ? '' : ` -s ${option.short.slice(1)}`;
        const choices = option.argChoices === undefined ? '' : ` -f -a ${fishQuote(option.argChoices.join(' '))}`;
        const value = takesValue(option) ? ` -r${choices}` : '';
        return `complete -c callsync ${at}${short} -l ${option.long?.slice(2)}${value} -d ${fishQuote(option.description)}`;
      }),
    ];
  });
  return `# Completion of callsync for fish: callsync completion fish | source
function __callsync_at
    set -l words (commandline -opc | string match -v -- '-*')
    set -e words[1]
    test "$words[1..(count $argv)]" = "$argv"
end
${lines.join('\n')}
`;
};
