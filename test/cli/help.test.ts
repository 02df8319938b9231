/** Every command explains itself: what it does and how it is typed. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { exitOf, exits, renderExits } from '../../src/cli/shell/output.ts';
import { createProgram } from '../../src/cli/shell/program.ts';
import { CallsyncError } from '../../src/lib/errors.ts';

const program = await createProgram(() => true);

const pathOf = (command: Command): string =>
  command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim();

const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
/** All of its help, with what stands after the options. */
const helpOf = (command: Command): string => {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => void parts.push(part) }).outputHelp();
  return parts.join('');
};

test.each(leavesOf(program).map(pathOf))('%s is described, with examples', (path) => {
  const leaf = leavesOf(program).find((one) => pathOf(one) === path) as Command;
  expect(leaf.description()).not.toBe('');
  const examples = helpOf(leaf).split('\nExamples:\n')[1]?.split('\n\n')[0];
  const parent = leaf.parent as Command & { _defaultCommandName?: string };
  expect(examples).toContain(`callsync ${parent._defaultCommandName === leaf.name() ? pathOf(parent) : path}`);
});

test('has more leaves than a handful, and describes groups too', () => {
  expect(leavesOf(program).length).toBeGreaterThan(35);
  for (const group of program.commands) expect(group.description(), group.name()).not.toBe('');
});

/** These commands print a file: YAML, Markdown, JSON Schema. */

test('every command reports as JSON, but those that print a file', () => {
  const optionsOf = (command: Command | null): string[] =>
    command === null ? [] : [...command.options.map(({ long }) => long ?? ''), ...optionsOf(command.parent)];
  const silent = leavesOf(program).filter((leaf) => !optionsOf(leaf).includes('--json'));
  expect(silent.map(pathOf).sort()).toEqual(['config example', 'config schema']);
});

test('no command ends with a code that the help does not list', () => {
  const folder = `${import.meta.dirname}/../../src/cli`;
  const ends = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...readFileSync(`${folder}/${name}`, 'utf8').matchAll(/process\.(exitCode = |exit\()(.*)$/gm)])
    .map(([, , code = '']) => code);
  // The table's own, the worst of several of its codes, or that of a signal.
  const listed = /^exits\[exit\]|^exitCodeOfFindings\(|^process\.exitCode \?\? 0|^128 \+ number/;
  expect(ends.filter((code) => !listed.test(code))).toEqual([]);
  const help = helpOf(program);
  for (const line of renderExits((code, text) => `${code} ${text}`).split('\n')) {
    const [, code = '', text = ''] = /^([\d, ]+) (.*)$/.exec(line) ?? [];
    expect(help).toMatch(new RegExp(`${code} +${text}`));
  }
  expect(Object.values(exits).map(([code]) => code)).toEqual([0, 1, 2, 3, 4, 5, 6]);
});

// 3 is said of access alone, and 4 of what does not answer: where all answered, it is 5 or 6.
test.each([
  [2, 'terminal', ['CONFIG_INVALID', 'QUERY_REFUSED']],
  [3, 'terminal', ['TOKEN_REFUSED', 'DATABASE_PERMISSION', 'PRIVACY_KEY']],
  [4, 'transient', ['DATABASE_UNREACHABLE', 'NO_WORKER']],
  [5, 'transient', ['GO_LIVE_EMPTY', 'GO_LIVE_SILENT', 'DEMO_NOT_SETTLED']],
  [6, 'terminal', ['ERASURE_HELD', 'STORE_SCHEMA']],
] as const)('exit code %i is that of the %s errors %j', (expected, kind, codes) => {
  for (const code of codes) expect(exits[exitOf(new CallsyncError(kind, code, ''))][0], code).toBe(expected);
});
