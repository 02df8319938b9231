/** Releases of PostgreSQL as store and warehouse, under drawn settings, behind a pooler where one is drawn. */
import { expect, onTestFinished, test } from 'vitest';
import { compareSeeds } from '../postgres/settings-cases.ts';
import { startDebian, unpackPostgres } from '../support/installed-postgres.ts';
import { recordCase } from '../support/neighbour-results.ts';
import { pgbouncer } from '../support/pgbouncer.ts';
import { installDebian } from '../support/tools.ts';

const releases = ['14.24.0', '15.19.0', '16.15.0', '17.11.0', '18.6.0'];

/** The first five showed a fault each, on 18; the others have other settings of servers, roles and poolers. */
const seeds = [4, 139, 183, 259, 286, 17, 40, 58];

export const describeDatabases = (): void =>
  test.each(releases)(
    'PostgreSQL %s: no drawn setting changes what callsync reads, writes and answers',
    async (release) => {
      recordCase(`PostgreSQL ${release.split('.')[0]}`, release);
      await installDebian({ pgbouncer });
      const { programs, remove } = await unpackPostgres(release);
      onTestFinished(remove);
      const server = await startDebian(programs);
      onTestFinished(server.drop);
      expect(await compareSeeds(server, seeds)).toEqual([]);
    },
  );
