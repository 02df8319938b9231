/** Every bench has a form of seconds; those of `npm run campaign -- benches` that no other test stands for run here too. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/repository.ts';
import { describeBenches, forms } from './bench-cases.ts';

test('every bench has its form', () => {
  const names = readdirSync(join(root, 'bench')).flatMap((name) => (name.endsWith('.ts') ? [name.slice(0, -3)] : []));
  expect(Object.keys(forms)).toEqual(names.sort());
});

describeBenches(['functions', 'privacy', 'webhook']);
