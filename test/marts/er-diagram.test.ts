/** The drawing of tables and marts: every one in a box of its own, every relation a line. */
import { expect, test } from 'vitest';
import { tables } from '../../schemas/tables.ts';
import { renderErSvg, renderMermaid } from '../../src/marts/er-diagram.ts';
import { marts } from '../../src/marts/marts.ts';

test('draws what Mermaid is told, in boxes that do not overlap and within the picture', () => {
  const svg = renderErSvg();
  const names = [...svg.matchAll(/font-weight="bold">([a-z_]+)</g)].map(([, name]) => name ?? '');
  const shown = marts.filter(({ intermediate }) => intermediate !== true);
  expect(names.sort()).toEqual([...tables, ...shown].map(({ name }) => name).sort());
  const lines = [...svg.matchAll(/<title>(\w+) to (\w+) by (\w+)<\/title>/g)].map(([, ...parts]) => parts.join(' '));
  const told = [...renderMermaid().matchAll(/^ {2}(\w+) \S+ (\w+) : (\w+)$/gm)].map(([, ...parts]) => parts.join(' '));
  expect(lines).toEqual(told);
  const [, width = 0, height = 0] = (/viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? []).map(Number);
  const boxes = [...svg.matchAll(/<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"/g)].map(([, ...parts]) => {
    const [x = 0, y = 0, w = 0, h = 0] = parts.map(Number);
    return { left: x, top: y, right: x + w, bottom: y + h };
  });
  for (const [index, one] of boxes.entries()) {
    expect(one.right <= width && one.bottom <= height).toBe(true);
    for (const other of boxes.slice(index + 1)) {
      const apart =
        one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top;
      expect(apart).toBe(true);
    }
  }
});
