/** The commands that stand in the documentation: lines of shell blocks, fenced or indented. */
import { readdirSync } from 'node:fs';
import { read, root } from '../../support/repository.ts';

export interface DocumentedCommand {
  /** Path from the root of the repository. */
  readonly page: string;
  readonly line: number;
  /** Without its remark. */
  readonly text: string;
  /** Goes on while the next ones run. */
  readonly background: boolean;
  /** Why no test runs it. */
  readonly notRun: string | undefined;
}

/** Their commands are in hints and examples. `test/cli/help.test.ts` tries the examples of the commands. */
const generated = /^docs\/reference\/(cli|config|errors|metrics)\.md$/;

export const pages: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...(readdirSync(`${root}/docs`, { recursive: true }) as string[])
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
  'dbt/README.md',
];

const program =
  /^(npx |printf .*\| |[0-9*/ ]+ {2})?(callsync|printf .*>>|npm|npx|git|docker|kubectl|temporal|pg_restore|dbt|deploy\/|cp|openssl) ?/;

/** In the order of the pages. */
const readCommands = (page: string): readonly DocumentedCommand[] => {
  const commands: DocumentedCommand[] = [];
  let fence: string | undefined;
  let notRun: string | undefined;
  let begun = '';
  for (const [index, line] of read(page).split('\n').entries()) {
    const opened = /^\s*```(.*)$/.exec(line);
    const marker = /^\s*<!-- not run: (.*) -->$/.exec(line);
    if (marker !== null) notRun = marker[1];
    if (opened !== null) {
      if (fence !== undefined) notRun = undefined;
      fence = fence === undefined ? (opened[1] ?? '') : undefined;
      continue;
    }
    const isIndented = fence === undefined && /^ {4}\S/.test(line);
    if (fence === undefined && !isIndented) {
      // A marker holds for the block that follows it.
      if (line.trim() !== '' && marker === null) notRun = undefined;
      continue;
    }
    if (!isIndented && fence?.startsWith('sh') !== true) continue;
    const text = `${begun}${line.trim().replace(/ {2,}#.*$/, '')}`;
    begun = text.endsWith('\\') ? text.slice(0, -1) : '';
    if (begun !== '' || !program.test(text)) continue;
    commands.push({ page, line: index + 1, text: text.replace(/ &$/, ''), background: text.endsWith(' &'), notRun });
  }
  return commands;
};

export const readAllCommands = () => pages.filter((page) => !generated.test(page)).flatMap(readCommands);

/** A command of callsync, also behind a pipe or in a crontab, or a line that a file gets. */
export const isRunnable = ({ text, notRun }: DocumentedCommand): boolean =>
  notRun === undefined && /(^|\| )callsync |^printf .* >> /.test(text.replace(/^(npx |[0-9*/ ]+ {2})/, ''));
