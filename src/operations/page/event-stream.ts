/** Sends the sections that changed to the browsers that look at the page. */
import type { ServerResponse } from 'node:http';
import { formatInstant } from './format.ts';
import type { Snapshot, Snapshots } from './snapshots.ts';

/** More readers than this get the page without its updates. */
const maxReaders = 16;
/** A reader that has not taken this much of what was sent is cut off; its browser comes back by itself. */
const maxUnsentBytes = 256 * 1024;

export interface EventStream {
  /** False when there are too many readers. */
  join(response: ServerResponse): boolean;
  close(): void;
}

export const createEventStream = (snapshots: Snapshots, everyMs: number): EventStream => {
  const readers = new Map<ServerResponse, Map<string, string>>();
  let timer: NodeJS.Timeout | undefined;

  const send = (response: ServerResponse, seen: Map<string, string>, snapshot: Snapshot): void => {
    if (response.writableLength > maxUnsentBytes) {
      response.destroy();
      return;
    }
    for (const { id, content } of snapshot.sections) {
      if (seen.get(id) === content.text) continue;
      seen.set(id, content.text);
      response.write(`event: section\ndata: ${JSON.stringify({ id, html: content.text })}\n\n`);
    }
    response.write(`event: drawn\ndata: ${formatInstant(snapshot.at)}\n\n`);
  };

  const sendAll = async (): Promise<void> => {
    const snapshot = await snapshots.read().catch(() => undefined);
    if (snapshot !== undefined) for (const [response, seen] of readers) send(response, seen, snapshot);
    timer = readers.size === 0 ? undefined : setTimeout(() => void sendAll(), everyMs);
  };

  return {
    join: (response) => {
      if (readers.size >= maxReaders) return false;
      readers.set(response, new Map());
      response.on('close', () => readers.delete(response));
      timer ??= setTimeout(() => void sendAll(), 0);
      return true;
    },
    close: () => {
      clearTimeout(timer);
      for (const response of readers.keys()) response.destroy();
    },
  };
};
