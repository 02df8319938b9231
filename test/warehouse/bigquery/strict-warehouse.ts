/** A BigQuery warehouse behind the strict stand-in, with waits of seconds cut to milliseconds. */
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { useBigQuery } from '../../support/bigquery.ts';
import { openBigquery } from '../../support/open-bigquery.ts';
import { useOpened } from '../../support/opened.ts';
import { type StrictBigquery, startStrictBigquery } from '../../support/strict-bigquery.ts';

export type StrictSetup = Awaited<ReturnType<typeof setUpStrict>>;

/** @param more of the settings */
export const setUpStrict = async (more: { readonly documents?: boolean } = {}) => {
  const emulator = await useBigQuery();
  const strict = await startStrictBigquery({ upstream: emulator.restUrl });
  const { project, dataset } = emulator;
  const place = { project, dataset, api_endpoint: strict.url };
  const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', ...place, ...more });
  const usual = { name: 'bq', config, requestTimeoutMs: 20_000, pause: (ms: number) => sleep(ms / 50) };
  const open = (options: Partial<Parameters<typeof openBigquery>[0]> = {}) => openBigquery({ ...usual, ...options });
  const warehouse = open();
  await warehouse.migrate();
  /** Straight to the emulator, past the strict rules. */
  const ask = (method: string, path: string) =>
    fetch(`${emulator.restUrl}/bigquery/v2/projects/${project}${path}`, { method });
  return { strict, emulator, config, warehouse, open, ask, dispose: strict.close };
};

/** No staging table is left that would stay for ever. */
export const orphansWithoutExpiry = (strict: StrictBigquery): string[] =>
  [...strict.tables].filter(([name, expiry]) => name.includes('staging') && expiry === null).map(([name]) => name);

export const strictForTest = async (): Promise<StrictSetup> => {
  const setup = await setUpStrict();
  onTestFinished(setup.dispose);
  return setup;
};

/** For the tests of a group; it can be used from `beforeAll` on. */
export const useStrict = (): StrictSetup => useOpened(setUpStrict, ({ dispose }) => dispose());
