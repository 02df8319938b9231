/** WebSocket frames as they came (interface §6: their kinds are not shown). */
import type pg from 'pg';
import { runQuery } from '../../postgres/connection.ts';
import { storePurpose } from '../store.ts';

export interface StoredFrame {
  /** One run of `callsync tap`, and the number of the connection within it. */
  readonly session: string;
  readonly arrivedAt: Date;
  readonly binary: boolean;
  readonly body: Buffer;
}

export const storeFrame = async (pool: pg.Pool, frame: StoredFrame): Promise<void> => {
  await runQuery(
    pool,
    storePurpose,
    'INSERT INTO frames (session, arrived_at, is_binary, body) VALUES ($1, $2, $3, $4)',
    [frame.session, frame.arrivedAt, frame.binary, frame.body],
  );
};
