/** Every command explains itself: what it does and how it is typed. */
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';

const program = await createProgram(() => true);

const pathOf = (command: Command): string =>
  command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim();

const leavesOf = (command: Command): readonly Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

/** All of its help, with what stands after the options. */
const helpOf = (command: Command): string => {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
};

describe('help', () => {
  test.each(leavesOf(program).map((leaf) => [pathOf(leaf), leaf] as const))(
    '%s has a description and examples',
    (path, leaf) => {
      expect(leaf.description()).not.toBe('');
      const [, examples = ''] = helpOf(leaf).split('\nExamples:\n');
      const lines =
        examples
          .split('\n\n')[0]
          ?.split('\n')
          .filter((line) => line.trim() !== '') ?? [];
      expect(lines.length).toBeGreaterThan(0);
      const parent = leaf.parent as Command;
      const words =
        (parent as unknown as { _defaultCommandName?: string })._defaultCommandName === leaf.name()
          ? pathOf(parent)
          : path;
      expect(lines.some((line) => line.includes(`callsync ${words}`))).toBe(true);
    },
  );

  test('has more leaves than a handful, and describes groups too', () => {
    expect(leavesOf(program).length).toBeGreaterThan(35);
    for (const group of program.commands) expect(group.description(), group.name()).not.toBe('');
  });
});
