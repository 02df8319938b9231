/** Manual pages in roff, one for the program and one for each of its commands with all below it. */
import { exitCodeHelp } from '../exit-codes.ts';
import { type DescribedCommand, listCommands } from './describe-commands.ts';

/** A leading point or quote would be a request; a hyphen stays one when it is copied. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(
      /[^\x20-\x7e\n]/gu,
      (character) => `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .split('\n')
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join('\n');

const block = (text: string): string => `.nf\n${roff(text)}\n.fi`;

const section = (title: string, parts: readonly string[]): readonly string[] =>
  parts.length === 0 ? [] : [`.SH ${title}`, ...parts];

const item = (term: string, text: string): string => `.TP\n.B ${roff(term)}\n${roff(text)}`;

const describe = (command: DescribedCommand): readonly string[] => [
  ...command.arguments
    .filter(({ description }) => description !== '')
    .map((one) => item(`<${one.name}>`, one.description)),
  ...command.options.map(({ flags, description, choices }) =>
    item(flags, `${description}${choices.length === 0 ? '' : ` (${choices.join(', ')})`}`),
  ),
];

const page = (command: DescribedCommand, version: string): string => {
  const name = ['callsync', ...command.path].join('-');
  const below = command.path.length === 0 ? [] : listCommands(command).slice(1);
  return `${[
    `.TH ${roff(name).toUpperCase()} 1 "" "callsync ${version}" "callsync"`,
    ...section('NAME', [`${roff(name)} \\- ${roff(command.description)}`]),
    ...section('SYNOPSIS', [block(command.usage)]),
    ...section('OPTIONS', describe(command)),
    ...section(
      'COMMANDS',
      command.path.length === 0 ? command.commands.map((one) => item(one.path.join(' '), one.description)) : [],
    ),
    ...below.flatMap((one) => [
      `.SH "${roff(one.path.join(' ').toUpperCase())}"`,
      roff(one.description),
      '.PP',
      block(one.usage),
      ...describe(one),
      ...(one.remarks === '' ? [] : ['.PP', block(one.remarks)]),
    ]),
    ...section('NOTES', command.remarks === '' ? [] : [block(command.remarks)]),
    ...section('EXIT STATUS', [block(exitCodeHelp)]),
  ].join('\n')}\n`;
};

/** By file name, such as `callsync-backfill.1`. */
export const renderManPages = (root: DescribedCommand, version: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [root, ...root.commands].map((command) => [`${['callsync', ...command.path].join('-')}.1`, page(command, version)]),
  );
