import { join } from 'node:path';
import type { Config } from '../../../schemas/config.ts';
import { resolveDataDir } from '../../config/data-dir.ts';
import { type ConnectionUrl, readUrl } from '../../postgres/database.ts';

/**
 * The command that opens the store's database in psql. It holds no password: that of the embedded server is read from its
 * file when the command runs, that of another server is asked for.
 */
export const psqlLine = (config: Pick<Config, 'store'>, connection: ConnectionUrl): string => {
  const url = readUrl(connection);
  const target = `psql -h ${url.hostname || 'localhost'} -p ${url.port || '5432'} -U ${decodeURIComponent(url.username)} ${url.pathname.slice(1)}`;
  if (config.store.url !== undefined || config.store.url_file !== undefined) return target;
  const file = join(resolveDataDir(config.store.data_dir), 'postgres/pgdata/callsync.password');
  return `PGPASSWORD=$(cat '${file}') ${target}`;
};
