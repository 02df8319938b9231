/**
 * Draws 300 sets of settings of servers, databases, roles, poolers and processes on PostgreSQL 15 and 18, and compares all bytes. The
 * bytes are those of a load, queries, a comparison, exports and an erasure. About 20 minutes. CALLSYNC_SEEDS, such as `17,40`, chooses
 * seeds.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { ownRoleUrl } from '../../src/postgres/own-role.ts';
import { openSettingsServer } from '../postgres/settings-cases.ts';
import { debian, startDebian } from '../support/installed-postgres.ts';
import { pgbouncer, startBouncer } from '../support/pgbouncer.ts';
import { startPostgres } from '../support/postgres.ts';
import { installDebian } from '../support/tools.ts';

const chosen = process.env.CALLSYNC_SEEDS?.split(',').map(Number);
const seeds = chosen ?? Array.from({ length: 300 }, (_, index) => index + 1);

interface Started {
  readonly url: string;
  readonly adminUrl: string;
  stop(): Promise<unknown>;
}

const checkSeeds = (start: () => Promise<Started>): void =>
  test('no setting changes what callsync reads, writes and answers', async () => {
    await installDebian({ 'postgresql-15': `${debian}/postgres`, pgbouncer });
    const server = await start();
    onTestFinished(() => void server.stop());
    const bouncer = await startBouncer(server.url, 'session', [ownRoleUrl(server.url, 'reader')]);
    onTestFinished(bouncer.close);
    const { compare, close } = await openSettingsServer({
      ...server,
      pooledUrl: bouncer.url,
    });
    onTestFinished(close);
    const differences: string[] = [];
    for (const [index, seed] of seeds.entries()) {
      const found = await compare(seed);
      for (const one of found) console.log(one);
      differences.push(...found);
      if ((index + 1) % 25 === 0)
        console.log(`${index + 1} of ${seeds.length} seeds: ${differences.length} differences`);
    }
    expect(differences).toEqual([]);
  });

describe('newest', () => checkSeeds(startPostgres));

describe('debian', () =>
  checkSeeds(async () => {
    const { drop, ...urls } = await startDebian();
    return { ...urls, stop: drop };
  }));
