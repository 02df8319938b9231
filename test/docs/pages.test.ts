/** Links lead to files and headings, and the program has every documented command. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import site from '../../docs/.vitepress/config.mts';
import { alerts } from '../../scripts/alert-rules.ts';
import { storedData } from '../../scripts/stored-data.ts';
import { createProgram } from '../../src/cli/shell/program.ts';
import { checkConfig } from '../../src/config/load.ts';
import { conditions } from '../../src/health/conditions.ts';
import { isObject } from '../../src/lib/parse-json.ts';
import { readYaml } from '../../src/lib/read-yaml.ts';
import { read, root } from '../support/repository.ts';
import { isRunnable, pages, readAllCommands } from './support/read-commands.ts';

/** Without blocks of code, where brackets mean something else. */
const proseOf = (page: string) =>
  read(page)
    .replaceAll(/```[\s\S]*?```/g, '')
    .replaceAll(/`[^`\n]*`/g, '');

/** As GitHub and the site name the headings of a page. */
const anchorsOf = (page: string): ReadonlySet<string> =>
  new Set(
    [...read(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, title = '']) => {
      const letters = title.toLowerCase().replaceAll(/[^\p{L}\p{N}_ -]/gu, '');
      return letters.replaceAll(' ', '-');
    }),
  );

const linksOf = (page: string): readonly string[] =>
  [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target).filter((one) => !/^\w+:/.test(one));

test('every link within the repository leads to a file and to a heading of it', () => {
  const broken = pages.flatMap((page) =>
    linksOf(page).filter((link) => {
      const [path = '', anchor] = link.split('#', 2);
      const target = path === '' ? page : normalize(join(dirname(page), path));
      if (!existsSync(`${root}/${target}`)) return true;
      if (anchor === undefined || statSync(`${root}/${target}`).isDirectory()) return false;
      return !anchorsOf(target).has(anchor);
    }),
  );
  expect(broken).toEqual([]);
});

test('every page is reached from the first one, and is in the sidebar of the site', () => {
  const linked = new Set(linksOf('docs/index.md').map((link) => `docs/${link}`));
  const listed = new Set(site.themeConfig.sidebar.flatMap(({ items }) => items.map(({ link }) => `docs${link}.md`)));
  const own = pages.filter((page) => page.startsWith('docs/') && page !== 'docs/index.md');
  expect(own.filter((page) => !linked.has(page) || !listed.has(page))).toEqual([]);
});

test('every configuration of the guides is one that callsync accepts', () => {
  const blocks = pages
    .filter((page) => page.startsWith('docs/'))
    .flatMap((page) => [...read(page).matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => ({ page, text })));
  expect(blocks.length).toBeGreaterThan(5);
  const wrong = blocks.flatMap(({ page, text }) => {
    const written = readYaml(text, page);
    try {
      checkConfig({ source: { base_url: 'https://api.example.com' }, ...(isObject(written) ? written : {}) }, page);
      return [];
    } catch (fault) {
      return [(fault as Error).message];
    }
  });
  expect(wrong).toEqual([]);
});

test('pages keep quarantine and bodies as long as the store does, and believe no more than the code', () => {
  const { inbox, quarantine } = storedData.store;
  expect(quarantine?.kept).toMatch(
    /^`store\.quarantine_retention` (if|where) the call came (in )?since[,;] else until/,
  );
  expect(inbox?.kept).toMatch(/until merged.*`store\.inbox_retention`/);
  expect(inbox?.kept).not.toContain('after they were folded');
  const own = pages.filter((page) => /^docs\/(explanation|guides)/.test(page));
  const wrong = own.filter((page) => /in another order|is not believed|at most `store\.quarantine/.test(read(page)));
  expect(wrong).toEqual([]);
});

const program = await createProgram(() => true);

/** Words of a command line, of which quotes hold some together. */
const wordsOf = (text: string): string[] => [...text.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word);

/** Also of a table of cron. */
const commandLine = /^(?:npx |[0-9*/ ]+ )?callsync (.*)$/;

const usualOf = (command: Command): string | undefined =>
  (command as unknown as { _defaultCommandName?: string })._defaultCommandName ?? undefined;

const problemOf = (words: readonly string[]): string | undefined => {
  let command: Command = program;
  const options = new Set(['--help', '--version']);
  const enter = (next: Command): void => {
    command = next;
    for (const { long, short } of next.options) for (const name of [long, short]) if (name != null) options.add(name);
    for (const one of next.commands)
      if (one.name() === usualOf(next)) for (const { long } of one.options) options.add(`${long}`);
  };
  for (const word of words) {
    if (word.startsWith('-')) {
      if (/^-\w$|^--/.test(word) && !options.has(word)) return `${command.name()} has no option ${word}`;
      continue;
    }
    const next = command.commands.find((one) => one.name() === word);
    if (next !== undefined) enter(next);
    else if (command !== program && command.commands.length > 0 && usualOf(command) === undefined)
      return `${command.name()} has no command ${word}`;
  }
  return command === program ? 'no such command' : undefined;
};

test('every command that a sentence or a hint of an error names is one of the program', () => {
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/`(?:npx )?callsync ([^`]+)`/g)].map(([, text = '']) => ({ page, text })),
  );
  expect(named.length).toBeGreaterThan(100);
  const wrong = named.flatMap(({ page, text }) => {
    const problem = problemOf(wordsOf(text));
    return problem === undefined ? [] : [`${page}: callsync ${text}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});

/** Options that the command needs and the line lacks. */
const lackedBy = (words: readonly string[]): string | undefined => {
  const named = words.reduce<Command>((at, word) => at.commands.find((one) => one.name() === word) ?? at, program);
  const command = named.commands.find((one) => one.name() === usualOf(named)) ?? named;
  const lacked = command.options.filter(({ mandatory, long }) => mandatory && !words.includes(`${long}`));
  return lacked.length === 0 ? undefined : `${command.name()} needs ${lacked.map(({ long }) => long).join(', ')}`;
};

test('every command of the documentation exists, with its options and those that it needs', () => {
  const commands = readAllCommands().filter(({ text }) => /\bcallsync \w/.test(text));
  expect(commands.length).toBeGreaterThan(25);
  const wrong = commands.flatMap(({ page, line, text }) =>
    text.split(/ (?:&&|\||>) /).flatMap((part) => {
      const called = commandLine.exec(part.trim());
      const words = wordsOf(called?.[1] ?? '');
      const problem = called === null ? undefined : (problemOf(words) ?? lackedBy(words));
      return problem === undefined ? [] : [`${page}:${line} ${problem}`];
    }),
  );
  expect(wrong).toEqual([]);
});

test('a command that no test runs says why', () => {
  const silent = readAllCommands().filter((one) => !isRunnable(one) && one.notRun === undefined);
  expect(silent.map(({ page, line, text }) => `${page}:${line} ${text}`)).toEqual([]);
});

test('every command that the status page or an alert names does something as it is', () => {
  const sources = ['draw', 'state'].map((file) => read(`src/health/page/${file}.ts`));
  const drawn = sources.flatMap((text) => [...text.matchAll(/'(callsync [^']+)'/g)]);
  const named = [
    ...Object.values(conditions).map(({ command }) => command),
    ...alerts.flatMap(({ action }) => action.split(/[;:] /).filter((part) => part.startsWith('callsync '))),
    ...drawn.map(([, text = '']) => text),
  ];
  expect(named.length).toBeGreaterThan(25);
  const isGroup = (words: readonly string[]): boolean => {
    const command = words.reduce<Command>((at, word) => at.commands.find((one) => one.name() === word) ?? at, program);
    return command.commands.length > 0 && usualOf(command) === undefined;
  };
  const isWrong = (words: readonly string[]): boolean => problemOf(words) !== undefined || isGroup(words);
  expect(named.filter((text) => isWrong(wordsOf(text).slice(1)))).toEqual([]);
});

test('the picture in README ends with the proof, and has at most 1 MB', () => {
  const picture = 'docs/pictures/demo-break.svg';
  expect(read('README.md')).toContain(picture);
  expect(statSync(`${root}/${picture}`).size).toBeLessThan(1_000_000);
  const last = read(picture).split('<g class="f"').at(-1);
  expect(last).toMatch(/Found: 25 calls\. Healed: 25\./);
  expect(last).toMatch(/proven: (\d+) of \1 settled days/);
});
