/** Sends events behind the work: what cannot be sent in time is dropped, because lineage is not worth a load. */
export interface EmitterOptions {
  readonly url: string;
  /** Read for each request, so that a renewed token is taken. */
  readonly token?: (() => string) | undefined;
  readonly log: (event: string, fields: Record<string, unknown>) => void;
  readonly timeoutMs?: number;
}

export interface Emitter {
  /** Returns at once. */
  emit(events: readonly Record<string, unknown>[]): void;
  /** Sends what waits, for a moment at most, and stops. */
  close(): Promise<void>;
}

const defaultTimeoutMs = 5_000;
const longestQueue = 1_000;

/**
 * Posts each event as JSON to `url`, one at a time. An outage is logged once; the queue holds 1,000 events and drops what
 * comes beyond.
 */
export const createEmitter = ({ url, token, log, timeoutMs = defaultTimeoutMs }: EmitterOptions): Emitter => {
  const queue: Record<string, unknown>[] = [];
  let isClosed = false;
  let underWay: AbortController | undefined;
  let sending: Promise<void> | undefined;
  /** An outage is logged once, not once an event. */
  let failing = false;

  const send = async (event: Record<string, unknown>): Promise<void> => {
    // Not AbortSignal.timeout within AbortSignal.any: Node 20 may collect that timer before it fires.
    const request = new AbortController();
    const timer = setTimeout(() => request.abort(new Error('no answer in time')), timeoutMs);
    underWay = request;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token()}` }),
        },
        body: JSON.stringify(event),
        redirect: 'error',
        signal: request.signal,
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`status ${response.status}`);
      failing = false;
    } catch (error) {
      if (!failing) log('lineage event not sent', { reason: error instanceof Error ? error.message : 'unknown' });
      failing = true;
    } finally {
      clearTimeout(timer);
    }
  };
  const drain = async (): Promise<void> => {
    for (let event = queue.shift(); event !== undefined && !isClosed; event = queue.shift()) {
      await send(event);
    }
    sending = undefined;
  };

  return {
    emit(events) {
      if (isClosed || queue.length + events.length > longestQueue) return;
      queue.push(...events);
      sending ??= drain();
    },
    async close() {
      const timer = setTimeout(() => {
        isClosed = true;
        underWay?.abort(new Error('closed'));
      }, timeoutMs);
      await sending;
      clearTimeout(timer);
      isClosed = true;
    },
  };
};
