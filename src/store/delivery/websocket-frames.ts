/** WebSocket frames as they came (interface §6: their kinds are not shown). */
import type { Queryable } from '../../postgres/database.ts';

export interface StoredFrame {
  /** One run of `callsync tap`, and the number of the connection within it. */
  readonly session: string;
  readonly receivedAt: Date;
  readonly binary: boolean;
  readonly body: Buffer;
}

/** Stores one frame with its bytes as they came. */
export const storeFrame = async (db: Queryable, frame: StoredFrame): Promise<void> => {
  await db.query('INSERT INTO websocket_frames (session, received_at, is_binary, body) VALUES ($1, $2, $3, $4)', [
    frame.session,
    frame.receivedAt,
    frame.binary,
    frame.body,
  ]);
};
