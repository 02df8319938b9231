/** A warehouse that is away at the start holds back neither the worker nor the other warehouses. */
import { expect, test } from 'vitest';
import { openWarehouses } from '../../src/app/activity-deps.ts';
import { createServices, openStoreService } from '../../src/app/services.ts';
import { checkConfig } from '../../src/config/load.ts';
import { CallsyncError } from '../../src/lib/errors.ts';
import { countPending, markPending, planLoad } from '../../src/store/loads/loads.ts';
import type { Store } from '../../src/store/store.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { withoutService } from '../support/cli.ts';
import { closedPort } from '../support/closed-port.ts';
import { useFolder } from '../support/folder.ts';
import { openLink } from '../support/link.ts';
import { useDatabase } from '../support/postgres.ts';

const database = useDatabase();
const far = useDatabase();
const folder = useFolder('away');
const said: string[] = [];

/** Opens store and warehouses as a worker does, with the last of them. */
const open = async <T>(
  warehouses: Readonly<Record<string, { url?: string }>>,
  work: (store: Store, warehouses: readonly Warehouse[]) => Promise<T>,
): Promise<T> => {
  const configured = Object.entries(warehouses).map(([name, one]) => [name, { type: 'postgres', ...one }]);
  const { source, store } = withoutService(database.url);
  const config = { source, store: { ...store, data_dir: folder }, warehouses: Object.fromEntries(configured) };
  const tell = (message: string) => void said.push(message);
  const services = createServices(checkConfig(config, 'test'), () => undefined, tell);
  try {
    const store = await openStoreService(services);
    const opened = (await openWarehouses(services, store)).map(({ warehouse }) => warehouse);
    return await work(store, opened);
  } finally {
    await services.close();
  }
};

test('opens with one warehouse away, once the ledger has its epoch', async () => {
  const look = async (store: Store, opened: readonly Warehouse[]) => {
    await store.transaction((tx) => markPending(tx, []));
    const names = opened.map(({ name }) => name);
    return { names, epoch: await store.epoch(), pending: await countPending(store, 'away') };
  };
  const both = { here: {}, away: { url: `postgres://a:b@127.0.0.1:${closedPort}/none` } };
  await expect(open(both, look)).rejects.toThrow(CallsyncError);
  expect((await open({ here: {} }, look)).epoch).toBe(1);
  expect(await open(both, look)).toEqual({ names: ['here', 'away'], epoch: 1, pending: 0 });
  expect(said.join('\n')).toContain('The warehouse away does not answer');
});

const load = async (store: Store, [warehouse]: readonly Warehouse[]) => {
  const { name, load: send } = warehouse as Warehouse;
  const plan = await store.transaction((tx) =>
    planLoad(tx, { warehouse: name, flattenVersion: 1, origin: 'test' }, []),
  );
  await send({ ...plan, calls: [], tombstones: [], logs: {}, keyOf: store.keyOf });
};

test('a running process makes the marts of a warehouse anew that was dropped', async () => {
  await open({ here: {} }, async (store, opened) => {
    await load(store, opened);
    await store.pool.query('DROP SCHEMA calls CASCADE');
    await expect(load(store, opened)).rejects.toMatchObject({ kind: 'transient' });
    await load(store, opened).catch(() => load(store, opened));
    const [warehouse] = opened;
    expect(await warehouse?.query('SELECT count(*) AS n FROM calls_marts.completeness_daily')).toEqual([{ n: 0 }]);
  });
});

test('asks a warehouse that was away at the start for its last load before the first one', async () => {
  const link = await openLink(far.url);
  const warehouses = { far: { url: link.url } };
  await open(warehouses, load);
  link.shut();
  const epoch = await open(warehouses, async (store, opened) => {
    expect(said.join('\n')).toContain('The warehouse far does not answer');
    const before = await store.epoch();
    // The warehouse looks like this after a restore from before that load.
    await store.pool.query('DELETE FROM loads');
    link.open();
    await expect(load(store, opened)).rejects.toMatchObject({ code: 'LEDGER_RESTORED', kind: 'transient' });
    expect(await store.epoch()).toBe(before + 1);
    await load(store, opened);
    return await store.epoch();
  });
  await open(warehouses, async (store) => expect(await store.epoch()).toBe(epoch));
  await link.close();
});
