/** The moving picture of README: frames of a recording as a terminal shows them. */
import { statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { read, root } from '../support/repository.ts';

test('the picture in README ends with the proof, and has at most 1 MB', () => {
  const picture = 'docs/pictures/demo-break.svg';
  expect(read('README.md')).toContain(picture);
  expect(statSync(`${root}/${picture}`).size).toBeLessThan(1_000_000);
  const last = read(picture).split('<g class="f"').at(-1);
  expect(last).toMatch(/Found: 25 calls\. Healed: 25\./);
  expect(last).toMatch(/proven: (\d+) of \1 settled days/);
});
