/** The moving picture of README: frames of a recording as a terminal shows them. */
import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { drawRecording, readRecording } from '../../scripts/terminal-picture.ts';
import { read, root } from '../support/repository.ts';

const framesOf = (svg: string): string[][] =>
  [...svg.matchAll(/<g class="f"[^>]*>(.*?)<\/g>/g)].map(([, frame = '']) =>
    [...frame.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text = '']) => text),
  );

test('a line that is written again, cut and wrapped is what the terminal shows', () => {
  const written = [
    '\x1b7\x1b[?25l\x1b[?7l\x1b[1Ghalf done\x1b[0K',
    '\x1b[1Gdone, and more\x1b[0K',
    '\x1b[?7h\r\n',
    '<1> & 2 é…\r\n',
  ];
  const out = Buffer.from(`Script started\n${written.join('')}Script done\n`);
  const timing = written.map((text) => `0.500000 ${Buffer.byteLength(text)}`).join('\n');
  const svg = drawRecording(readRecording(out, timing), 'demo', { columns: 9, rows: 4 });
  expect(framesOf(svg)).toEqual([
    ['$ demo'],
    ['$ demo', 'half done'],
    ['$ demo', 'done, and'],
    ['$ demo', 'done, and'],
    ['done, and', '&lt;1> &amp; 2 é', '…'],
  ]);
  expect(svg).toMatch(/@keyframes f1\{0%\{visibility:hidden\}/);
});

test('the picture in README ends with the proof, and has at most 1 MB', () => {
  const picture = 'docs/pictures/demo-break.svg';
  expect(read('README.md')).toContain(picture);
  expect(statSync(`${root}/${picture}`).size).toBeLessThan(1_000_000);
  const last = framesOf(read(picture)).at(-1)?.join('\n');
  expect(last).toMatch(/Found: 25 calls\. Healed: 25\./);
  expect(last).toMatch(/proven: (\d+) of \1 settled days/);
});
