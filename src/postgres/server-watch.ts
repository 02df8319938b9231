/**
 * Notices that a database answers from another server than before, or from one that was started again: a restore from a
 * backup, a fail-over or a volume that was set back comes with one of them. Each new connection is asked, so that the
 * first statement after it is not sent unnoticed.
 */
import type pg from 'pg';

export interface ServerWatch {
  /** For `pg.Pool`: asks a new connection before it is used. */
  readonly verify: (client: pg.PoolClient, done: (error?: Error) => void) => void;
  /** True from the first connection to another server on, until it is accepted. */
  hasMoved(): boolean;
  /** What answers now is the server from now on. */
  accept(): void;
}

/** The timeline is in the name of the present log file; a standby has none, and neither does every managed server. */
const identitySql = `SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()), pg_postmaster_start_time(),
  CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END) AS identity`;

export const createServerWatch = (): ServerWatch => {
  let accepted: string | undefined;
  let latest: string | undefined;
  return {
    verify: (client, done) => {
      client.query<{ identity: string }>(identitySql).then(
        ({ rows }) => {
          latest = rows[0]?.identity;
          accepted ??= latest;
          done();
        },
        // A server that does not tell is asked by maintenance only; a connection that broke fails its first statement.
        () => done(),
      );
    },
    hasMoved: () => accepted !== latest,
    accept: () => {
      accepted = latest;
    },
  };
};
