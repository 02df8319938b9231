import { expect, test } from 'vitest';
import { askLines } from '../../src/simulator/demo/ask-lines.ts';

test('the end of a demo names a query only where a database will answer it: the local BigQuery ends with the demo', () => {
  const demo = { warehouse: { name: 'demo' }, configFile: '/demo/callsync.yaml', psql: undefined };
  const names = (lines: readonly string[]) => lines.some((line) => line.startsWith('npx callsync query'));
  expect([true, false].map((staysUp) => names(askLines(demo, staysUp)))).toEqual([true, false]);
  expect(names(askLines({ ...demo, psql: 'psql' }, false))).toBe(true);
});
