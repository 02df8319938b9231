/** Checks of the stores: operational store, health as read from it, warehouses, disk. */
import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../../../../schemas/config.ts';
import { resolveDataDir } from '../../../config/data-dir.ts';
import { judge } from '../../../health/conditions.ts';
import type { Store } from '../../../store/store.ts';
import { kindOf } from '../../../warehouse/kinds.ts';
import { readNow } from '../../parts/open-health.ts';
import { claimSource } from '../../parts/open-source.ts';
import type { Services } from '../../parts/services.ts';
import { type Check, type Finding, failed, NotChecked, ok, warning } from './check.ts';

/** The store, or the finding that it is missing. */
export const needStore = (opening: Promise<Store>): Promise<Store> =>
  opening.catch(() => {
    throw new NotChecked('Needs the store.');
  });

export const storeCheck = (opening: Promise<Store>, config: Config): Check => ({
  name: 'store',
  run: async () => {
    const store = await opening;
    await claimSource(store, config, 'look');
    const { rows } = await store.pool.query<{ version: string; fsync: string; commit: string }>(
      `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
              current_setting('synchronous_commit') AS commit`,
    );
    const [{ version = '', fsync, commit } = {}] = rows;
    if (fsync === 'off' || commit === 'off') {
      return failed(
        `PostgreSQL ${version} answers, but forgets commits when it crashes (${fsync === 'off' ? 'fsync' : 'synchronous_commit'} = off).`,
        'Set it to on: a delivery that was answered must not be lost.',
      );
    }
    return ok(`PostgreSQL ${version.split(' ')[0]}, schema callsync is up to date.`);
  },
});

/** Everything that page, status and messages call wrong in the running installation is a finding here too. */
export const healthCheck = ({ config }: Pick<Services, 'config'>, opening: Promise<Store>): Check => ({
  name: 'health',
  run: async () => {
    const readings = await readNow(config, await needStore(opening));
    const wrong = judge(readings);
    if (wrong.length > 0) return wrong.map(({ summary, command }) => warning(summary, `First: ${command}.`));
    return ok(readings.sync === null ? 'Continuous sync has not begun.' : 'Nothing is wrong.');
  },
});

export const warehouseChecks = (services: Services, opening: Promise<Store>): Check[] =>
  Object.entries(services.config.warehouses).map(([name, config]) => ({
    name: `warehouse ${name}`,
    run: async () => {
      const storeUrl = async () => (await needStore(opening)).url;
      return ok(await kindOf(config).checkAccess({ name, config, storeUrl }));
    },
  }));

const GiB = 1024 ** 3;
const scarceBytes = 2 * GiB;

export const diskCheck = ({ config }: Services): Check => ({
  name: 'disk',
  run: async () => {
    const dataDir = resolveDataDir(config.store.data_dir);
    const embedded = config.store.url === undefined && config.store.url_file === undefined;
    const folders = new Map<string, number>();
    if (embedded || config.temporal.address === undefined) folders.set(dataDir, 0);
    if (config.webhook.enabled)
      folders.set(config.webhook.spool.dir ?? join(dataDir, 'spool'), config.webhook.spool.min_free_bytes);
    return Promise.all([...folders].map(([folder, least]) => checkFolder(folder, least)));
  },
});

const checkFolder = async (folder: string, least: number): Promise<Finding> => {
  const present = await nearest(folder);
  try {
    await access(present, constants.W_OK);
  } catch {
    return failed(
      `${present} cannot be written to.`,
      'Let the user that runs callsync write there, or set store.data_dir.',
    );
  }
  const { bavail, bsize } = await statfs(present);
  const free = bavail * bsize;
  const text = `${(free / GiB).toFixed(1)} GiB free for ${folder}`;
  if (free < least)
    return failed(`${text}: the spool takes nothing any more.`, 'Make room, or set webhook.spool.dir to another disk.');
  return free < scarceBytes ? warning(`${text}.`, 'Make room soon.') : ok(`${text}.`);
};

/** The folder, or the closest one above it that exists. */
const nearest = async (folder: string): Promise<string> => {
  for (let at = folder; ; at = dirname(at)) {
    const exists = await access(at).then(
      () => true,
      () => false,
    );
    if (exists || at === dirname(at)) return at;
  }
};
