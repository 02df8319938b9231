/**
 * Privacy rules for deliveries on separate threads. Reading speech takes several times as long as the other work on a
 * delivery, and one thread would delay every sender.
 */
import { availableParallelism } from 'node:os';
import { Tinypool } from 'tinypool';
import type { PrivacyConfig } from '../../schemas/config/privacy.ts';
import { findBuilt } from '../lib/find-built.ts';
import { type Admitted, asBuffer, type Bytes, createPrivacy, type PrivacyKeys } from './privacy.ts';

/** Start message of a thread. */
export type ThreadData = PrivacyKeys & { readonly config: PrivacyConfig };

/** Bytes of a body that the main thread cleans faster than a thread could start, with and without reading of speech. */
const smallBytes = { speech: 4_096, fields: 262_144 } as const;
/** More of them wait for the store. */
const mostThreads = 4;
/** Bodies in one message to a thread. A message costs as much as reading a short transcript. */
const mostAtOnce = 16;
/** A thread that takes so long over one body hangs, as a pattern of the configuration may let it. */
const hangsAfterMs = 20_000;

interface Waiting {
  readonly body: Buffer;
  resolve(admitted: Admitted): void;
  reject(error: unknown): void;
}

/**
 * @param patienceMs for one body; tests have less.
 * @throws CallsyncError BUILD_MISSING, and as `createPrivacy`.
 */
export const openCleaner = (config: PrivacyConfig, keys: PrivacyKeys, patienceMs = hangsAfterMs) => {
  const { admit, admitUnread, readsSpeech, version: privacyVersion } = createPrivacy(config, keys);
  // Patterns of the configuration may take any time.
  const ownBytes = config.patterns.length > 0 ? 0 : smallBytes[readsSpeech ? 'speech' : 'fields'];
  const threads = Math.min(mostThreads, availableParallelism());
  const pool = new Tinypool({
    filename: findBuilt('src/privacy/thread.js'),
    minThreads: threads,
    maxThreads: threads,
    workerData: { config, ...keys } satisfies ThreadData,
    // Neither secrets of the environment nor flags of the process concern them.
    env: {},
    execArgv: [],
  });
  const waiting: Waiting[] = [];
  let busy = 0;

  /** A thread that hangs is ended. If it had several bodies, each is then tried alone. */
  const send = async (batch: readonly Waiting[]): Promise<void> => {
    const clock = new AbortController();
    const timer = setTimeout(() => clock.abort(), patienceMs);
    try {
      const admitted: readonly { readonly body: Bytes; readonly bodyHash: Bytes }[] = await pool.run(
        batch.map(({ body }) => body),
        { signal: clock.signal },
      );
      for (const [index, { body, bodyHash }] of admitted.entries())
        batch[index]?.resolve({ body: asBuffer(body), bodyHash: asBuffer(bodyHash), privacyVersion });
    } catch (error) {
      if (!clock.signal.aborted) for (const { reject } of batch) reject(error);
      else if (batch.length === 1) for (const { body, resolve } of batch) resolve(admitUnread(body));
      else for (const one of batch) await send([one]);
    } finally {
      clearTimeout(timer);
    }
  };

  const sendWaiting = (): void => {
    while (busy < threads && waiting.length > 0) {
      const batch = waiting.splice(0, Math.min(mostAtOnce, Math.ceil(waiting.length / (threads - busy))));
      busy += 1;
      void send(batch).then(() => {
        busy -= 1;
        sendWaiting();
      });
    }
  };

  return {
    /**
     * As `Privacy.admit`. If a thread hangs over a body, the body is sealed, or dropped without a seal key. Rejects, and
     * stores nothing, if a thread ends before it was done.
     */
    async clean(body: Buffer) {
      if (body.length < ownBytes) return admit(body);
      return await new Promise<Admitted>((resolve, reject) => {
        waiting.push({ body, resolve, reject });
        sendWaiting();
      });
    },
    /** Ends the threads; nothing may be under way. */
    close: () => pool.destroy(),
  };
};
