import { expect, test } from 'vitest';
import { askLines } from '../../src/simulator/demo/ask-lines.ts';

test('the end of a demo names a query only for a database that stays: the local BigQuery ends with it', () => {
  const demo = { warehouse: { name: 'demo' }, configFile: '/demo/callsync.yaml', psql: undefined };
  const names = (lines: readonly string[]) => lines.some((line) => line.startsWith('npx callsync query'));
  expect([true, false].map((staysUp) => names(askLines(demo, staysUp)))).toEqual([true, false]);
  expect(names(askLines({ ...demo, psql: 'psql' }, false))).toBe(true);
});
