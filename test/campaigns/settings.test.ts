/**
 * Draws 300 sets of settings of servers, databases, roles, poolers and processes on PostgreSQL 15 and 18, and compares all bytes. The
 * bytes are those of a load, queries, a comparison, exports and an erasure. About 20 minutes. CALLSYNC_SEEDS, such as `17,40`, chooses
 * seeds.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { compareSeeds } from '../postgres/settings-cases.ts';
import { debian, startDebian } from '../support/installed-postgres.ts';
import { pgbouncer } from '../support/pgbouncer.ts';
import { startPostgres, type TestDatabase } from '../support/postgres.ts';
import { installDebian } from '../support/tools.ts';

const chosen = process.env.CALLSYNC_SEEDS?.split(',').map(Number);
const seeds = chosen ?? Array.from({ length: 300 }, (_, index) => index + 1);

const checkSeeds = (start: () => Promise<Pick<TestDatabase, 'url' | 'adminUrl'>>): void =>
  test('no setting changes what callsync reads, writes and answers', async () => {
    await installDebian({ 'postgresql-15': `${debian}/postgres`, pgbouncer });
    expect(await compareSeeds(await start(), seeds)).toEqual([]);
  });

describe('newest', () =>
  checkSeeds(async () => {
    const server = await startPostgres();
    onTestFinished(server.stop);
    return server;
  }));

describe('debian', () =>
  checkSeeds(async () => {
    const server = await startDebian();
    onTestFinished(server.drop);
    return server;
  }));
