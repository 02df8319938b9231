/** docs/reference/cookbook.md has a result of each question. */
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { renderCookbookPage } from '../../scripts/cookbook-page.ts';
import { cookbook } from '../../src/marts/cookbook.ts';

const root = resolve(import.meta.dirname, '../..');

test('every question has a result', () => {
  const page = renderCookbookPage(root);
  const sections = page.split('\n## ').slice(1);
  expect(sections).toHaveLength(cookbook.length);
  for (const section of sections) expect(section.split('```').at(-1)).toMatch(/\n\| --- .*\n\| [^-]/);
});
