/** A warehouse that is away at the start holds back neither the worker nor the other warehouses. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { warehousesConfigSchema } from '../../schemas/config/warehouses.ts';
import { openStoreService } from '../../src/cli/parts/open-store.ts';
import { openWarehouses } from '../../src/cli/parts/open-warehouses.ts';
import { createServices } from '../../src/cli/parts/services.ts';
import { checkConfig } from '../../src/config/load.ts';
import { CallsyncError } from '../../src/lib/errors.ts';
import type { WarehouseTarget } from '../../src/pipeline/deps.ts';
import { countPending, markPending, planLoad } from '../../src/store/loads/loads.ts';
import type { Store } from '../../src/store/store.ts';
import type { Warehouse } from '../../src/warehouse/warehouse.ts';
import { closedPort } from '../support/closed-port.ts';
import { createDatabase } from '../support/postgres.ts';

test('opens with one warehouse away, once the ledger has its epoch', async () => {
  const database = await createDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'callsync-away-'));
  const nobody = `postgres://a:b@127.0.0.1:${closedPort}/none`;
  const configOf = (warehouses: unknown) =>
    checkConfig(
      {
        source: { base_url: 'http://127.0.0.1:1', client_id: 'a', client_secret: 'b' },
        store: { url: database.url, data_dir: folder },
        warehouses: warehousesConfigSchema.parse(warehouses),
      },
      'test',
    );
  const said: string[] = [];
  const open = async (warehouses: unknown) => {
    const services = createServices(
      configOf(warehouses),
      () => undefined,
      (message) => said.push(message),
    );
    try {
      const store = await openStoreService(services);
      const targets = await openWarehouses(services, store);
      await store.transaction((tx) => markPending(tx, []));
      return {
        names: targets.map((target) => target.warehouse.name),
        epoch: await store.epoch(),
        pending: await countPending(store, 'away'),
      };
    } finally {
      await services.close();
    }
  };
  const here = { here: { type: 'postgres' } };
  const both = { ...here, away: { type: 'postgres', url: nobody } };
  try {
    await expect(open(both)).rejects.toThrow(CallsyncError);
    expect((await open(here)).epoch).toBe(1);
    expect(await open(both)).toEqual({ names: ['here', 'away'], epoch: 1, pending: 0 });
    expect(said.join('\n')).toContain('Warehouse away does not answer');
  } finally {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  }
});

/** A way to a server that can be closed and opened again. Closed, it keeps its port and ends every connection. */
const openGate = async (target: string) => {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((near) => {
    if (!isOpen) {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const shut = (): void => {
    isOpen = false;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: url.href,
    shut,
    open: (): void => {
      isOpen = true;
    },
    close: async () => {
      shut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

test('asks a warehouse that was away at the start for its last load before the first one', async () => {
  const [database, far] = [await createDatabase(), await createDatabase()];
  const folder = await mkdtemp(join(tmpdir(), 'callsync-away-'));
  const gate = await openGate(far.url);
  const said: string[] = [];
  const config = checkConfig(
    {
      source: { base_url: 'http://127.0.0.1:1', client_id: 'a', client_secret: 'b' },
      store: { url: database.url, data_dir: folder },
      warehouses: warehousesConfigSchema.parse({ far: { type: 'postgres', url: gate.url } }),
    },
    'test',
  );
  const open = async (work: (store: Store, warehouse: Warehouse) => Promise<unknown>) => {
    const services = createServices(
      config,
      () => undefined,
      (message) => said.push(message),
    );
    try {
      const store = await openStoreService(services);
      const [target] = await openWarehouses(services, store);
      await work(store, (target as WarehouseTarget).warehouse);
    } finally {
      await services.close();
    }
  };
  const load = async (store: Store, { name, load: send }: Warehouse) => {
    const epoch = await store.epoch();
    const plan = await store.transaction((tx) =>
      planLoad(tx, { warehouse: name, epoch, flattenVersion: 1, origin: 'test' }, []),
    );
    await send({ ...plan, calls: [], tombstones: [], logs: {}, keyOf: store.keyOf });
  };
  try {
    await open(load);
    gate.shut();
    await open(async (store, warehouse) => {
      expect(said.join('\n')).toContain('Warehouse far does not answer');
      // The warehouse looks like this after a restore from before that load.
      await store.pool.query('DELETE FROM loads');
      gate.open();
      await expect(load(store, warehouse)).rejects.toMatchObject({ code: 'LEDGER_RESTORED', kind: 'transient' });
      expect(await store.epoch()).toBe(2);
      await load(store, warehouse);
      expect(await store.epoch()).toBe(2);
    });
    await open(async (store) => expect(await store.epoch()).toBe(2));
  } finally {
    await gate.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
    await far.drop();
  }
});
