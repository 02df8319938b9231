/** docs/cookbook.md is the questions as they are now, each with its result. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { renderCookbookPage } from '../../scripts/cookbook-page.ts';
import { cookbook } from '../../src/marts/cookbook.ts';

const root = resolve(import.meta.dirname, '../..');

test('the page is current (npm run generate), and every question has a result', () => {
  const page = renderCookbookPage(root);
  expect(readFileSync(`${root}/docs/cookbook.md`, 'utf8')).toBe(page);
  const sections = page.split('\n## ').slice(1);
  expect(sections).toHaveLength(cookbook.length);
  for (const section of sections) expect(section.split('```').at(-1)).toMatch(/\n\| --- .*\n\| [^-]/);
});
