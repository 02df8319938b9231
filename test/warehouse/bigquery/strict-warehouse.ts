/** A BigQuery warehouse behind the strict stand-in, with waits of seconds cut to milliseconds. */
import { bigqueryWarehouseSchema } from '../../../src/warehouse/bigquery/config.ts';
import { useBigQuery } from '../../support/bigquery.ts';
import { openBigquery } from '../../support/open-bigquery.ts';
import { useOpened } from '../../support/opened.ts';
import { type StrictBigquery, startStrictBigquery } from '../../support/strict-bigquery.ts';

type BigqueryWarehouseOptions = Parameters<typeof openBigquery>[0];

export type StrictSetup = Awaited<ReturnType<typeof setUpStrict>>;

export const setUpStrict = async () => {
  const emulator = await useBigQuery();
  const strict = await startStrictBigquery({ upstream: emulator.restUrl });
  const { project, dataset } = emulator;
  const config = bigqueryWarehouseSchema.parse({ type: 'bigquery', project, dataset, api_endpoint: strict.url });
  const open = (options: Partial<BigqueryWarehouseOptions> = {}) =>
    openBigquery({
      name: 'bq',
      config,
      requestTimeoutMs: 20_000,
      pause: (ms) => new Promise((done) => setTimeout(done, ms / 50)),
      ...options,
    });
  const warehouse = open();
  await warehouse.migrate();
  return {
    strict,
    emulator,
    config,
    warehouse,
    open,
    /** Straight to the emulator, past the strict rules. */
    ask: (method: string, path: string, json?: unknown) =>
      fetch(`${emulator.restUrl}/bigquery/v2/projects/${emulator.project}${path}`, {
        method,
        ...(json === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(json) }),
      }),
    dispose: () => strict.close(),
  };
};

/** No staging table is left that would stay for ever. */
export const orphansWithoutExpiry = (strict: StrictBigquery): string[] =>
  [...strict.tables].filter(([name, expiry]) => name.includes('staging') && expiry === null).map(([name]) => name);

/** For the tests of a group; it can be used from `beforeAll` on. */
export const useStrict = (): StrictSetup => useOpened(setUpStrict, ({ dispose }) => dispose());
