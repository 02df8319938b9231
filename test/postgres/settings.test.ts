/** Settings of five seeds; `npm run campaign -- settings` has 300 on each of two servers. */
import { expect, test } from 'vitest';
import { useOpened } from '../support/opened.ts';
import { startPostgres } from '../support/postgres.ts';
import { openSettingsServer } from './settings-cases.ts';

const server = useOpened(async () => {
  const own = await startPostgres();
  const opened = await openSettingsServer(own);
  return { ...opened, close: () => opened.close().finally(own.stop) };
});

/** Each shows faults in sessions that begin with the settings of their server. */
const seeds = [
  [4, 'DateStyle and TZ: no time is read, and days move'],
  [139, 'isolation: of two stores that open at once, one ends with 42P07'],
  [183, 'idle_session_timeout: session locks are lost'],
  [259, 'extra_float_digits: rows differ from the ledger'],
  [286, 'array_nulls: loads end with 22P02'],
] as const;

test.each(seeds)('drawn settings change nothing: seed %i (%s)', async (seed) => {
  expect(await server.compare(seed)).toEqual([]);
});
