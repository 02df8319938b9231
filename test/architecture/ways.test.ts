/** Follows the two ways of docs/contributing/architecture.md through the code. */
import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { modules, read, root } from '../support/repository.ts';

const text = read('docs/contributing/architecture.md');

const stepsOf = (page: string, way: string) => {
  const list = page.split(`<!-- way: ${way} -->`)[1]?.split('<!-- end -->')[0] ?? '';
  return list
    .split('\n')
    .filter((line) => line.startsWith('1. '))
    .map((line) => {
      const [, file = '', name = ''] = /^1\. `([^`:]+): (\w+)`/.exec(line) ?? [];
      return { file, name, handedIn: line.includes('*handed in*') };
    });
};

const codeOf = (file: string): string => modules.get(file) ?? '';

/** Files that a file imports, types left out. */
const importsOf = (file: string): readonly string[] =>
  [...codeOf(file).matchAll(/^import (?!type )[^;]*? from '(\.[^']+)';/gms)].map(([, path = '']) =>
    relative(root, resolve(root, dirname(file), path)),
  );

const defines = (file: string, name: string): boolean =>
  new RegExp(`^(?:export )?(?:async )?(?:const|function\\*?|class) ${name}\\b`, 'm').test(codeOf(file));

const mentions = (file: string, name: string): boolean => {
  const withoutImports = codeOf(file).replaceAll(/^import [^;]*;$/gms, '');
  return withoutImports.split(new RegExp(`\\b${name}\\b`)).length - 1 > (defines(file, name) ? 1 : 0);
};

/** Faults of a way, a sentence each. */
const problemsOf = (steps: ReturnType<typeof stepsOf>): readonly string[] =>
  steps.flatMap((step, index) => {
    const { file, name, handedIn } = step;
    if (!defines(file, name)) return [`${file} does not define ${name}.`];
    if (index === 0 || handedIn) return [];
    const called = steps
      .slice(0, index)
      .some((above) => mentions(above.file, name) && (above.file === file || importsOf(above.file).includes(file)));
    return called ? [] : [`No step above ${file}: ${name} imports and calls it.`];
  });

test.each([
  ['polled', 15],
  ['delivery', 12],
])('the way of one %s call goes through the code', (way, least) => {
  const steps = stepsOf(text, way);
  expect(steps.length).toBeGreaterThanOrEqual(least);
  expect(problemsOf(steps)).toEqual([]);
  // Most steps can be followed by imports alone.
  expect(steps.filter(({ handedIn }) => handedIn).length).toBeLessThan(steps.length / 2);
});

test('a step that is gone, or that nobody calls, is found', () => {
  const [first, second] = stepsOf(text, 'polled');
  if (first === undefined || second === undefined) throw new Error('the way has no steps');
  const wrong = [
    first,
    { ...second, file: 'src/no-such-file.ts' },
    { ...second, name: 'noSuchFunction' },
    { file: 'src/calls/flatten.ts', name: 'flattenCall', handedIn: false },
  ];
  expect(problemsOf(wrong)).toEqual([
    `src/no-such-file.ts does not define ${second.name}.`,
    `${second.file} does not define noSuchFunction.`,
    'No step above src/calls/flatten.ts: flattenCall imports and calls it.',
  ]);
});

test('every file and folder that it names exists', () => {
  const named = [...text.matchAll(/`((?:src|activities|workflows|schemas|test|docs|bench|scripts)\/[^`\s:]*)/g)].map(
    ([, path = '']) => path.replace(/…$/, ''),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => !existsSync(resolve(root, path)))).toEqual([]);
});

test('it stays short enough to be read', () => expect(text.split('\n').length).toBeLessThanOrEqual(151));
